/**
 * Facts that change by themselves, when a grant begins or ends (docs/freshness.md#boundaries-in-time): how long each may be used, and
 * whether several hold together at one instant.
 */

import type { Fact, Timing } from './fact.ts';

export const WITHOUT_END: Timing = { statement: 0, ends: null };

/**
 * A fact that has not expired, or was read for the question that began at `askedAt`. `now` may be a while old; `instant` is read from
 * the clock at that moment by who holds a fact with a bound.
 */
export function usable<T>(
  fact: Fact<T> | undefined,
  now: number,
  askedAt: number,
  instant: () => number,
): Fact<T> | undefined {
  if (fact === undefined || fact.readAt >= askedAt) return fact;
  return fact.expires > now && (fact.bound === null || fact.bound.ends > instant()) ? fact : undefined;
}

/**
 * Whether the facts of a person hold together at one instant since `askedAt`: now, or when the statement was executed that read all of
 * them since then. Facts of several statements need not: what one of them had may have ended before another began.
 */
export function holdTogether(
  person: Fact<unknown>,
  member: Fact<unknown>,
  overrides: Fact<unknown> | null,
  askedAt: number,
  instant: number,
): boolean {
  if (holdsAt(person, instant) && holdsAt(member, instant) && (overrides === null || holdsAt(overrides, instant))) {
    return true;
  }
  const { statement, readAt } = member;
  return (
    readAt >= askedAt && person.statement === statement && (overrides === null || overrides.statement === statement)
  );
}

/** Whether one of them changes by itself, so that nothing made of them is kept. */
export function hasBound({
  person,
  member,
  overrides,
}: Record<'person' | 'member', Bounded> & { overrides: Bounded | null }): boolean {
  return person.bound !== null || member.bound !== null || (overrides !== null && overrides.bound !== null);
}

type Bounded = Pick<Fact<unknown>, 'bound'>;

function holdsAt({ bound }: Fact<unknown>, instant: number): boolean {
  return bound === null || bound.ends > instant;
}

/** Then what was made from the fact before must end with it. */
export function gainsBound({ bound }: Fact<unknown>, { ends }: Timing): boolean {
  return bound === null && ends !== null;
}

/** Taken off every boundary: no two clocks run alike, nor does one count the same milliseconds twice. */
const DRIFT_MS = 10;

/** The end of a fact with that boundary, whose statement was sent at `sentAt`: before it was executed, so never too late. */
export function endOf(sentAt: number, boundaryMs: number | null): number | null {
  return boundaryMs === null ? null : Math.floor(sentAt + boundaryMs - DRIFT_MS);
}
