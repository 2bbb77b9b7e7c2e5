/** Beginnings and ends of grants in requests (docs/reference/time.md#windows-in-requests). */

import { type Issue, validationFailed } from '../base/errors.ts';
import type { Tx } from '../persistence/database.ts';
import { requireRules } from '../persistence/rules.ts';
import { type GrantWindow, NO_WINDOW, readLimits } from '../persistence/windows.ts';

export { requireRules } from '../persistence/rules.ts';
export { type GrantWindow, readLimits } from '../persistence/windows.ts';

/** Of a request: an absent bound leaves what is there, null clears it. */
export interface WantedWindow {
  readonly startsAt?: Date | null | undefined;
  readonly endsAt?: Date | null | undefined;
}

/** The window that a grant is to have; `held` is null for one that is not held. */
export function windowAfter({ startsAt, endsAt }: WantedWindow, held: GrantWindow | null): GrantWindow {
  const before = held ?? NO_WINDOW;
  return {
    startsAt: startsAt === undefined ? before.startsAt : startsAt,
    endsAt: endsAt === undefined ? before.endsAt : endsAt,
  };
}

export function isSameWindow(one: GrantWindow, other: GrantWindow): boolean {
  return isSameTime(one.startsAt, other.startsAt) && isSameTime(one.endsAt, other.endsAt);
}

function isSameTime(one: Date | null, other: Date | null): boolean {
  return one?.getTime() === other?.getTime();
}

/** One window of a request, to be judged. */
export interface AskedWindow {
  /** Where in the body its fields are: `` for the body itself, else as `permissions.2`. */
  readonly path: string;
  readonly wanted: WantedWindow;
  readonly held: GrantWindow | null;
}

/**
 * Throws VALIDATION_FAILED for windows that cannot be, by the clock of the database; UPGRADE_UNFINISHED where one sets a bound and
 * processes of the version before may be there. Bounds that are held already, and what is cleared, are never refused.
 */
export async function refuseWindows(tx: Tx, asked: readonly AskedWindow[]): Promise<void> {
  const setting = asked.filter(
    ({ wanted, held }) => sets(wanted.startsAt, held?.startsAt) || sets(wanted.endsAt, held?.endsAt),
  );
  if (setting.length === 0) return;
  const { now, latest } = await readLimits(tx);
  const issues = setting.flatMap((one) => issuesOf(one, now, latest));
  if (issues.length > 0) throw validationFailed(issues);
  await requireRules(tx);
}

function sets(wanted: Date | null | undefined, held: Date | null | undefined): boolean {
  return wanted !== undefined && wanted !== null && !isSameTime(wanted, held ?? null);
}

const AFTER = 'must be after startsAt';

function issuesOf({ path, wanted, held }: AskedWindow, now: Date, latest: Date): Issue[] {
  const { startsAt, endsAt } = windowAfter(wanted, held);
  if (endsAt === null) return [];
  const field = (name: 'startsAt' | 'endsAt') => (path === '' ? name : `${path}.${name}`);
  const isNew = sets(wanted.endsAt, held?.endsAt);
  if (isNew && endsAt <= now) return [{ path: field('endsAt'), message: 'must be in the future' }];
  if (isNew && endsAt > latest) return [{ path: field('endsAt'), message: 'must be at most 10 years ahead' }];
  if (startsAt === null || startsAt < endsAt) return [];
  if (isNew) return [{ path: field('endsAt'), message: AFTER }];
  return [{ path: field('startsAt'), message: 'must be before endsAt' }];
}

/** A window in an audit record: empty for a grant without bounds. */
export function windowWords({ startsAt, endsAt }: GrantWindow): { startsAt?: string | null; endsAt?: string | null } {
  if (startsAt === null && endsAt === null) return {};
  return { startsAt: startsAt?.toISOString() ?? null, endsAt: endsAt?.toISOString() ?? null };
}
