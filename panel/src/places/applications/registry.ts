/** The list of applications, filtered and sorted where it is shown: the service answers it whole. */

import type { Item } from '../../api/call.ts';

export type Counted = Item<'GET /api/applications'>;

export const SORTS = ['name', 'code', 'people', 'roles', 'permissions', 'changed'] as const;
export type Sort = (typeof SORTS)[number];

const collator = new Intl.Collator(undefined, { numeric: true });

/** Names in the reader's order; counts and times with the largest first, then by name. */
export function narrowed(applications: readonly Counted[], q: string, sort: Sort): readonly Counted[] {
  const wanted = q.trim().toLowerCase();
  const left =
    wanted === ''
      ? applications
      : applications.filter(({ code, name, description }) =>
          `${code}\n${name}\n${description ?? ''}`.toLowerCase().includes(wanted),
        );
  const byName = (a: Counted, b: Counted) => collator.compare(a.name || a.code, b.name || b.code);
  if (sort === 'name') return left.toSorted(byName);
  if (sort === 'code') return left.toSorted((a, b) => (a.code < b.code ? -1 : 1));
  if (sort === 'changed') return left.toSorted((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt));
  if (sort !== 'people' && sort !== 'roles' && sort !== 'permissions') return left;
  return left.toSorted((a, b) => b.counts[sort] - a.counts[sort] || byName(a, b));
}
