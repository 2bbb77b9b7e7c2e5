/** What Prometheus reads: the metrics of this process and of others, as one text. */

import { AggregatorRegistry, type MetricValue, Registry } from 'prom-client';
import type { Exemplar } from '../base/flat-histogram.ts';
import type { Metric } from './rpc-process.ts';

type Sample = MetricValue<string> & { exemplar?: Exemplar };

/** In OpenMetrics it has exemplars, which the other format cannot have. */
export async function scrape(
  registries: readonly Registry[],
  inOpenMetrics: boolean,
  others: () => Promise<Metric[][]> | undefined = () => undefined,
): Promise<string> {
  const mine = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
  const all = [...mine, ...((await others()) ?? [])];
  if (!inOpenMetrics) return await AggregatorRegistry.aggregate(all).metrics();
  const named = all.map((metrics) => metrics.map(inFamily));
  const together = aggregateAs(named, Registry.OPENMETRICS_CONTENT_TYPE);
  await keepExemplars(together, named);
  return await together.metrics();
}

/** The second argument is in prom-client's documentation, and not in its types. */
const aggregateAs = AggregatorRegistry.aggregate.bind(AggregatorRegistry) as unknown as (
  all: readonly (readonly Metric[])[],
  contentType: string,
) => Registry;

/** OpenMetrics names the family of a counter without `_total`, which prom-client adds to each sample of a registry of several. */
function inFamily<M extends Metric>(metric: M): M {
  // The type says number; it is the word.
  const isCounter = (metric.type as unknown) === 'counter';
  return isCounter ? { ...metric, name: metric.name.replace(/_total$/, '') } : metric;
}

/** Where prom-client adds up, it forgets exemplars. The labels of a sum are those of its first sample, the same object. */
async function keepExemplars(together: Registry, all: readonly (readonly Metric[])[]): Promise<void> {
  const byLabels = new Map<object, Exemplar>();
  for (const { labels, exemplar } of all.flat().flatMap(({ values }) => values as Sample[])) {
    if (exemplar !== undefined) byLabels.set(labels, exemplar);
  }
  if (byLabels.size === 0) return;
  for (const { values } of await together.getMetricsAsJSON()) {
    for (const sample of values as Sample[]) {
      const exemplar = byLabels.get(sample.labels);
      if (exemplar !== undefined) sample.exemplar = exemplar;
    }
  }
}
