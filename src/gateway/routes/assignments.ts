/** Which roles people hold (contract 5). */

import { z } from 'zod';
import type { AssignedRole, HolderRow } from '../../catalog/assignments.ts';
import { successData } from '../envelopes.ts';
import { AppParams, id, idParam, MemberParams, search, timestamp } from '../fields.ts';
import { applicationLevel } from '../guards.ts';
import { paged, pagedData, pageOf, pageParams, pageSchema } from '../paging.ts';
import { answer, defineRoute, type Route } from '../route.ts';

const Assigned = z.array(z.strictObject({ id, code: z.string(), description: z.string().nullable() }));

function shown(roles: readonly AssignedRole[]): z.output<typeof Assigned> {
  return roles.map(({ id, code, description }) => ({ id, code, description }));
}

const readUserRoles = defineRoute({
  method: 'get',
  path: '/api/users/:email/apps/:appCode/roles',
  tag: 'Users',
  summary: 'The roles of a user in an application',
  guard: applicationLevel('view'),
  params: MemberParams,
  envelope: successData,
  status: 200,
  response: Assigned,
  errors: ['NOT_FOUND'],
  handle: async ({ assignments }, { params }) => {
    const { roles, etag } = await assignments.roles(params.appCode, params.email);
    return answer(shown(roles), { etag });
  },
});

const replaceUserRoles = defineRoute({
  method: 'put',
  path: '/api/users/:email/apps/:appCode/roles',
  tag: 'Users',
  summary: 'Replace the roles of a user in an application',
  description:
    'Also before the user has a record. In `auth` for SuperAdmins; who manages every application may give and take the roles ' +
    '`application_manager` and `panel_admin` there, as far as that changes nothing which he could not change himself.',
  guard: applicationLevel('edit', { delegated: true }),
  refusal: 'user_roles.replaced.refused',
  params: MemberParams,
  headers: ['if-match'],
  body: z.strictObject({ roleIds: z.array(id).max(1000) }),
  limit: 'list',
  envelope: successData,
  status: 200,
  response: Assigned,
  errors: ['NOT_FOUND', 'FORBIDDEN', 'UNKNOWN_REFERENCE', 'STALE'],
  example: { body: { roleIds: [3, 8] } },
  handle: async ({ assignments }, input) => {
    const { appCode, email } = input.params;
    const ifMatch = input.header('if-match');
    const { result, revision } = await assignments.replaceRoles(appCode, email, input.body.roleIds, ifMatch, input);
    return answer(shown(result.roles), { etag: result.etag, revision });
  },
});

const Holder = z.strictObject({
  id,
  email: z.string(),
  displayName: z.string().nullable(),
  registered: z.boolean().meta({ description: 'Whether there is a record, or the address was only mentioned.' }),
  active: z.boolean(),
  assignedAt: timestamp,
});

function shownHolder({ assignedAt, ...row }: HolderRow): z.output<typeof Holder> {
  return { ...row, assignedAt: assignedAt.toISOString() };
}

const listHolders = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/roles/:roleId/users',
  tag: 'Roles',
  summary: 'Who holds a role',
  guard: applicationLevel('view'),
  params: z.strictObject({ ...AppParams.shape, roleId: idParam }),
  query: z.strictObject({ ...pageParams('role-users'), q: search }),
  envelope: pagedData,
  status: 200,
  response: pageSchema(Holder),
  errors: ['NOT_FOUND'],
  handle: async ({ assignments }, { params, query }) => {
    const page = await assignments.holders(params.appCode, params.roleId, { ...pageOf(query), search: query.q });
    return paged('role-users', page, shownHolder);
  },
});

export const assignmentRoutes: readonly Route[] = [readUserRoles, replaceUserRoles, listHolders];
