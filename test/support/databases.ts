import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import type { Database } from '../../src/persistence/database.ts';
import { type OpenOptions, openDatabase } from '../../src/persistence/open.ts';
import { installAnnounceTrigger } from './announce-trigger.ts';
import { createDatabase, isEarlyReleased, opening, TEMPLATES_VARIABLE } from './postgres.ts';

export type Kind = Database['kind'];

/**
 * The databases on which a suite runs that is declared once a kind: those that USHER_DATABASES names (postgresql, pglite or both),
 * by default PostgreSQL. Early release has no effect on an embedded database, so a run with it would say the same once more.
 */
export const KINDS: readonly Kind[] = kindsOfRun();

function kindsOfRun(): Kind[] {
  const named = process.env.USHER_DATABASES ?? 'postgresql';
  if (isEarlyReleased() || named === 'postgresql') return ['postgresql'];
  if (named === 'pglite') return ['pglite'];
  if (named !== 'both') throw new Error('USHER_DATABASES: write postgresql, pglite or both.');
  return ['postgresql', 'pglite'];
}

/** A migrated, empty database with the announce trigger, of one test file or suite. */
export interface TestStorage {
  readonly kind: Kind;
  /** null for PGlite. */
  readonly url: string | null;
  /** Of an embedded database; for PostgreSQL a path that does not exist. */
  readonly dataDir: string;
  /** Opens it. PostgreSQL can be opened several times at once, PGlite once. What is still open at `remove` is closed. */
  open(options?: Partial<OpenOptions>): Promise<Database>;
  /** Closes and deletes everything. */
  remove(): Promise<void>;
}

/**
 * Makes a storage outside `forEachDatabase`, in 0.1 s; PGlite takes 0.5 s where scratch.ts finds no memory, and 4 s after a
 * change of the migrations. A service starts on PostgreSQL in 0.1 s and on PGlite in 0.3 s.
 */
export async function createStorage(kind: Kind): Promise<TestStorage> {
  const postgres = kind === 'postgresql' ? await createDatabase() : undefined;
  const dataDir = join(templates(), randomUUID());
  if (postgres === undefined) await copyEmbedded(dataDir);
  const url = postgres?.url ?? null;
  const opened = new Set<Database>();
  return {
    kind,
    url,
    dataDir,
    async open(options = {}) {
      const database = await openDatabase({ ...defaults(url, dataDir), ...opening(url), ...options });
      opened.add(database);
      const close = async (): Promise<void> => {
        if (opened.delete(database)) await database.close();
      };
      return Object.assign(Object.create(database) as Database, { close });
    },
    async remove() {
      await Promise.all([...opened].map((database) => database.close()));
      await postgres?.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Puts a migrated, empty embedded database into a data directory, for a service that need not make it: half of what a start costs. */
export async function copyEmbedded(dataDir: string): Promise<void> {
  cpSync(await embeddedTemplate(), dataDir, { recursive: true });
}

/** A storage that the whole suite shares, and its database, open. Valid inside tests and hooks. */
export interface Fixture {
  readonly storage: TestStorage;
  readonly database: Database;
}

/** Declares the suite for each of KINDS, on PostgreSQL and on PGlite, each with a storage of its own. */
export function forEachDatabase(name: string, suite: (fixture: Fixture, kind: Kind) => void): void {
  for (const kind of KINDS) {
    describe(`${name} (${kind})`, () => suite(useDatabase(kind), kind));
  }
}

/** The same for one kind; called in a describe. */
export function useDatabase(kind: Kind): Fixture {
  let storage: TestStorage | undefined;
  let database: Database | undefined;
  beforeAll(async () => {
    storage = await createStorage(kind);
    database = await storage.open();
  });
  afterAll(async () => {
    await storage?.remove();
  });
  return {
    get storage() {
      return present(storage);
    },
    get database() {
      return present(database);
    },
  };
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The fixture is ready in tests and hooks, not while suites are declared.');
  return value;
}

function defaults(url: string | null, dataDir: string): OpenOptions {
  const log = createLogger('silent');
  return { url, dataDir, poolSize: 10, migrateOnStart: false, clock: systemClock, log };
}

function templates(): string {
  const path = process.env[TEMPLATES_VARIABLE];
  if (path === undefined) throw new Error('There are no templates: run under jest.');
  return path;
}

/** Each start clears the buffers: the usual 128 MB cost more time than the rest of it. */
const SETTINGS = 'shared_buffers = 16MB\n';

/**
 * A migrated embedded database to copy: to make one takes seconds, so it is kept between runs, under a name that changes
 * with everything that it is made of. Several that make it at once each make one; the first to be ready is kept.
 */
async function embeddedTemplate(): Promise<string> {
  const kept = join(ROOT, 'node_modules/.cache/usher-test', `pglite-${ingredients()}`);
  if (existsSync(kept)) return kept;
  const made = join(dirname(kept), randomUUID());
  mkdirSync(dirname(kept), { recursive: true });
  const database = await openDatabase({ ...defaults(null, made), migrateOnStart: true });
  try {
    await installAnnounceTrigger(database);
  } finally {
    await database.close();
  }
  appendFileSync(join(made, 'database/postgresql.conf'), SETTINGS);
  try {
    renameSync(made, kept);
  } catch (error) {
    if (!existsSync(kept)) throw error;
    await rm(made, { recursive: true, force: true });
  }
  return kept;
}

const ROOT = resolve(import.meta.dirname, '../..');

function ingredients(): string {
  const hash = createHash('sha256');
  for (const pattern of ['src/persistence/migrations/*.ts', 'test/support/announce-trigger.ts']) {
    for (const file of globSync(pattern, { cwd: ROOT }).toSorted()) hash.update(readFileSync(join(ROOT, file)));
  }
  hash.update(SETTINGS);
  hash.update(readFileSync(join(ROOT, 'node_modules/@electric-sql/pglite/package.json')));
  return hash.digest('hex').slice(0, 16);
}

/** Opens the database for `work` alone: one process at a time can have an embedded one. */
export async function withDatabase<T>(storage: TestStorage, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await storage.open();
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
