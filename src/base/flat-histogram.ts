/** Histograms as plain numbers, for hot paths: prom-client's own looks its labels up with every observation. */

import type { Histogram } from 'prom-client';
import type { Registry } from './telemetry.ts';

type Labels = Readonly<Record<string, string>>;

/** The last observation of a bucket whose trace is sampled, as prom-client writes it in OpenMetrics. */
export interface Exemplar {
  readonly labelSet: { readonly trace_id: string };
  readonly value: number;
  /** Seconds since the epoch. */
  readonly timestamp: number;
}

/** The sample of one set of labels. */
export interface Series {
  readonly labels: Labels;
  readonly buckets: readonly { le: number; count: number; exemplar: Exemplar | undefined }[];
  readonly sum: number;
  readonly count: number;
}

/** The observations of one set of labels. */
export class FlatHistogram {
  readonly #bounds: readonly number[];
  /** Observations by bucket, not cumulated; the last place is for those above every bound. Doubles: exact beyond 2^32. */
  readonly #buckets: Float64Array;
  #sum = 0;
  /** By bucket; made with the first one. */
  #exemplars: (Exemplar | undefined)[] | null = null;

  /** `bounds` are the upper bounds of the buckets, in ascending order. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#buckets = new Float64Array(bounds.length + 1);
  }

  /** `trace` is the id of a sampled trace, where there is one. */
  observe(value: number, trace?: string): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++;
    this.#buckets[bucket] = (this.#buckets[bucket] as number) + 1;
    this.#sum += value;
    if (trace !== undefined) {
      this.#exemplars ??= [];
      this.#exemplars[bucket] = { labelSet: { trace_id: trace }, value, timestamp: Date.now() / 1000 };
    }
  }

  /** What was observed, cumulated as in Prometheus; the last bound is Infinity. */
  read(labels: Labels): Series {
    let count = 0;
    const buckets = [...this.#bounds, Number.POSITIVE_INFINITY].map((le, place) => {
      count += this.#buckets[place] as number;
      return { le, count, exemplar: this.#exemplars?.[place] };
    });
    return { labels, buckets, sum: this.#sum, count };
  }
}

/** Registers the histogram `name`, whose sets of labels are listed when it is scraped. */
export function exposeHistogram(
  registry: Registry,
  { name, help }: { name: string; help: string },
  list: () => readonly Series[],
): void {
  // A registry asks a metric for its name and its values only.
  const shell = { name, help, type: 'histogram', aggregator: 'sum' };
  const metric = {
    ...shell,
    get: async () => ({ ...shell, values: list().flatMap((series) => valuesOf(name, series)) }),
    reset: () => {},
  };
  registry.registerMetric(metric as unknown as Histogram);
}

function valuesOf(name: string, { labels, buckets, sum, count }: Series) {
  return [
    ...buckets.map(({ le, count: value, exemplar }) => {
      const bound = le === Number.POSITIVE_INFINITY ? '+Inf' : le;
      const sample = { metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value };
      return exemplar === undefined ? sample : { ...sample, exemplar };
    }),
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
