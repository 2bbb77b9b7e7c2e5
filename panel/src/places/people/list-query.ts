/** The filters of the list of people, as they stand in the address and as the service takes them. */

import type { Query } from '../../../../src/gen/api.ts';

export const LIST_FILTERS = {
  q: '',
  active: '',
  orphan: '',
  app: '',
  role: '',
  permission: '',
  sort: '',
};
type ListFilter = keyof typeof LIST_FILTERS;
type ListFilters = Readonly<Record<ListFilter, string>>;

export const SORTS = ['email', 'lastLoginAt', 'createdAt'] as const;
/** Views of one press: each is a set of filters. */
export const VIEWS = ['everybody', 'active', 'inactive', 'orphans'] as const;
export type View = (typeof VIEWS)[number];

/** An address may be written by hand: what the service would refuse is left out. */
export function queryOf({ q, active, orphan, app, role, permission, sort }: ListFilters): Query<'GET /api/users'> {
  return {
    q: q.slice(0, 64),
    active: active === 'true' || active === 'false' ? active === 'true' : null,
    orphan: orphan === 'true' ? orphan : null,
    appCode: app,
    role: app === '' ? null : role,
    permission: app === '' ? null : permission,
    sort: SORTS.find((known) => known === sort) ?? null,
  };
}

export function viewOf({ active, orphan }: Pick<ListFilters, 'active' | 'orphan'>): View {
  if (orphan === 'true') return 'orphans';
  if (active === 'true') return 'active';
  return active === 'false' ? 'inactive' : 'everybody';
}

export function filtersOf(view: View): Pick<ListFilters, 'active' | 'orphan'> {
  return {
    active: view === 'active' ? 'true' : view === 'inactive' ? 'false' : '',
    orphan: view === 'orphans' ? 'true' : '',
  };
}

/** Another application has other roles and permissions. */
export function ofApplication(app: string): Pick<ListFilters, 'app' | 'role' | 'permission'> {
  return { app, role: '', permission: '' };
}
