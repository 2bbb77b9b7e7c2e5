import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Histogram } from 'prom-client';
import { exposeHistogram, FlatHistogram } from '../../src/base/flat-histogram.ts';
import { createRegistry } from '../../src/base/telemetry.ts';

const NAME = 'some_duration_seconds';
const HELP = 'How long it takes.';
const BOUNDS = [0.001, 0.01, 0.5, 1];

/** The lines of a scrape, whose order says nothing, with the labels of each in one order. */
const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(',').sort().join()}}`))
    .sort();

test('a flat histogram is scraped like that of prom-client, including bounds and sums', async () => {
  const value = fc.oneof(fc.constantFrom(0, ...BOUNDS, 1.0000001, 100), fc.double({ min: 0, max: 2, noNaN: true }));
  const observations = fc.array(fc.tuple(fc.constantFrom('Check', 'Watch'), value), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(observations, async (seen) => {
      const theirs = createRegistry();
      const ours = createRegistry();
      const known = new Histogram({
        name: NAME,
        help: HELP,
        labelNames: ['method'],
        buckets: BOUNDS,
        registers: [theirs],
      });
      const flat = new Map<string, FlatHistogram>();
      exposeHistogram(ours, { name: NAME, help: HELP }, () =>
        [...flat].map(([method, histogram]) => histogram.read({ method })),
      );
      for (const [method, seconds] of seen) {
        known.observe({ method }, seconds);
        if (!flat.has(method)) flat.set(method, new FlatHistogram(BOUNDS));
        flat.get(method)?.observe(seconds);
      }
      expect(linesOf(await ours.metrics())).toEqual(linesOf(await theirs.metrics()));
    }),
    { numRuns: 50 },
  );
});
