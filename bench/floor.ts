import { type Row, row } from './report.ts';

/**
 * The least of a quarter of samples: what is left when the collector has just been, so that a growing heap shows and a busy one does
 * not.
 */
function floorOf<Sample>(samples: readonly Sample[], quarter: number, pick: (sample: Sample) => number): number {
  const size = Math.floor(samples.length / 4);
  return Math.min(...samples.slice(quarter * size, (quarter + 1) * size).map(pick));
}

interface Measure<Taken> {
  readonly pick: (one: Taken) => number;
  readonly unit: string;
  /** How much more may be there in the last quarter than in the second; null where that is not judged. */
  readonly atMost: number | null;
}

/** The floor of the last quarter, and what it is above that of the second: caches have filled by then. */
export function grown<Taken>(
  scenario: string,
  name: string,
  taken: readonly Taken[],
  { pick, unit, atMost }: Measure<Taken>,
): Row[] {
  const [second, last] = [floorOf(taken, 1, pick), floorOf(taken, 3, pick)];
  const goal = atMost === null ? [] : [{ atMost }];
  return [
    row(scenario, `${name}, least of the last quarter`, unit, [last]),
    row(scenario, `${name}, growth since the second quarter`, unit, [last - second], ...goal),
  ];
}
