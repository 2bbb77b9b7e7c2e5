/** The first questions of an address, asked as soon as somebody is signed in: not one after the other, and not after the code is here. */

import { listAhead, readAhead } from '../api/queries.ts';
import { filtersIn } from '../parts/filters.ts';
import { FIRST } from './applications/registry.ts';
import { emailOfPath } from './people/address.ts';
import { LIST_FILTERS, queryOf } from './people/list-query.ts';

/**
 * Asks what the view at a path below `/panel` asks first of everybody, and the rights by which the frame is drawn. What a view
 * asks only for people with certain rights, it asks itself.
 */
export function askAhead(path: string, search: string): void {
  const parameters = new URLSearchParams(search);
  const appCode = /^\/applications\/([a-z0-9._-]+)/.exec(path)?.[1];
  const email = emailOfPath(path);
  if (path === '/applications') listAhead('GET /api/applications', { query: FIRST });
  if (appCode !== undefined) readAhead('GET /api/applications/{appCode}', { path: { appCode } });
  if (path === '/people') listAhead('GET /api/users', { query: queryOf(filtersIn(parameters, LIST_FILTERS)) });
  if (email !== null) readAhead('GET /api/users/{email}', { path: { email } });
  if (email !== null && /^\/people\/[^/]+$/.test(path)) readAhead('GET /api/users/{email}/access', { path: { email } });
  readAhead('GET /api/profile/me/admin-status', {});
}
