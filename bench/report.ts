/** Rows of results, the table at the end, and the machine that they were measured on. */
import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { pinning } from './processes.ts';

export interface Row {
  scenario: string;
  measure: string;
  /** The median over the processes, unless `measure` says otherwise. */
  value: number;
  unit: string;
  /** In words; absent where there is none. */
  goal?: string;
  pass?: boolean;
  /** What each process gave, in the order of the runs. */
  runs?: number[];
}

export interface Report {
  machine: Record<string, string | number>;
  settings: Record<string, string | number | boolean>;
  rows: Row[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** The value that a share `p` of `values` does not exceed. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * p) - 1))] ?? Number.NaN;
}

type Goal = { atLeast: number } | { atMost: number };

/** A row with its goal judged. The value is the median of `runs`. */
export function row(scenario: string, measure: string, unit: string, runs: readonly number[], goal?: Goal): Row {
  const value = median(runs);
  const made: Row = { scenario, measure, value, unit, runs: [...runs] };
  if (!goal) return made;
  if ('atLeast' in goal) return { ...made, goal: `≥ ${goal.atLeast}`, pass: value >= goal.atLeast };
  return { ...made, goal: `≤ ${goal.atMost}`, pass: value <= goal.atMost };
}

/** What is told of each run of a scenario. */
export type Measure<Run> = readonly [measure: string, unit: string, of: (run: Run) => number, goal?: Goal];

/** A row for each measure over the same runs. */
export function rowsOf<Run>(scenario: string, runs: readonly Run[], measures: readonly Measure<Run>[]): Row[] {
  return measures.map(([measure, unit, of, goal]) => row(scenario, measure, unit, runs.map(of), goal));
}

export function machine(): Record<string, string | number> {
  const list = cpus();
  return {
    cpus: list.length,
    cpu: list[0]?.model ?? 'unknown',
    memoryMB: Math.round(totalmem() / 2 ** 20),
    node: process.version,
    commit: commit(),
    pinning,
  };
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

function show(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(Math.abs(value) < 1 ? 3 : 2);
}

/** The table as text (Markdown, so that it can be pasted into docs/evidence/performance.md). */
export function table(rows: readonly Row[]): string {
  const cells = [
    ['scenario', 'measure', 'value', 'goal', ''],
    ...rows.map((r) => [
      r.scenario,
      r.measure,
      `${show(r.value)}${r.unit === '' ? '' : ` ${r.unit}`}`,
      r.goal ?? '',
      r.pass === undefined ? '' : r.pass ? 'pass' : 'FAIL',
    ]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  const line = (texts: readonly string[]): string =>
    `| ${texts.map((text, i) => text.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const [head, ...body] = cells.map(line);
  return [head, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body].join('\n');
}
