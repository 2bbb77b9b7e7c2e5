/** Reads the processor time of another process. */

import { readFileSync } from 'node:fs';

/** Milliseconds in a unit of /proc (USER_HZ, always 100 a second), which does not depend on the kernel's own clock. */
const TICK_MS = 10;

/**
 * Milliseconds of processor time of the main thread since its start. Compilation and garbage collection in other threads do not
 * count: they say little about a template. Null outside Linux, and after the end of the process.
 */
export function cpuMsOf(pid: number): number | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // The program's name may contain any character. After it: the state, ten numbers, then user and system time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isFinite(ticks) ? ticks * TICK_MS : null;
}
