import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const PREFIX = 'usher-test-';
/** A run holds some hundred megabytes at a time. */
const WANTED_BYTES = 4 * 1024 ** 3;

/**
 * A directory for the databases of a run, in memory where that has room: an embedded database is a thousand files, and to
 * make those on a disk takes ten times as long.
 */
export function scratchDirectory(): string {
  const inMemory = roomInMemory();
  if (inMemory) removeLeftovers();
  const dir = mkdtempSync(join(inMemory ? MEMORY : tmpdir(), `${PREFIX}${process.pid}-`));
  // PostgreSQL runs as another user there.
  chmodSync(dir, 0o711);
  return dir;
}

function roomInMemory(): boolean {
  if (process.platform !== 'linux') return false;
  const mount = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === MEMORY);
  // The binaries of PostgreSQL may have to be copied there.
  if (mount === undefined || mount.includes('noexec')) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= WANTED_BYTES;
}

/** A run that was killed leaves its directory, and memory is not a disk. */
function removeLeftovers(): void {
  for (const name of readdirSync(MEMORY)) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
