import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../support/postgres.ts';
import { FOLDER, readDashboards } from './files.ts';
import { openScene, type Scene } from './scene.ts';

/**
 * A real Prometheus with the files of deploy/observability, scraping a service with callers on it: each query of each panel answers.
 * Not part of `npm test`: Prometheus must be installed, or named in PROMETHEUS.
 */
const PROMETHEUS = process.env.PROMETHEUS ?? 'prometheus';
const folder = mkdtempSync(join(tmpdir(), 'usher-prometheus-'));
let scene: Scene;
let prometheus: ChildProcess;
let base: string;

beforeAll(async () => {
  scene = await openScene();
  cpSync(join(FOLDER, 'prometheus'), folder, { recursive: true });
  const config = join(folder, 'prometheus.yml');
  // Seconds instead of quarters of a minute: nobody waits for it.
  writeFileSync(config, readFileSync(config, 'utf8').replaceAll('15s', '1s'));
  for (const name of ['recording', 'alerts'].map((part) => join(folder, `${part}.rules.yml`))) {
    writeFileSync(name, readFileSync(name, 'utf8').replace(/interval: \w+/g, 'interval: 1s'));
  }
  mkdirSync(join(folder, 'targets'));
  writeFileSync(join(folder, 'targets/usher.json'), JSON.stringify([{ targets: scene.targets }]));
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  const flags = [`--config.file=${config}`, `--storage.tsdb.path=${join(folder, 'data')}`];
  prometheus = spawn(PROMETHEUS, [...flags, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
  for (let second = 0; second < 25; second++) {
    await scene.busy();
    await sleep(1000);
  }
}, 120_000);
afterAll(async () => {
  if (prometheus?.exitCode === null) {
    prometheus.kill('SIGTERM');
    await once(prometheus, 'exit');
  }
  await scene?.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const api = async (path: string): Promise<{ status: string; error?: string; data: never }> =>
  (await (await fetch(`${base}/api/v1/${path}`)).json()) as never;

describe('Prometheus with the files of deploy/observability', () => {
  test('scrapes every process, and evaluates every rule', async () => {
    const { data } = await api('targets?state=active');
    const { activeTargets } = data as { activeTargets: { health: string; lastError: string }[] };
    expect(activeTargets.map(({ health, lastError }) => [health, lastError])).toEqual(
      scene.targets.map(() => ['up', '']),
    );
    const { groups } = (await api('rules')).data as { groups: { rules: { name: string; health: string }[] }[] };
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(30);
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  });

  test('no alert fires on a healthy service', async () => {
    const { alerts } = (await api('alerts')).data as { alerts: { state: string; labels: { alertname: string } }[] };
    expect(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)).toEqual([]);
  });

  const queries = readDashboards().flatMap(({ title, panels }) =>
    panels.flatMap((panel) => panel.targets.map(({ expr }) => [`${title}, ${panel.title}`, expr] as const)),
  );
  test.each(queries)('%s: %s', async (_, expr) => {
    const query = expr.replaceAll('$__rate_interval', '20s').replaceAll('$job', 'usher').replaceAll('$instance', '.*');
    const { status, error, data } = await api(`query?query=${encodeURIComponent(query)}`);
    expect({ status, error }).toEqual({ status: 'success', error: undefined });
    const { result } = data as { result: { value: [number, string] }[] };
    expect(result.filter(({ value }) => value[1] !== 'NaN').length).toBeGreaterThan(0);
  });
});
