import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Refused } from './refused.ts';

const LOCK_FILE = 'usher.lock';
/** Stands beside a database while it is created: one left half-made by a kill holds no data and is created anew. */
const UNFINISHED_FILE = 'database.unfinished';
/** The database that a restore has moved out of the way. */
const REPLACED = 'database.replaced';

/** A data directory that this process alone works in. */
export interface HeldDirectory {
  /** Where the embedded database's files are. */
  readonly database: string;
  /** Call it once the database is complete, and before any data is written: from then on it is kept. */
  finished(): void;
  /** Puts the complete database in that directory, of the same file system, in the place of this one. A kill leaves one of the two. */
  replace(by: string): void;
  release(): void;
}

/**
 * Creates `dataDir` (mode 0700) if necessary, and locks it: two processes on one embedded database destroy each
 * other's data without an error. The lock is the kernel's, on a file: kill -9 frees it, and containers with equal process
 * ids cannot mistake each other for themselves. Throws Refused when another process holds it.
 */
export function holdDirectory(dataDir: string): HeldDirectory {
  const database = join(dataDir, 'database');
  const lockFile = join(dataDir, LOCK_FILE);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  closeToOthers(dataDir);
  const lock = takeLock(lockFile, dataDir);
  const unfinished = join(dataDir, UNFINISHED_FILE);
  try {
    if (existsSync(join(dataDir, REPLACED))) settleReplacement(database, join(dataDir, REPLACED));
    if (existsSync(unfinished)) rmSync(database, { recursive: true, force: true });
    mkdirSync(database, { recursive: true, mode: 0o700 });
    chmodSync(database, 0o700);
    chmodSync(lockFile, 0o600);
    if (readdirSync(database).length === 0) writeFileSync(unfinished, '', { mode: 0o600 });
  } catch (error) {
    lock.close();
    throw error;
  }
  return {
    database,
    finished: () => {
      if (existsSync(unfinished)) removeForGood(unfinished, dataDir);
    },
    replace: (by) => {
      const replaced = join(dataDir, REPLACED);
      renameSync(database, replaced);
      renameSync(by, database);
      syncFile(dataDir);
      settleReplacement(database, replaced);
    },
    release: () => lock.close(),
  };
}

/** Ends a replacement, also one that was killed between its two renames. */
function settleReplacement(database: string, replaced: string): void {
  if (existsSync(database)) rmSync(replaced, { recursive: true, force: true });
  else renameSync(replaced, database);
}

/** Removes a file so that it does not come back after a power cut. */
function removeForGood(file: string, directory: string): void {
  rmSync(file);
  syncFile(directory);
}

/** Until this returns, a file or the names in a directory may be lost by a power cut. */
export function syncFile(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Removes the rights of group and others, but not from a directory that was made for another purpose as well. */
function closeToOthers(dataDir: string): void {
  const loose = (statSync(dataDir).mode & 0o077) !== 0;
  if (!loose) return;
  const names = readdirSync(dataDir);
  if (names.length === 0 || names.includes(LOCK_FILE)) chmodSync(dataDir, 0o700);
}

function takeLock(path: string, dataDir: string): DatabaseSync {
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive; create table if not exists held (at text); commit');
    return lock;
  } catch (error) {
    lock.close();
    throw new Refused(
      `Another process is using the embedded database in ${dataDir}. ` +
        'Stop it first, choose another dataDir (DATA_DIR), or give both a PostgreSQL (DATABASE_URL).',
      error,
    );
  }
}
