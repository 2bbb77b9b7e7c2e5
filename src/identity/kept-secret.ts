/** Secrets that a development start makes for itself and keeps in dataDir: files of mode 0600 in a directory of 0700. */

import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { codeOf } from '../base/members.ts';

/** Where a secret is kept, and how a missing one is made. */
export interface KeptSecret {
  dataDir: string;
  /** File name inside dataDir. */
  file: string;
  make: () => string;
  clock: Pick<Clock, 'bytes'>;
}

/**
 * The kept secret; the first call makes it. Starts that race for a new directory all get the same secret:
 * the file appears complete under its name, by a hard link that only one of them can set.
 */
export function keepSecret({ dataDir, file, make, clock }: KeptSecret): string {
  const path = join(dataDir, file);
  const kept = readSecret(path);
  if (kept !== null) return kept;
  ensureDirectory(dataDir);
  const draft = `${path}.${clock.bytes(8).toString('hex')}.tmp`;
  const handle = openSync(draft, 'wx', 0o600);
  try {
    writeSync(handle, make());
    fsyncSync(handle);
    try {
      linkSync(draft, path);
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error;
    }
  } finally {
    closeSync(handle);
    unlinkSync(draft);
  }
  const made = readSecret(path);
  if (made === null) throw new Error(`${path} vanished while it was being created`);
  return made;
}

/** The secret in `path`, or null when there is no such file. Removes the access of other users to it. */
function readSecret(path: string): string | null {
  try {
    const content = readFileSync(path, 'utf8');
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
    return content;
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

function ensureDirectory(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const { mode, uid } = statSync(dataDir);
  // A directory that is shared on purpose (sticky, or another user's) keeps its mode.
  const ours = process.getuid?.() === uid && (mode & 0o1000) === 0;
  if (ours && (mode & 0o077) !== 0) chmodSync(dataDir, 0o700);
}

function isCode(error: unknown, code: string): boolean {
  return codeOf(error) === code;
}
