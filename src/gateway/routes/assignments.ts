/** Roles of users (docs/reference/administration.md#assignments). */

import { z } from 'zod';
import type { AssignedRole, WantedRoles } from '../../catalog/assignments.ts';
import {
  AppParams,
  email,
  id,
  idParam,
  MemberParams,
  roleCode,
  search,
  timestamp,
  wantedWindow,
  windowFields,
} from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { paged, pagedData, pageOf, pageParams, pageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route, removed } from '../route/route.ts';

const AssignedOne = record('AssignedRole', {
  id,
  code: z.string(),
  name: z.string().nullable(),
  description: z.string().nullable(),
  ...windowFields,
});
const Assigned = z.array(AssignedOne);

function toJson(roles: readonly AssignedRole[]): z.input<typeof Assigned> {
  return roles.map(({ id, code, name, description, startsAt, endsAt }) => ({
    id,
    code,
    name,
    description,
    startsAt,
    endsAt,
  }));
}

const readUserRoles = defineRoute({
  method: 'get',
  path: '/api/users/:email/apps/:appCode/roles',
  operation: 'listUserRoles',
  tag: 'Users',
  summary: 'The roles of a user in an application',
  guard: applicationLevel('view'),
  params: MemberParams,
  headers: ['if-none-match'],
  response: Assigned,
  errors: ['NOT_FOUND'],
  handle: async ({ assignments }, { params }) => {
    const { roles, etag } = await assignments.roles(params.appCode, params.email);
    return answer(toJson(roles), { etag });
  },
});

const WindowedRole = z.strictObject({ role: roleCode, ...wantedWindow });

/** A role has one window: named twice it must be by its code alone, or nobody can tell which one is meant. */
function refuseTwoWindows(items: readonly (string | z.output<typeof WindowedRole>)[], context: z.RefinementCtx): void {
  const seen = new Map<string, boolean>();
  items.forEach((item, at) => {
    const code = typeof item === 'string' ? item : item.role;
    const isPlain = typeof item === 'string';
    const before = seen.get(code);
    if (before !== undefined && !(before && isPlain)) {
      context.addIssue({ code: 'custom', path: [at], message: 'repeats a role of an earlier item; send each once' });
    }
    seen.set(code, isPlain && before !== false);
  });
}

const replaceUserRoles = defineRoute({
  method: 'put',
  path: '/api/users/:email/apps/:appCode/roles',
  operation: 'replaceUserRoles',
  tag: 'Users',
  summary: 'Replace the roles of a user in an application',
  description:
    'Works before the user has a record. A role that is held keeps its window, unless the item sends another one. In `auth` only SuperAdmins; a manager of every application may give and take the roles ' +
    '`application_manager` and `panel_admin` there, if they are allowed everything that the change allows.',
  guard: applicationLevel('edit', { delegated: true }),
  refusal: 'user_roles.replaced.refused',
  dryRun: true,
  params: MemberParams,
  headers: ['if-match'],
  body: z
    .strictObject({
      roleIds: z.array(id).max(1000).optional(),
      roles: z
        .array(z.union([roleCode, WindowedRole]))
        .max(1000)
        .superRefine(refuseTwoWindows)
        .optional()
        .meta({ description: 'Codes, instead of the ids, or items with a window.' }),
    })
    .refine(({ roleIds, roles }) => roleIds !== undefined || roles !== undefined, {
      path: ['roleIds'],
      message: 'is required: send roleIds, or roles (their codes)',
    })
    .refine(({ roleIds, roles }) => roleIds === undefined || roles === undefined, {
      path: ['roles'],
      message: 'send either roles or roleIds',
    }),
  limit: 'list',
  response: Assigned,
  errors: ['NOT_FOUND', 'FORBIDDEN', 'UNKNOWN_REFERENCE', 'STALE', 'UPGRADE_UNFINISHED'],
  example: { body: { roles: ['accountant', { role: 'reader', endsAt: '2026-12-04T18:00:00+01:00' }] } },
  handle: async ({ assignments }, input) => {
    const { appCode, email } = input.params;
    const ifMatch = input.header('if-match');
    const { result, revision } = await assignments.replaceRoles(
      appCode,
      email,
      wantedRoles(input.body),
      ifMatch,
      input,
    );
    return answer(toJson(result.roles), { etag: result.etag, revision });
  },
});

