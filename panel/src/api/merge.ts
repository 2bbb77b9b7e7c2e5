/**
 * Two people at one record. Where a route takes `If-Match`, the service tells them of each other. Of all other records a form
 * reads what is there before it writes, field by field: what somebody else changed and the form did not stays theirs, and where
 * both changed a field, the write waits until the form has shown theirs. Between that reading and the write there is no lock.
 */

import { Conflict } from './error.ts';

/** What a form began with, and what was typed over it. */
export interface Edited<T> {
  readonly base: T;
  readonly draft: T;
}

export function unedited<T>(base: T): Edited<T> {
  return { base, draft: base };
}

/** The fields of `to` that differ from `from`. */
export function changedIn<T extends object>(from: T, to: T): Partial<T> {
  const names = Object.keys(to) as (keyof T)[];
  const entries = names.filter((name) => !isSame(from[name], to[name])).map((name) => [name, to[name]]);
  return Object.fromEntries(entries) as Partial<T>;
}

/** The draft over what is there now, and the fields that both have changed to different values. */
export function merged<T extends object>({ base, draft }: Edited<T>, now: T): { draft: T; both: readonly (keyof T)[] } {
  const mine = changedIn(base, draft);
  const theirs = changedIn(base, now);
  const both = (Object.keys(mine) as (keyof T)[]).filter((name) => name in theirs && !isSame(mine[name], now[name]));
  return { draft: { ...now, ...mine }, both };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

interface Settling<T> extends Edited<T> {
  /** What is there now; null where it is gone, which the write itself will say. */
  readonly read: () => Promise<T | null>;
  /** Told what the form goes on with. A second try is for what was shown. */
  readonly keep: (edited: Edited<T>) => void;
  /** What the fields are called in the form. */
  readonly labels: Partial<Record<keyof T, string>>;
}

/** What a write has to change; throws Conflict, whereupon the form shows what is there and may be sent again. */
export async function settled<T extends object>({ base, draft, read, keep, labels }: Settling<T>): Promise<Partial<T>> {
  const now = await read();
  if (now === null) return changedIn(base, draft);
  const over = merged({ base, draft }, now);
  if (!isSame(now, base)) keep({ base: now, draft: over.draft });
  refuse(over.both, now, labels);
  return changedIn(now, over.draft);
}

/** Throws Conflict unless no field was changed by both. */
export function refuse<T>(both: readonly (keyof T)[], now: T, labels: Partial<Record<keyof T, string>>): void {
  if (both.length > 0) throw new Conflict(both.map((name) => [labels[name] ?? String(name), now[name]] as const));
}
