/** The filters of the list of people, as they stand in the address and as the service takes them. */

import type { Query } from '../../../../src/gen/api.ts';

export const LIST_FILTERS = {
  q: '',
  active: '',
  orphan: '',
  ending: '',
  app: '',
  role: '',
  permission: '',
  sort: '',
};
type ListFilter = keyof typeof LIST_FILTERS;
type ListFilters = Readonly<Record<ListFilter, string>>;

export const SORTS = ['email', 'lastLoginAt', 'createdAt'] as const;
/** Views of one press: each is a set of filters. */
export const VIEWS = ['everybody', 'active', 'inactive', 'orphans', 'ending'] as const;
export type View = (typeof VIEWS)[number];

/** An address may be written by hand: what the service would refuse is left out. */
export function queryOf({
  q,
  active,
  orphan,
  ending,
  app,
  role,
  permission,
  sort,
}: ListFilters): Query<'GET /api/users'> {
  return {
    q: q.slice(0, 64),
    active: active === 'true' || active === 'false' ? active === 'true' : null,
    orphan: orphan === 'true' ? orphan : null,
    endingWithinDays: app === '' ? null : daysOf(ending),
    appCode: app,
    role: app === '' ? null : role,
    permission: app === '' ? null : permission,
    sort: SORTS.find((known) => known === sort) ?? null,
  };
}

/** Days in an address; null for what the service would refuse. */
export function daysOf(text: string): number | null {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return days >= 1 && days <= 365 ? days : null;
}

/** What ends within these days ends soon. */
export const SOON_DAYS = 7;

export function viewOf({ active, orphan, ending }: Pick<ListFilters, 'active' | 'orphan' | 'ending'>): View {
  if (daysOf(ending) !== null) return 'ending';
  if (orphan === 'true') return 'orphans';
  if (active === 'true') return 'active';
  return active === 'false' ? 'inactive' : 'everybody';
}

export function filtersOf(view: View): Pick<ListFilters, 'active' | 'orphan' | 'ending'> {
  return {
    active: view === 'active' ? 'true' : view === 'inactive' ? 'false' : '',
    orphan: view === 'orphans' ? 'true' : '',
    ending: view === 'ending' ? String(SOON_DAYS) : '',
  };
}

/** Another application has other roles and permissions. */
export function ofApplication(app: string): Pick<ListFilters, 'app' | 'role' | 'permission'> {
  return { app, role: '', permission: '' };
}