function wantedRoles(body: {
  roleIds?: number[] | undefined;
  roles?: (string | z.output<typeof WindowedRole>)[] | undefined;
}): WantedRoles {
  if (body.roles !== undefined) return { field: 'roles', roles: body.roles.map(wantedRole) };
  return { field: 'roleIds', roles: (body.roleIds ?? []).map((reference) => ({ reference })) };
}

function wantedRole(item: string | z.output<typeof WindowedRole>): WantedRoles['roles'][number] {
  if (typeof item === 'string') return { reference: item };
  const { role, ...window } = item;
  return { reference: role, ...window };
}

const DELEGATION =
  'Works before the user has a record. In `auth` only SuperAdmins, and managers of every application within the same limits as for the replacement.';

const addUserRole = defineRoute({
  method: 'post',
  path: '/api/users/:email/apps/:appCode/roles',
  operation: 'assignRole',
  tag: 'Users',
  summary: 'Give a user one role in an application',
  description: `Keeps the other roles, even under concurrent writes; 200 when the user already holds the role: then a window that is sent is changed. ${DELEGATION}`,
  guard: applicationLevel('edit', { delegated: true }),
  refusal: 'assignment.created.refused',
  dryRun: true,
  params: MemberParams,
  body: z
    .strictObject({
      roleId: id.optional(),
      role: roleCode.optional().meta({ description: 'The code, instead of the id.' }),
      ...wantedWindow,
    })
    .refine(({ roleId, role }) => (roleId === undefined) !== (role === undefined), {
      path: ['role'],
      message: 'send either role (its code) or roleId',
    }),
  status: [201, 200],
  response: AssignedOne,
  errors: ['NOT_FOUND', 'FORBIDDEN', 'UNKNOWN_REFERENCE', 'UPGRADE_UNFINISHED'],
  example: { body: { role: 'accountant', endsAt: '2026-12-04T18:00:00+01:00' } },
  handle: async ({ assignments }, input) => {
    const { appCode, email } = input.params;
    const { roleId, role, ...window } = input.body;
    const reference = roleId ?? role;
    if (reference === undefined) throw new Error('the schema requires role or roleId');
    const { result, revision } = await assignments.addRole(appCode, email, { reference, ...window }, input);
    const [added] = toJson([result.role]);
    const location = `/api/users/${encodeURIComponent(email)}/apps/${appCode}/roles/${encodeURIComponent(result.role.code)}`;
    return answer(added as z.input<typeof AssignedOne>, {
      revision,
      ...(result.made ? { status: 201, location } : { status: 200 }),
    });
  },
});

const removeUserRole = defineRoute({
  method: 'delete',
  path: '/api/users/:email/apps/:appCode/roles/:roleCode',
  operation: 'revokeRole',
  tag: 'Users',
  summary: 'Take one role in an application from a user',
  description: 'Leaves the other roles alone, even under concurrent writes. 404 when the user does not hold it.',
  guard: applicationLevel('edit', { delegated: true }),
  refusal: 'assignment.removed.refused',
  dryRun: true,
  params: z.strictObject({ ...MemberParams.shape, roleCode: z.string().meta({ description: "The role's code." }) }),
  errors: ['NOT_FOUND', 'FORBIDDEN'],
  handle: async ({ assignments }, input) => {
    const { appCode, email, roleCode } = input.params;
    return removed(await assignments.removeRole(appCode, email, roleCode, input));
  },
});

const Holder = record('RoleHolder', {
  id,
  email: z.string(),
  displayName: z.string().nullable(),
  registered: z.boolean().meta({ description: 'Whether the address has a record, or was only mentioned.' }),
  active: z.boolean(),
  assignedAt: timestamp,
  ...windowFields,
});

