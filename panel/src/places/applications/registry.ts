/**
 * The list of applications. One that fits a page is filtered and sorted here, at every key and in the reader's own order; a longer
 * one by the service.
 */

import type { Item, Query } from '../../../../src/gen/api.ts';

export type Counted = Item<'GET /api/applications'>;

export const SORTS = ['name', 'code', 'people', 'roles', 'permissions', 'changed'] as const;
export type Sort = (typeof SORTS)[number];

export const LIST_FILTERS = { q: '', sort: 'name', new: '' };

const PAGE = 200;
/** The first page of all applications: most organizations have no more. */
export const FIRST: Query<'GET /api/applications'> = { limit: PAGE, sort: 'name' };

/** The same list, narrowed and sorted by the service. An address may be written by hand: what would be refused is left out. */
export function queryOf({ q, sort }: { q: string; sort: string }): Query<'GET /api/applications'> {
  const order = sort === 'changed' ? 'updatedAt' : (SORTS.find((known) => known === sort) ?? FIRST.sort);
  return { ...FIRST, ...(q.trim() === '' ? {} : { q: q.trim().slice(0, 200) }), sort: order as typeof FIRST.sort };
}

/** Whether these, read so far of the list by `FIRST`, are all there are. */
export function isWhole(read: readonly Counted[], hasNextPage: boolean): boolean {
  return !hasNextPage && read.length <= PAGE;
}

/** Names in the reader's order; counts and times with the largest first, then by name. */
export function narrowed(applications: readonly Counted[], q: string, sort: Sort): readonly Counted[] {
  const wanted = q.trim().toLowerCase();
  const left =
    wanted === ''
      ? applications
      : applications.filter(({ code, name, description }) =>
          `${code}\n${name}\n${description ?? ''}`.toLowerCase().includes(wanted),
        );
  const collator = new Intl.Collator(undefined, { numeric: true });
  const byName = (a: Counted, b: Counted) => collator.compare(a.name || a.code, b.name || b.code);
  if (sort === 'name') return left.toSorted(byName);
  if (sort === 'code') return left.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  if (sort === 'changed') return left.toSorted((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt));
  if (sort !== 'people' && sort !== 'roles' && sort !== 'permissions') return left;
  return left.toSorted((a, b) => b.counts[sort] - a.counts[sort] || byName(a, b));
}
