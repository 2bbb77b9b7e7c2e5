/** A plan as text: what is created (+), changed (~) and removed (-). */

import type { Impact, ManifestChange, Out } from '../gen/api.ts';
import type { Output } from './io.ts';
import type { Paint } from './terminal.ts';

/** A plan; of a dry run with who would gain and who would lose. */
export type PlanAnswer = Out<'POST /api/manifests/apply'>;

const SIGNS = { create: '+', change: '~', remove: '-' } as const;
const COLORS = { create: 'green', change: 'yellow', remove: 'red' } as const;
/** A terminal shows at most this many lines; a file or a pipe gets all of them. */
const TTY_LINES = 200;

export function hasWork({ summary }: PlanAnswer): boolean {
  return summary.create + summary.change + summary.remove > 0;
}

export function showPlan(plan: PlanAnswer, output: Output, paint: Paint): string {
  const listed = output.isTTY ? plan.changes.slice(0, TTY_LINES) : plan.changes;
  const lines = listed.map((change) => {
    return paint(COLORS[change.action], `  ${SIGNS[change.action]} ${change.kind} ${change.key}${detail(change)}`);
  });
  const left = plan.changes.length - listed.length;
  if (left > 0) lines.push(`  … and ${left} more (--json lists all)`);
  const ended = plan.ended ?? [];
  const over = output.isTTY ? ended.slice(0, TTY_LINES) : ended;
  lines.push(...over.map(({ kind, key }) => `  ended ${kind} ${key}`));
  if (ended.length > over.length) lines.push(`  … and ${ended.length - over.length} more that have ended`);
  const impact = plan.impact === undefined ? [] : impactLines(plan.impact, output, paint);
  return [`Application ${plan.application}`, ...lines, summaryLine(plan), ...impact].join('\n');
}

function impactLines({ people, gained, lost, changes, truncated }: Impact, output: Output, paint: Paint): string[] {
  const shown = output.isTTY ? changes.slice(0, TTY_LINES) : changes;
  const lines = shown.map(({ email, permission, resourceType, resourceId, from, to }) => {
    const resource = resourceType === null ? '' : ` on ${resourceType}:${resourceId}`;
    const falls = to === null || (to === 'view' && from === 'edit');
    return paint(
      falls ? 'red' : 'green',
      `  ${falls ? '-' : '+'} ${email} ${permission}${resource}: ${show(from)} → ${show(to)}`,
    );
  });
  const left = gained + lost - shown.length;
  if (left > 0) lines.push(`  … and ${left} more${truncated ? '' : ' (--json lists all)'}`);
  return [`Impact: ${people} ${people === 1 ? 'person' : 'people'}, ${gained} gained, ${lost} lost.`, ...lines];
}

function summaryLine(plan: PlanAnswer): string {
  const { create, change, remove, keep } = plan.summary;
  if (!hasWork(plan)) return `No changes: all ${keep} match the manifest.`;
  const counts = [
    create > 0 ? `create ${create}` : '',
    change > 0 ? `change ${change}` : '',
    remove > 0 ? `remove ${remove}` : '',
    `keep ${keep}`,
  ].filter((part) => part !== '');
  const ended = plan.assignmentsEnded;
  const ends =
    ended > 0 ? ` ${plan.dryRun ? 'This would end' : 'This ended'} ${ended} assignment${ended === 1 ? '' : 's'}.` : '';
  return `${plan.dryRun ? 'Planned' : 'Applied'}: ${counts.join(', ')}.${ends}`;
}

/** For a change the fields that differ; for a created or removed record, the one fact that its key does not show. */
function detail({ action, kind, before = {}, after = {} }: ManifestChange): string {
  if (action === 'change') {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const changed = names.filter((name) => show(before[name]) !== show(after[name]));
    // The parts of a template are as long as mails.
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
