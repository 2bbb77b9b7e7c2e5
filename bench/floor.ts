/**
 * The least of a quarter of samples: what is left when the collector has just been, so that a growing heap shows and a busy one does
 * not.
 */
export function floorOf<Sample>(samples: readonly Sample[], quarter: number, pick: (sample: Sample) => number): number {
  const size = Math.floor(samples.length / 4);
  return Math.min(...samples.slice(quarter * size, (quarter + 1) * size).map(pick));
}
