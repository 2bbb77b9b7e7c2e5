/** The audit records of a person, as what happened. */

import type { Item } from '../../api/call.ts';

export type AuditRecord = Item<'GET /api/admin/audit'>;

/** One thing before and after; null where there was or is none. */
export interface Difference {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

const SHOWN = 4;
const LONGEST = 120;

/** What differs between `before` and `after`, member by member. Lists are compared by their items: only what came and went is shown. */
export function differences({ before, after }: Pick<AuditRecord, 'before' | 'after'>): readonly Difference[] {
  const [old, now] = [membersOf(before), membersOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  const found = names.flatMap((name): Difference[] => {
    const [was, is] = [old[name], now[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    if (Array.isArray(was) && Array.isArray(is)) return [listDifference(name, was, is)];
    const difference = { name, before: textOf(was), after: textOf(is) };
    return difference.before === difference.after ? [] : [difference];
  });
  return found.slice(0, SHOWN);
}

function listDifference(name: string, was: readonly unknown[], is: readonly unknown[]): Difference {
  const [old, now] = [was, is].map((list) => list.map((item) => JSON.stringify(item))) as [string[], string[]];
  const gone = was.filter((item) => !now.includes(JSON.stringify(item)));
  const come = is.filter((item) => !old.includes(JSON.stringify(item)));
  return { name, before: gone.length === 0 ? null : textOf(gone), after: come.length === 0 ? null : textOf(come) };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === null || value === undefined) return {};
  return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : { value };
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = Array.isArray(value) ? value.map((item) => wordOf(item)).join(', ') : wordOf(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function wordOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, of]) => `${name} ${wordOf(of)}`)
    .join(' ');
}

/** Who did it: `user:ada@example.com` is a person, whose page can be opened; `key:billing` or `cli` is not. */
export function actorOf(actor: string): { readonly name: string; readonly email: string | null } {
  const email = /^user:(.+)$/.exec(actor)?.[1] ?? null;
  return { name: email ?? actor, email };
}

/** The day of a moment in the reader's own time zone, as a key. */
export function dayOf(iso: string): string {
  const at = new Date(iso);
  return `${at.getFullYear()}-${at.getMonth() + 1}-${at.getDate()}`;
}
