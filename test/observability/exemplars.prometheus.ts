import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningService, startService } from '../cli/harness.ts';
import { call } from '../grpc/support.ts';
import { type Otlp, startOtlp } from '../support/otlp.ts';
import { freePort } from '../support/postgres.ts';

/** A real Prometheus that keeps exemplars, and a service whose callers sample. */
const PROMETHEUS = process.env.PROMETHEUS ?? 'prometheus';
const folder = mkdtempSync(join(tmpdir(), 'usher-exemplars-'));
const traceId = randomBytes(16).toString('hex');
const traceparent = `00-${traceId}-${randomBytes(8).toString('hex')}-01`;
let otlp: Otlp;
let service: RunningService;
let prometheus: ChildProcess;
let base: string;

beforeAll(async () => {
  otlp = await startOtlp();
  service = await startService(otlp.env);
  const port = await freePort();
  base = `http://127.0.0.1:${port}/api/v1`;
  const { host } = new URL(service.url);
  const config = join(folder, 'prometheus.yml');
  const job = { job_name: 'usher', scrape_interval: '1s', static_configs: [{ targets: [host] }] };
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ scrape_configs: [job] }));
  const flags = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  const listen = `--web.listen-address=127.0.0.1:${port}`;
  prometheus = spawn(PROMETHEUS, [...flags, listen, '--enable-feature=exemplar-storage'], { stdio: 'ignore' });
}, 180_000);
afterAll(async () => {
  if (prometheus?.exitCode === null) {
    prometheus.kill('SIGTERM');
    await once(prometheus, 'exit');
  }
  await service?.remove();
  await otlp?.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

interface Found {
  data?: { exemplars: { labels: { trace_id: string }; value: string }[] }[];
}

/** What Prometheus has kept of a histogram. */
async function exemplarsOf(metric: string): Promise<string[]> {
  const [start, end] = [Date.now() / 1000 - 600, Date.now() / 1000 + 60];
  for (let tries = 0; tries < 30; tries++) {
    const query = new URLSearchParams({ query: metric, start: String(start), end: String(end) });
    const answer = await fetch(`${base}/query_exemplars?${query.toString()}`).catch(() => null);
    const { data = [] } = answer === null ? {} : ((await answer.json()) as Found);
    if (data.length > 0) return data.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id));
    await sleep(1000);
  }
  return [];
}

test('Prometheus keeps the traces that the histograms name', async () => {
  const client = new Client(service.grpc, credentials.createInsecure());
  const question = { email: 'stranger@example.com', app: 'auth', permission: 'users.access' };
  await call(client, 'Check', question, { metadata: { traceparent } });
  client.close();
  await fetch(`${service.url}/api/nothing`, { headers: { traceparent } });
  expect(await exemplarsOf('usher_grpc_request_duration_seconds_bucket')).toContain(traceId);
  expect(await exemplarsOf('usher_http_request_duration_seconds_bucket')).toContain(traceId);
});

test('it takes everything else in that format as well', async () => {
  const answer = await fetch(`${base}/targets?state=active`);
  const { data } = (await answer.json()) as { data: { activeTargets: { health: string; lastError: string }[] } };
  expect(data.activeTargets).toMatchObject([{ health: 'up', lastError: '' }]);
  const total = await fetch(`${base}/query?query=usher_grpc_requests_total`);
  expect(JSON.stringify(await total.json())).toContain('"method":"Check"');
});
