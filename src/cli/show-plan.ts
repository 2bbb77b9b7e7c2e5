/** A plan as a person reads it: what is made (+), changed (~) and taken away (-). */

import type { Output } from './io.ts';
import type { Paint } from './terminal.ts';

export interface PlanAnswer {
  application: string;
  dryRun: boolean;
  prune: boolean;
  summary: { create: number; change: number; remove: number; keep: number };
  assignmentsEnded: number;
  changes: readonly Change[];
}

interface Change {
  action: 'create' | 'change' | 'remove';
  kind: string;
  key: string;
  before?: Readonly<Record<string, unknown>>;
  after?: Readonly<Record<string, unknown>>;
}

const SIGNS = { create: '+', change: '~', remove: '-' } as const;
const COLOURS = { create: 'green', change: 'yellow', remove: 'red' } as const;
/** More lines than this tell a person nothing; a file or a pipe gets all of them. */
const TTY_LINES = 200;

export function hasWork({ summary }: PlanAnswer): boolean {
  return summary.create + summary.change + summary.remove > 0;
}

export function showPlan(plan: PlanAnswer, output: Output, paint: Paint): string {
  const shown = output.isTTY ? plan.changes.slice(0, TTY_LINES) : plan.changes;
  const lines = shown.map((change) => {
    return paint(COLOURS[change.action], `  ${SIGNS[change.action]} ${change.kind} ${change.key}${detail(change)}`);
  });
  const left = plan.changes.length - shown.length;
  if (left > 0) lines.push(`  … and ${left} more (--json lists all)`);
  return [`Application ${plan.application}`, ...lines, summaryLine(plan)].join('\n');
}

function summaryLine(plan: PlanAnswer): string {
  const { create, change, remove, keep } = plan.summary;
  if (!hasWork(plan)) return `Nothing to do: all ${keep} are as the manifest says.`;
  const counts = [
    create > 0 ? `create ${create}` : '',
    change > 0 ? `change ${change}` : '',
    remove > 0 ? `remove ${remove}` : '',
    `keep ${keep}`,
  ].filter((part) => part !== '');
  const ended = plan.assignmentsEnded;
  const ends =
    ended > 0 ? ` ${plan.dryRun ? 'This would end' : 'This ended'} ${ended} assignment${ended === 1 ? '' : 's'}.` : '';
  return `${plan.dryRun ? 'To do' : 'Done'}: ${counts.join(', ')}.${ends}`;
}

/** Of a change the fields that differ; of what is made or goes, the one thing that the key does not say. */
function detail({ action, kind, before = {}, after = {} }: Change): string {
  if (action === 'change') {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const changed = names.filter((name) => show(before[name]) !== show(after[name]));
    // Its parts are as long as mails are.
    if (kind === 'template') return ` (${changed.join(', ')})`;
    return ` (${changed.map((name) => `${name}: ${difference(before[name], after[name])}`).join('; ')})`;
  }
  const record = action === 'create' ? after : before;
  if (kind === 'override') return record.granted ? ` (grants ${show(record.accessLevel)})` : ' (denies)';
  if (kind === 'permission') return ` (${show(record.type)}${record.global === true ? ', global' : ''})`;
  return kind === 'role' ? ` (${show(record.permissions)})` : '';
}

function difference(before: unknown, after: unknown): string {
  if (isMap(before) && isMap(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names
      .filter((name) => before[name] !== after[name])
      .map((name) => `${name} ${show(before[name])} → ${show(after[name])}`)
      .join(', ');
  }
  return `${show(before)} → ${show(after)}`;
}

function show(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(show).join(' ');
  if (isMap(value)) {
    const entries = Object.entries(value);
    return entries.length === 0 ? 'no permissions' : entries.map(([name, item]) => `${name}: ${show(item)}`).join(', ');
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
