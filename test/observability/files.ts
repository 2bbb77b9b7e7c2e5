import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';

/** The files of deploy/observability, read. */
export const FOLDER = resolve(import.meta.dirname, '../../deploy/observability');
export const RUNBOOK = resolve(import.meta.dirname, '../../docs/runbook');

export interface Rule {
  alert?: string;
  record?: string;
  expr: string;
  for?: string;
  labels?: { severity?: string };
  annotations?: { summary?: string; runbook_url?: string };
}

export interface Dashboard {
  uid: string;
  title: string;
  templating: { list: { name: string; type: string; query: string | { query: string } }[] };
  panels: { id: number; title: string; targets: { expr: string; datasource: { uid: string } }[] }[];
}

export function readRules(): Rule[] {
  return globSync('prometheus/*.rules.yml', { cwd: FOLDER }).flatMap((path) => {
    const { groups } = parse(readFileSync(resolve(FOLDER, path), 'utf8')) as { groups: { rules: Rule[] }[] };
    return groups.flatMap(({ rules }) => rules);
  });
}

export function readDashboards(): Dashboard[] {
  return globSync('grafana/dashboards/*.json', { cwd: FOLDER }).map(
    (path) => JSON.parse(readFileSync(resolve(FOLDER, path), 'utf8')) as Dashboard,
  );
}

/** The metrics that an expression names, and the records of rules. */
export function metricsIn(expression: string): string[] {
  const labels = expression.replace(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|without|on) \([^)]*\)/g, '');
  return [...new Set(labels.match(/\b(?:usher:[a-z_]+:[a-z0-9]+|(?:usher|process|nodejs)_[a-z0-9_]+)\b/g) ?? [])];
}

/** The metrics that a page names in prose, and the commands of its fences. */
export function readPage(name: string): { metrics: string[]; commands: string[]; statements: string[] } {
  const text = readFileSync(resolve(RUNBOOK, `${name}.md`), 'utf8');
  const fences = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, lines = '']) => lines);
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  const lines = fences.join('\n').split('\n');
  return {
    metrics: [...prose.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => metricsIn(code)),
    commands: lines.filter((line) => line.startsWith('curl') && line.includes('"$OPS/')),
    statements: [...fences.join('\n').matchAll(/^psql "\$DATABASE_URL" -c "([^"]+)"/gm)].map(([, sql = '']) => sql),
  };
}