const listHolders = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/roles/:roleId/users',
  operation: 'listRoleHolders',
  tag: 'Roles',
  summary: 'List the holders of a role',
  guard: applicationLevel('view'),
  params: z.strictObject({ ...AppParams.shape, roleId: idParam }),
  query: z.strictObject({ ...pageParams('role-users'), q: search }),
  envelope: pagedData,
  response: pageSchema(Holder),
  errors: ['NOT_FOUND'],
  handle: async ({ assignments }, { params, query }) => {
    const page = await assignments.holders(params.appCode, params.roleId, { ...pageOf(query), search: query.q });
    return paged('role-users', page, (holder) => holder);
  },
});

const MAX_MOVES = 1000;

const Newcomer = z.strictObject({ email, ...wantedWindow });
const nameOf = (item: string | z.output<typeof Newcomer>): string => (typeof item === 'string' ? item : item.email);

const changeHolders = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/roles/:roleId/users',
  operation: 'changeRoleHolders',
  tag: 'Roles',
  summary: 'Give a role to people, and take it from others',
  description: `In one transaction. Works before they have records. Of people who already hold the role a window that is sent is changed; others, and those who do not hold what is taken away, stay as they are and are not counted. In \`auth\` only SuperAdmins, and managers of every application within the same limits as for the roles of one user.`,
  guard: applicationLevel('edit', { delegated: true }),
  refusal: 'role_users.changed.refused',
  dryRun: true,
  params: z.strictObject({ ...AppParams.shape, roleId: idParam }),
  body: z
    .strictObject({
      add: z
        .array(z.union([email, Newcomer]))
        .max(MAX_MOVES)
        .optional()
        .meta({ description: 'Who is to hold the role: addresses, or items with a window.' }),
      remove: z
        .array(email)
        .max(MAX_MOVES)
        .optional()
        .meta({ description: `Who is not to hold it. Together with \`add\` at most ${MAX_MOVES}.` }),
    })
    .superRefine(({ add, remove }, context) => {
      const refuse = (path: (string | number)[], message: string) =>
        context.addIssue({ code: 'custom', path, message });
      if (add === undefined && remove === undefined) refuse(['add'], 'is required: send add, remove, or both');
      const [adding, removing] = [new Set(add?.map(nameOf)), remove ?? []];
      add?.forEach((item, at) => {
        const first = add.findIndex((one) => nameOf(one) === nameOf(item));
        if (first < at && (typeof item !== 'string' || typeof add[first] !== 'string')) {
          refuse(['add', at], 'repeats an address of an earlier item; send each once');
        }
      });
      if ((add?.length ?? 0) + removing.length > MAX_MOVES) {
        refuse(['remove'], `must have at most ${MAX_MOVES} addresses together with add`);
      }
      const both = removing.findIndex((address) => adding.has(address));
      if (both >= 0) refuse(['remove', both], 'is in add, too; send each person in one of them');
    }),
  limit: 'list',
  response: z.strictObject({
    added: z.int().nonnegative().meta({ description: 'How many people were given the role.' }),
    changed: z
      .int()
      .positive()
      .optional()
      .meta({ description: 'How many held it and have another window now; absent for none.' }),
    removed: z.int().nonnegative().meta({ description: 'From how many it was taken.' }),
  }),
  errors: ['NOT_FOUND', 'FORBIDDEN', 'UPGRADE_UNFINISHED'],
  example: {
    body: {
      add: ['ben@example.com', { email: 'dan@example.com', endsAt: '2026-12-04T18:00:00+01:00' }],
      remove: ['clara@example.com'],
    },
    response: { added: 2, removed: 1 },
  },
  handle: async ({ assignments }, input) => {
    const { appCode, roleId } = input.params;
    const { add = [], remove = [] } = input.body;
    const wanted = { add: add.map((one) => (typeof one === 'string' ? { email: one } : one)), remove };
    const { result, revision } = await assignments.changeHolders(appCode, roleId, wanted, input);
    const { changed, ...counts } = result;
    return answer(changed === 0 ? counts : { ...counts, changed }, { revision });
  },
});

export const assignmentRoutes: readonly Route[] = [
  readUserRoles,
  replaceUserRoles,
  addUserRole,
  removeUserRole,
  listHolders,
  changeHolders,
];
