/** What needs somebody now, out of the overview: each a number, where there is one, and where to go. */

import type { Out } from '../../../../src/gen/api.ts';
import { SOON_DAYS } from '../people/list-query.ts';

export type Overview = Out<'GET /api/admin/overview'>;
const NEEDS = ['failing', 'waiting', 'brands', 'provider', 'comparison', 'orphans', 'ending'] as const;
type NeedKind = (typeof NEEDS)[number];

export interface Need {
  readonly kind: NeedKind;
  /** Null: what is wrong is not counted. */
  readonly count: number | null;
  /** Whether there are more than were counted. */
  readonly more: boolean;
  /** What the line says beside the number: a time, or names. */
  readonly detail: string | null;
  readonly href: string;
  readonly tone: 'bad' | 'warn';
}

/** A notification that waits longer than this is not just about to be sent. */
const WAITS_MS = 5 * 60_000;

interface Orphans {
  readonly count: number;
  readonly more: boolean;
}

/** The worst first. */
export function needsOf(overview: Overview, orphans: Orphans, now: number): readonly Need[] {
  const { sends, oldestWaiting, failingBrands, provider, endingSoon } = overview;
  const failing = sends.failed + sends.partial;
  const compared = provider?.reconciliation ?? null;
  const late = oldestWaiting !== null && now - Date.parse(oldestWaiting) > WAITS_MS;
  const need = (kind: NeedKind, isSo: boolean, rest: Partial<Need> & Pick<Need, 'href'>): Need[] =>
    isSo ? [{ kind, count: null, more: false, detail: null, tone: 'bad', ...rest }] : [];
  return [
    ...need('provider', provider?.reachable === false, { href: '/sign-in', detail: provider?.lastEventAt ?? null }),
    ...need('comparison', compared !== null && compared.outcome !== 'done', {
      href: '/sign-in',
      detail: compared?.endedAt ?? null,
      tone: compared?.outcome === 'braked' ? 'bad' : 'warn',
    }),
    ...need('failing', failing > 0, { href: '/notifications?status=failed', count: failing }),
    ...need('brands', failingBrands.length > 0, {
      href: '/brands',
      count: failingBrands.length,
      detail: failingBrands.map(({ name }) => name).join(', '),
    }),
    ...need('waiting', late, {
      href: '/notifications?status=queued',
      count: sends.queued === 0 ? null : sends.queued,
      detail: oldestWaiting,
      tone: 'warn',
    }),
    ...need('orphans', orphans.count > 0, { href: '/people?orphan=true', ...orphans, tone: 'warn' }),
    ...need('ending', endingSoon > 0, { href: `/people?ending=${SOON_DAYS}`, count: endingSoon, tone: 'warn' }),
  ];
}
