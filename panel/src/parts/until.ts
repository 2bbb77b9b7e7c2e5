/** Beginnings and ends of grants, as they are chosen and shown. Times are instants: ISO 8601 with a zone. */

export interface GrantWindow {
  readonly startsAt: string | null;
  readonly endsAt: string | null;
}

export const LENGTHS = ['today', 'week', 'month'] as const;
export type Length = (typeof LENGTHS)[number];

/** When a day has ended that is today, a week or a month ahead: the next midnight of the clock on the wall. */
export function endOf(length: Length, now: Date): string {
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()];
  if (length === 'today') return new Date(year, month, day + 1).toISOString();
  if (length === 'week') return new Date(year, month, day + 8).toISOString();
  // A month after 31 January is the last of February.
  const last = new Date(year, month + 2, 0).getDate();
  return new Date(year, month + 1, Math.min(day, last) + 1).toISOString();
}

/** As a field of day and time takes it: to the minute, in the time of the browser. Empty for what is no time. */
export function toField(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  const two = (number: number) => String(number).padStart(2, '0');
  const date = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${date}T${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** The instant that a field of day and time names; null while it is not whole. */
export function fromField(text: string): string | null {
  const at = new Date(text);
  return text === '' || Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** Shown as ending soon, as the list of what ends soon counts it. */
const SOON_MS = 7 * 24 * 3600_000;

/** `ahead`: it has not begun. Null without a beginning to come and without an end. */
export function standingOf({ startsAt, endsAt }: GrantWindow, now: number): 'ahead' | 'soon' | 'running' | null {
  if (startsAt !== null && Date.parse(startsAt) > now) return 'ahead';
  if (endsAt === null) return null;
  return Date.parse(endsAt) - now < SOON_MS ? 'soon' : 'running';
}

/** Of a grant in a list that may be made by a service without windows. */
export function windowOf(grant: Partial<GrantWindow>): GrantWindow {
  return { startsAt: grant.startsAt ?? null, endsAt: grant.endsAt ?? null };
}
