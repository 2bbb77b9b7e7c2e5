/** Users for administrators, and what users may administer themselves (docs/reference/administration.md#users). */

import { z } from 'zod';
import type { ListedUser, MembershipRow, PeopleOrder, PersonPlace, UserQuery } from '../../directory/users.ts';
import { Level } from '../../engine/types.ts';
import { codeResponse } from '../route/envelopes.ts';
import {
  applicationCode,
  EmailParams,
  email,
  endingWithinDays,
  flagParam,
  id,
  line,
  permissionCode,
  roleCode,
  search,
  timestamp,
  windowFields,
} from '../route/fields.ts';
import { anyAdministrator, signedIn, superAdmin } from '../route/guards.ts';
import { keyedPage, orderedPageParams, paged, pagedData, pageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import type { Services } from '../services.ts';
import { Profile } from './profile.ts';

const isSuperAdmin = z.boolean().optional().meta({ description: 'Included for SuperAdmins only.' });
const registered = z.boolean().meta({ description: 'Whether the address has a record, or was only mentioned.' });
const movedTo = z
  .string()
  .nullable()
  .meta({ description: 'The address to which the person was moved; this one stays, inactive.' });
const blocked = z
  .boolean()
  .meta({ description: 'By an administrator; deactivation at the identity provider is a separate flag.' });

const User = record('User', {
  id,
  email: z.string(),
  displayName: z.string().nullable(),
  active: z.boolean(),
  blocked,
  registered,
  movedTo,
  isSuperAdmin,
  brand: z.string().nullable(),
  createdAt: timestamp,
  lastLoginAt: timestamp.nullable(),
  roles: z
    .array(z.string())
    .optional()
    .meta({ description: 'The roles that count now of the person in `appCode`, where that is asked about.' }),
  roleWindows: z
    .array(z.object({ code: z.string(), ...windowFields }))
    .optional()
    .meta({ description: 'Of those roles the ones with a beginning or an end, to come included.' }),
});

function toJson({ superadmin, roles, ...row }: ListedUser, bySuperadmin: boolean): z.input<typeof User> {
  return {
    ...row,
    ...(roles === undefined ? {} : { roles: [...roles] }),
    ...(bySuperadmin ? { isSuperAdmin: superadmin } : {}),
  };
}

const LIST = 'users';

/** The order of the list, the key of a place in it, and the person. */
const Place = z.union([
  z.tuple([z.literal('email'), email, id]),
  z.tuple([z.literal('createdAt'), timestamp, id]),
  z.tuple([z.literal('lastLoginAt'), timestamp.nullable(), id]),
]);

/** Of a filter. */
const MAX_ROLES = 20;

const UsersQuery = z
  .strictObject({
    ...orderedPageParams(LIST, Place),
    q: search,
    active: flagParam.optional().meta({ description: 'Only active users, or only inactive ones.' }),
    appCode: applicationCode.optional().meta({ description: 'Only users of this application.' }),
    role: z
      .string()
      .transform((text) => text.split(','))
      .pipe(z.array(roleCode).max(MAX_ROLES))
      .optional()
      .meta({
        description: 'Only holders of this role of `appCode`: its code. Several with commas between: holders of any.',
      }),
    permission: permissionCode.optional().meta({
      description:
        'Everybody to whom this permission of `appCode` is allowed without a resource: its code. Administrators of the application and SuperAdmins are included.',
    }),
    orphan: z
      .literal('true')
      .optional()
      .meta({ description: 'Only inactive users who still hold a role, an override or an administration.' }),
    endingWithinDays: endingWithinDays.meta({
      description:
        'Only people with a role, an override or the administration of `appCode` that ends within that number of days, 1 to 365.',
    }),
    sort: z.enum(['email', 'createdAt', 'lastLoginAt']).optional().meta({
      description: 'By address, or by date: the newest first, without a date last. Default: first mentioned first.',
    }),
  })
  .superRefine(({ appCode, role, permission, endingWithinDays: days, sort, cursor }, context) => {
    const issue = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (role !== undefined && appCode === undefined) issue('role', 'needs appCode');
    if (permission !== undefined && appCode === undefined) issue('permission', 'needs appCode');
    if (days !== undefined && appCode === undefined) issue('endingWithinDays', 'needs appCode');
    const order = typeof cursor === 'object' ? cursor[0] : undefined;
    if (cursor !== undefined && order !== sort) issue('cursor', 'is not a cursor of this order of the list');
  });

function placeOf([order, key, person]: z.output<typeof Place>): PersonPlace {
  return { key: order === 'email' || key === null ? key : new Date(key), id: person };
}

function keyOf(order: PeopleOrder, { key, id: person }: PersonPlace) {
  return [order, key instanceof Date ? key.toISOString() : key, person];
}

function filterOf(query: z.output<typeof UsersQuery>): UserQuery {
  const { q, active = null, appCode = null, role: roles = null, permission = null, orphan } = query;
  const { endingWithinDays: days = null } = query;
  return { search: q, active, appCode, roles, permission, orphan: orphan !== undefined, endingWithinDays: days };
}

const listUsers = defineRoute({
  method: 'get',
  path: '/api/users',
  operation: 'listUsers',
  tag: 'Users',
  summary: 'Known addresses',
  description:
    'In the order in which they were first mentioned, or sorted. Filters narrow the list together. Callers other than SuperAdmins see users of the ' +
    'applications that they may view: with a role, an override, preferences, a login or the administration of one.',
  guard: anyAdministrator,
  query: UsersQuery,
  envelope: pagedData,
  response: pageSchema(User),
  errors: ['NO_APPLICATION_LEVEL', 'NOT_FOUND', 'UNKNOWN_CODE'],
  dear: ['q', 'sort', 'permission', 'orphan', 'endingWithinDays'],
  handle: async (services, { caller, query, signal }) => {
    const { users } = services;
    const { limit, cursor, sort } = query;
    const filter = filterOf(query);
    const toAnswer = async () => {
      if (sort === undefined) {
        const after = typeof cursor === 'number' ? cursor : null;
        const page = await users.list(caller.email, filter, { limit, after });
        return paged(LIST, page, (row) => toJson(row, page.bySuperadmin));
      }
      const after = typeof cursor === 'object' ? placeOf(cursor) : null;
      const page = await users.sorted(caller.email, filter, { order: sort, limit, after });
      const next = page.next === null ? null : keyOf(sort, page.next);
      return keyedPage(LIST, { ...page, next }, (row) => toJson(row, page.bySuperadmin));
    };
    const found = await toAnswer();
    await refuseMisspelt(services, filter, caller.email, signal);
    return found;
  },
});

/** UNKNOWN_CODE as a check of that permission, for who may see the application: the list was read before. */
async function refuseMisspelt(
  { engine }: Pick<Services, 'engine'>,
  { appCode, permission }: UserQuery,
  reader: string,
  signal: AbortSignal,
): Promise<void> {
  if (appCode === null || permission === null) return;
  await engine.check({ email: reader, app: appCode, permission, resourceType: '', resourceId: '' }, { signal });
}

const Membership = record('Membership', {
  appCode: z.string(),
  firstLoginAt: timestamp.nullable(),
  lastLoginAt: timestamp.nullable(),
  loginCount: z.int().nonnegative(),
  lastActivityAt: timestamp.nullable(),
  roles: z.array(z.string()),
});

const UserDetail = record('UserDetail', {
  ...Profile.shape,
  brand: Profile.shape.brand.nullable(),
  active: z.boolean(),
  blocked,
  registered,
  movedTo,
  isSuperAdmin,
  appAdminFor: z.array(z.string()),
  applications: z.array(Membership),
});

function shownMembership(row: MembershipRow): z.input<typeof Membership> {
  const { appCode, firstLoginAt, lastLoginAt, loginCount, lastActivityAt, roles } = row;
  return { appCode, firstLoginAt, lastLoginAt, loginCount, lastActivityAt, roles };
}

const readUser = defineRoute({
  method: 'get',
  path: '/api/users/:email',
  operation: 'getUser',
  tag: 'Users',
  summary: 'A user with logins and roles',
  description: 'Limited to the applications that the caller may view; the user must be in one of them.',
  guard: anyAdministrator,
  params: EmailParams,
  response: UserDetail,
  errors: ['NO_APPLICATION_LEVEL', 'NOT_FOUND'],
  handle: async ({ users }, { caller, params }) => {
    const { bySuperadmin, user, profile, memberships } = await users.read(caller.email, params.email);
    return {
      ...profile,
      active: user.active,
      blocked: user.blocked,
      registered: user.registered,
      movedTo: user.movedTo,
      ...(bySuperadmin ? { isSuperAdmin: user.superadmin } : {}),
      appAdminFor: memberships.filter(({ admin }) => admin).map(({ appCode }) => appCode),
      applications: memberships.map(shownMembership),
    };
  },
});

const changeActive = defineRoute({
  method: 'put',
  path: '/api/users/:email/active',
  operation: 'setUserActive',
  tag: 'Users',
  summary: 'Block or unblock a user',
  description:
    'A user is active when active at the identity provider and not blocked by an administrator. This sets the second flag and ' +
    'leaves the first as it is.',
  guard: superAdmin,
  refusal: 'user.blocked.refused',
  dryRun: true,
  params: EmailParams,
  body: z.strictObject({ active: z.boolean() }),
  response: User,
  errors: ['NOT_FOUND', 'LAST_SUPERADMIN'],
  example: { body: { active: false } },
  handle: async ({ users }, input) => {
    const { result, revision } = await users.setActive(input.params.email, input.body.active, input);
    return answer(toJson(result, true), { revision });
  },
});

const clearSubject = defineRoute({
  method: 'delete',
  path: '/api/users/:email/subject',
  operation: 'forgetUserAccount',
  tag: 'Users',
  summary: 'Forget which account of the identity provider an address belongs to',
  description: 'The next token of that address binds it again.',
  guard: superAdmin,
  refusal: 'user.subject_cleared.refused',
  params: EmailParams,
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async ({ users }, input) => {
    const { revision } = await users.clearSubject(input.params.email, input);
    return answer(undefined, { revision });
  },
});

const UserAccount = record('UserAccount', { email: z.string(), issuer: z.string(), subject: z.string() });

const nameAccount = defineRoute({
  method: 'put',
  path: '/api/users/:email/account',
  operation: 'setUserAccount',
  tag: 'Users',
  summary: 'Name the account of the identity provider that an address belongs to',
  description:
    'Where accounts are bound, only tokens of this account are admitted with this address, and they may use its administrative rights.',
  guard: superAdmin,
  refusal: 'user.subject_named.refused',
  params: EmailParams,
  body: z.strictObject({
    issuer: line(2048)
      .optional()
      .meta({ description: 'The claim `iss` of its tokens. Default: the issuer that Usher trusts.' }),
    subject: line(255).meta({ description: 'The claim `sub` of its tokens.' }),
  }),
  response: UserAccount,
  errors: ['NOT_FOUND'],
  example: { body: { subject: '271828182845904523' } },
  handle: async ({ users }, input) => {
    const { result, revision } = await users.nameAccount(input.params.email, input.body, input);
    return answer(result, { revision });
  },
});

const AdminStatus = record('AdminStatus', {
  email: z.string(),
  isSuperAdmin: z.boolean(),
  appAdminFor: z.array(z.string()),
  panelPermissions: z.array(z.string()),
  roles: z.array(z.strictObject({ appCode: z.string(), roleCodes: z.array(z.string()) })),
  applications: z.array(z.strictObject({ appCode: z.string(), level: z.enum(['view', 'edit']) })),
});

const readAdminStatus = defineRoute({
  method: 'get',
  path: '/api/profile/me/admin-status',
  operation: 'getMyAdminStatus',
  tag: 'Profile',
  summary: 'Show what I may administer',
  guard: signedIn,
  envelope: codeResponse,
  response: AdminStatus,
  handle: async ({ adminStatuses }, { caller }) => {
    const status = await adminStatuses.of(caller.email);
    return {
      email: status.email,
      isSuperAdmin: status.superadmin,
      appAdminFor: [...status.appAdminFor],
      panelPermissions: [...status.panelPermissions],
      roles: status.roles.map(({ appCode, roleCodes }) => ({ appCode, roleCodes: [...roleCodes] })),
      applications: status.applications.map(({ code, level }) => {
        return { appCode: code, level: level === Level.EDIT ? ('edit' as const) : ('view' as const) };
      }),
    };
  },
});

export const userRoutes: readonly Route[] = [
  listUsers,
  readUser,
  changeActive,
  clearSubject,
  nameAccount,
  readAdminStatus,
];
