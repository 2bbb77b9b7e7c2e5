import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { parse } from 'yaml';
import { FOLDER, metricsIn, RUNBOOK, readDashboards, readPage, readRules } from './files.ts';
import { openScene, type Scene } from './scene.ts';

/** Rules, dashboards and pages name metrics: of every role, gRPC processes, edges and certificates, as a real service has them. */
const rules = readRules();
const alerts = rules.filter(({ alert }) => alert !== undefined);
const names = [...new Set(alerts.map(({ alert = '' }) => alert))];

const run = promisify(execFile);

let scene: Scene;
const known = new Set<string>(rules.flatMap(({ record }) => record ?? []));

beforeAll(async () => {
  scene = await openScene();
  await scene.busy();
  for (const target of scene.targets) {
    const text = await (await fetch(`http://${target}/metrics`)).text();
    for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      known.add(name);
      if (type === 'histogram') for (const ending of ['bucket', 'sum', 'count']) known.add(`${name}_${ending}`);
    }
  }
}, 120_000);
afterAll(() => scene?.close(), 60_000);

describe('the rules', () => {
  test('name metrics that exist', () => {
    const unknown = rules.flatMap(({ expr }) => metricsIn(expr)).filter((name) => !known.has(name));
    expect(unknown).toEqual([]);
  });

  test('each alert has a severity, a summary, and a page in the runbook and its index', () => {
    const index = readFileSync(join(RUNBOOK, 'README.md'), 'utf8');
    for (const { alert = '', labels, annotations } of alerts) {
      expect(['critical', 'warning']).toContain(labels?.severity);
      expect(annotations?.summary).toMatch(/\.$/);
      expect(annotations?.runbook_url).toBe(`{{ $externalLabels.runbooks }}/${alert}.md`);
      expect([alert, existsSync(join(RUNBOOK, `${alert}.md`))]).toEqual([alert, true]);
      expect(index).toContain(`[${alert}](${alert}.md)`);
    }
    expect(readdirSync(RUNBOOK).sort()).toEqual(['README.md', ...names.map((name) => `${name}.md`)].sort());
  });

  test('promtool has a case in which each alert fires, and one in which it does not', () => {
    const { tests } = parse(readFileSync(join(FOLDER, 'prometheus/alerts.test.yml'), 'utf8')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: { exp_labels: { severity: string } }[] }[] }[];
    };
    const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    for (const { alert = '', labels } of alerts) {
      const fires = cases
        .filter(({ alertname }) => alertname === alert)
        .map(({ exp_alerts }) => exp_alerts.some(({ exp_labels }) => exp_labels.severity === labels?.severity));
      expect({ alert, ...labels, fires: fires.includes(true), silent: fires.includes(false) }).toEqual({
        alert,
        ...labels,
        fires: true,
        silent: true,
      });
    }
  });
});

describe('the runbook', () => {
  test.each(names)('the page of %s names metrics that exist, and its commands find them', async (name) => {
    const { metrics, commands, statements } = readPage(name);
    expect(metrics.filter((metric) => !known.has(metric))).toEqual([]);
    expect(commands.length + statements.length).toBeGreaterThan(0);
    for (const whole of commands) {
      // Up to the first grep: what narrows its lines further looks for trouble, which is not there.
      const command = whole.split(' | ').slice(0, 2).join(' | ');
      const found = await Promise.all(
        scene.targets.map(async (target) => {
          const env = { ...process.env, OPS: `http://${target}` };
          return (await run('bash', ['-c', `${command} || true`], { env, timeout: 10_000 })).stdout;
        }),
      );
      expect([command, found.some((lines) => lines !== '')]).toEqual([command, true]);
    }
    const database = new pg.Client({ connectionString: scene.storage.url ?? '' });
    await database.connect();
    try {
      for (const sql of statements) await database.query(sql);
    } finally {
      await database.end();
    }
  });
});

describe('the dashboards', () => {
  test.each(readDashboards().map((dashboard) => [dashboard.uid, dashboard] as const))(
    '%s names metrics that exist, and no data source of somebody',
    (_, { panels, templating }) => {
      const unknown = panels
        .flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)))
        .filter((name) => !known.has(name));
      expect(unknown).toEqual([]);
      const sources = new Set(panels.flatMap(({ targets }) => targets.map(({ datasource }) => datasource.uid)));
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana
      expect([...sources]).toEqual(['${datasource}']);
      expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance']);
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    },
  );
});
