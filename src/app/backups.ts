/**
 * Backups of the embedded database while it runs (docs/operations/backup.md#the-embedded-database): on a schedule, and for
 * `usher backup`, which asks by a file in `dataDir`: a user who may write there may read the database anyway.
 */

import { type FSWatcher, mkdirSync, readdirSync, renameSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../persistence/database.ts';
import { writeBackup } from '../persistence/operations/backup.ts';
import { answerPath, REQUEST, requestsIn, takenPath } from '../persistence/operations/backup-requests.ts';

/** How often it is looked whether a backup is due: a machine that slept makes it up soon. */
const LOOK_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Names sort by time. */
const NAME = /^usher-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ)\.backup$/;
/** What a killed write left behind. */
const PART = /^usher-.*\.backup\.part$/;

interface BackupsOptions {
  readonly dataDir: string;
  /** Absolute. */
  readonly dir: string;
  /** Null: only on demand. */
  readonly everyHours: number | null;
  readonly keep: number;
  readonly dump: NonNullable<Database['dump']>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** The version of Usher. */
  readonly usher: string;
}

/** Null on PostgreSQL, which is backed up by its own tools. */
export function createBackups(
  { dataDir, backup: { dir, everyHours, keep } }: Pick<Config, 'dataDir' | 'backup'>,
  {
    database,
    version,
    ...parts
  }: { database: Pick<Database, 'dump'>; version: string } & Pick<BackupsOptions, 'clock' | 'log'>,
): Backups | null {
  const { dump } = database;
  if (dump === undefined) {
    if (everyHours !== null)
      parts.log.warn('backup.everyHours is for the embedded database: back PostgreSQL up by its own tools');
    return null;
  }
  const at = resolve(dir ?? join(dataDir, 'backups'));
  return new Backups({ dataDir, dir: at, everyHours, keep, dump, usher: version, ...parts });
}

export class Backups {
  readonly #options: BackupsOptions;
  #watcher: FSWatcher | null = null;
  #cancel: () => void = () => undefined;
  #closed = false;
  /** The work under way; one at a time. Never rejects. */
  #work: Promise<void> = Promise.resolve();

  constructor(options: BackupsOptions) {
    this.#options = options;
  }

  /** Begins: the first backup of a schedule may be made now. */
  start(): void {
    const requests = requestsIn(this.#options.dataDir);
    rmSync(requests, { recursive: true, force: true });
    mkdirSync(requests, { recursive: true, mode: 0o700 });
    this.#watcher = watch(requests, { persistent: false }, () => this.#enqueue(() => this.#serveRequests()));
    this.#watcher.on('error', (error) => this.#options.log.error({ err: error }, 'requests for backups not seen'));
    if (this.#options.everyHours !== null) this.#look();
  }

  /** Ends after the work under way. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    this.#watcher?.close();
    await this.#work;
    rmSync(requestsIn(this.#options.dataDir), { recursive: true, force: true });
  }

  #enqueue(job: () => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (!this.#closed) await job();
    });
  }

  #look(): void {
    this.#enqueue(async () => {
      await this.#backUpIfDue();
      if (!this.#closed) this.#cancel = this.#options.clock.after(LOOK_MS, () => this.#look());
    });
  }

  async #backUpIfDue(): Promise<void> {
    const { dir, everyHours, keep, clock, log } = this.#options;
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      const newest = namesIn(dir).at(-1);
      const age = newest === undefined ? Number.POSITIVE_INFINITY : clock.now() - timeOf(newest);
      // A clock that was set back must not hold backups up for years.
      if (age >= 0 && age < (everyHours ?? 0) * HOUR_MS) return;
      const file = join(dir, `usher-${new Date(clock.now()).toISOString().slice(0, 19).replaceAll(':', '-')}Z.backup`);
      const { bytes, sha256 } = await this.#write(file);
      log.info({ file, bytes, sha256 }, 'backup of the embedded database made');
      for (const name of readdirSync(dir).filter((one) => PART.test(one))) rmSync(join(dir, name), { force: true });
      for (const name of namesIn(dir).slice(0, -keep)) rmSync(join(dir, name), { force: true });
    } catch (error) {
      log.error({ err: error, dir }, 'backup of the embedded database not made; trying again in a minute');
    }
  }

  async #write(file: string): ReturnType<typeof writeBackup> {
    const { dump, clock, usher } = this.#options;
    return await writeBackup(file, await dump(), { clock, usher });
  }

  async #serveRequests(): Promise<void> {
    const { dataDir, log } = this.#options;
    const requests = requestsIn(dataDir);
    for (const name of readdirSync(requests)) {
      const [, id] = REQUEST.exec(name) ?? [];
      if (id === undefined) continue;
      // Taken: the command waits for the answer from now on.
      rmSync(join(requests, name), { force: true });
      const answer = await this.#write(takenPath(dataDir, id)).then(
        (described) => ({ described }),
        (error: unknown) => {
          log.error({ err: error }, 'backup for a command not made');
          return { problem: error instanceof Error ? error.message : String(error) };
        },
      );
      writeFileSync(`${answerPath(dataDir, id)}.part`, JSON.stringify(answer), { mode: 0o600 });
      renameSync(`${answerPath(dataDir, id)}.part`, answerPath(dataDir, id));
    }
  }
}

/** Backups of the schedule, the oldest first. */
function namesIn(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => NAME.test(name))
    .toSorted();
}

function timeOf(name: string): number {
  const [, text = ''] = NAME.exec(name) ?? [];
  return Date.parse(text.replace(/T(\d\d)-(\d\d)-(\d\d)Z$/, 'T$1:$2:$3Z'));
}
