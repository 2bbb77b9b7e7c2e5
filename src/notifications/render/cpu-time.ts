/** What processor time another process has used for what it was told to do. */

import { readFileSync } from 'node:fs';

/** Milliseconds in the unit of /proc, which is the same for all programs whatever the kernel's own clock. */
const TICK_MS = 10;

/**
 * Milliseconds of processor time of its main thread since it began; not what compiling and collecting garbage beside it took, which
 * says little about a template. Null where the system does not tell (it is not Linux), or no more.
 */
export function cpuMsOf(pid: number): number | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  // After the program's name, which may hold anything: state, ten numbers, then time of its own and time in the system.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return Number.isFinite(ticks) ? ticks * TICK_MS : null;
}
