import { expect, test } from '@jest/globals';
import { Counter, Gauge } from 'prom-client';
import { scrape } from '../../src/app/scrape.ts';
import { exposeHistogram, FlatHistogram } from '../../src/base/flat-histogram.ts';
import { createRegistry } from '../../src/base/telemetry.ts';
import { createStorage } from '../support/databases.ts';
import { startUsher } from '../support/usher.ts';

const TRACE = 'a'.repeat(32);
const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1';

function registryOf(process?: string) {
  const registry = createRegistry();
  const histogram = new FlatHistogram([0.1, 1]);
  histogram.observe(0.05);
  histogram.observe(0.5, TRACE);
  histogram.observe(0.6);
  const labels = { method: 'Check', ...(process === undefined ? {} : { process }) };
  exposeHistogram(registry, { name: 'some_seconds', help: 'Some.' }, () => [histogram.read(labels)]);
  new Counter({ name: 'some_total', help: 'Some.', registers: [registry] }).inc(3);
  new Gauge({ name: 'some_size', help: 'Some.', registers: [registry] }).set(7);
  return registry;
}

test('a bucket names the last trace that was sampled, and no other sample does', async () => {
  const text = await scrape([registryOf()], true);
  const named = text.split('\n').filter((line) => line.includes('trace_id'));
  expect(named).toHaveLength(1);
  expect(named[0]).toMatch(/^some_seconds_bucket\{le="1",method="Check"\} 3 # \{trace_id="a{32}"\} 0\.5 \d+\.?\d*$/);
  expect(text.endsWith('\n# EOF\n')).toBe(true);
});

test('a counter has the name that it always had, also where several processes count', async () => {
  const others = async () => [await registryOf('2').getMetricsAsJSON()];
  for (const inOpenMetrics of [true, false]) {
    const text = await scrape([registryOf()], inOpenMetrics, others);
    expect(text).toMatch(/^some_total 6$/m);
    expect(text).toMatch(/^some_size 14$/m);
    expect(text).toMatch(inOpenMetrics ? /^# TYPE some counter$/m : /^# TYPE some_total counter$/m);
  }
});

test('exemplars of another process arrive', async () => {
  const others = async () => [structuredClone(await registryOf('2').getMetricsAsJSON())];
  const text = await scrape([createRegistry()], true, others);
  expect(text).toMatch(/^some_seconds_bucket\{.*process="2".*\} 3 # \{trace_id="a{32}"\}/m);
});

test('the format without exemplars has none', async () => {
  expect(await scrape([registryOf()], false)).not.toContain('trace_id');
});

test('Accept decides about the format of /metrics', async () => {
  const storage = await createStorage('pglite');
  const usher = await startUsher(storage);
  try {
    const scraped = await fetch(`${usher.rest}/metrics`, { headers: { accept: OPEN_METRICS } });
    expect(scraped.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect((await scraped.text()).endsWith('# EOF\n')).toBe(true);
    for (const accept of ['*/*', 'text/plain', 'text/html']) {
      const plain = await fetch(`${usher.rest}/metrics`, { headers: { accept } });
      expect(plain.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(await plain.text()).not.toContain('# EOF');
    }
  } finally {
    await usher.close();
    await storage.remove();
  }
});
