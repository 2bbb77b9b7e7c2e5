/**
 * Backups of the embedded database (docs/operations/backup.md): one file, of a line that describes it and an archive of the database's
 * files. Nobody else may have the database open: its lock is held meanwhile.
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, openAsBlob, readdirSync, rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { holdDirectory, syncFile } from '../driver/data-dir-lock.ts';
import { Embedded } from '../driver/pglite.ts';
import { Refused } from '../driver/refused.ts';
import { APPLIED_SQL, compare, refuseNewer } from '../migrations/migrator.ts';

const FORMAT = 'usher-backup';
const FORMAT_VERSION = 1;
/** Of the line that describes a backup. */
const MAX_LINE = 16_384;
const NEWLINE = 10;

export const Description = z.object({
  format: z.literal(FORMAT),
  formatVersion: z.int(),
  /** The version of Usher that made it. */
  usher: z.string(),
  createdAt: z.string(),
  /** In order. */
  migrations: z.array(z.string()),
  /** Of the archive, a tar compressed by gzip. */
  bytes: z.int().nonnegative(),
  sha256: z.string(),
});
export type Description = z.output<typeof Description>;

export interface BackupOptions {
  readonly dataDir: string;
  /** An absolute path. */
  readonly file: string;
  /** Replaces what is there. */
  readonly force: boolean;
  readonly clock: Clock;
}

/** Writes a backup; rejects with Refused, or with the error of the file system, and then leaves no file. */
export async function backUp({
  dataDir,
  file,
  force,
  clock,
  usher,
}: BackupOptions & { usher: string }): Promise<Description> {
  if (!isDatabase(join(dataDir, 'database'))) throw new Refused(`There is no embedded database in ${dataDir}.`);
  if (existsSync(file) && !force) throw new Refused(`${file} exists already; --force replaces it.`);
  const held = holdDirectory(dataDir);
  try {
    return await writeBackup(file, await dumped(held.database, clock), { clock, usher });
  } finally {
    held.release();
  }
}

/** Writes what a database dumped, whole or not at all. Rejects with the error of the file system. */
export async function writeBackup(
  file: string,
  { archive, migrations }: { archive: Blob; migrations: string[] },
  { clock, usher }: { clock: Pick<Clock, 'now'>; usher: string },
): Promise<Description> {
  const described = {
    format: FORMAT,
    formatVersion: FORMAT_VERSION,
    usher,
    createdAt: new Date(clock.now()).toISOString(),
    migrations,
    bytes: archive.size,
    sha256: await digestOf(archive),
  } as const;
  await writeWhole(file, new Blob([`${JSON.stringify(described)}\n`, archive]));
  return described;
}

/** A copy of a backup, whole or not at all. */
export async function copyBackup(from: string, to: string): Promise<void> {
  await writeWhole(to, await openAsBlob(from));
}

/**
 * Puts a backup in the place of the embedded database. Rejects with Refused, and then nothing has changed: the backup is read, checked
 * and opened beside the database first.
 */
export async function restore({ dataDir, file, force, clock }: BackupOptions): Promise<Description> {
  const { described, archive } = await readBackup(file);
  if (described.formatVersion !== FORMAT_VERSION) {
    throw new Refused(`${file} has a format that this version does not know (${described.formatVersion}).`);
  }
  refuseNewer(compare(described.migrations));
  if ((await digestOf(archive)) !== described.sha256) throw new Refused(`${file} is damaged: its checksum is another.`);
  const held = holdDirectory(dataDir);
  const beside = join(dataDir, 'database.restoring');
  try {
    if (readdirSync(held.database).length > 0 && !force) {
      throw new Refused(`There is a database in ${dataDir} already; --force replaces it, and what is in it is lost.`);
    }
    rmSync(beside, { recursive: true, force: true });
    await unpack(beside, archive, described, clock);
    held.finished();
    held.replace(beside);
    return described;
  } finally {
    rmSync(beside, { recursive: true, force: true });
    held.release();
  }
}

function isDatabase(directory: string): boolean {
  return existsSync(join(directory, 'PG_VERSION'));
}

async function dumped(directory: string, clock: Clock): Promise<{ archive: Blob; migrations: string[] }> {
  const embedded = await Embedded.open(directory, clock).catch((error: unknown) => {
    throw new Refused('The embedded database cannot be opened: a backup of it would be worth nothing.', error);
  });
  try {
    const migrations = await appliedIn(embedded);
    return { archive: await embedded.dump(), migrations };
  } catch (error) {
    throw new Refused('The embedded database cannot be read to its end (a full disk, a damaged file?).', error);
  } finally {
    await embedded.close();
  }
}

/** Opens it once, so that what is put in place is a database, and the one that was described. */
async function unpack(directory: string, archive: Blob, { migrations }: Description, clock: Clock): Promise<void> {
  mkdirSync(directory, { mode: 0o700 });
  const embedded = await Embedded.open(directory, clock, archive).catch((error: unknown) => {
    throw new Refused('The backup cannot be opened by this version.', error);
  });
  try {
    const applied = await appliedIn(embedded);
    if (applied.join() !== migrations.join()) throw new Refused('The backup is not what its first line says.');
  } finally {
    await embedded.close();
  }
  const files = readdirSync(directory, { recursive: true, withFileTypes: true });
  for (const entry of files) if (entry.isFile()) syncFile(join(entry.parentPath, entry.name));
}

async function appliedIn(embedded: Embedded): Promise<string[]> {
  return (await embedded.query<{ name: string }>(APPLIED_SQL, [])).map(({ name }) => name);
}

async function readBackup(file: string): Promise<{ described: Description; archive: Blob }> {
  const isNone = (error?: unknown) => new Refused(`${file} is not a backup of Usher.`, error);
  const whole = await openAsBlob(file).catch((error: unknown) => {
    throw new Refused(`${file} cannot be read.`, error);
  });
  const head = Buffer.from(await whole.slice(0, MAX_LINE).arrayBuffer());
  const end = head.indexOf(NEWLINE);
  if (end < 0) throw isNone();
  let line: unknown;
  try {
    line = JSON.parse(head.toString('utf8', 0, end));
  } catch (error) {
    throw isNone(error);
  }
  const described = Description.safeParse(line);
  if (!described.success) throw isNone(described.error);
  const archive = whole.slice(end + 1);
  if (archive.size !== described.data.bytes) {
    throw new Refused(`${file} is not whole: it has ${archive.size} of ${described.data.bytes} bytes.`);
  }
  return { described: described.data, archive };
}

async function digestOf(archive: Blob): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of archive.stream()) hash.update(chunk);
  return hash.digest('hex');
}

/** Under another name first: a full disk or a kill leaves no half file, and an older one as it was. It holds secrets: mode 0600. */
async function writeWhole(file: string, content: Blob): Promise<void> {
  const part = `${file}.part`;
  try {
    await rm(part, { force: true });
    const handle = await open(part, 'wx', 0o600);
    try {
      for await (const chunk of content.stream()) await handle.writeFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, file);
    syncFile(dirname(file));
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
