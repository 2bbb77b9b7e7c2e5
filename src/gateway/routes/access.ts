/** Everything that one person has access to, and why (docs/reference/lists.md#access-of-a-person). */

import { z } from 'zod';
import { LEVEL_NAMES, SOURCE_NAMES } from '../../base/level-names.ts';
import type { AccessAnswer, PersonAccess } from '../../directory/access.ts';
import { reached } from '../../engine/bulk.ts';
import { parseRevision } from '../../engine/question.ts';
import { ANY_REVISION, Level } from '../../engine/types.ts';
import type { Asking } from '../questions/ask.ts';
import { accessLevel, grantingSource, heldOnly } from '../questions/fields.ts';
import { bare } from '../route/envelopes.ts';
import { EmailParams, timestamp, windowFields } from '../route/fields.ts';
import { anyAdministrator, signedIn } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import type { Services } from '../services.ts';

const ApplicationAccess = record('ApplicationAccess', {
  code: z.string(),
  name: z.string(),
  level: z.enum(['app_admin', 'member']),
  roles: z.array(z.string()).meta({ description: 'Those that count now.' }),
  roleWindows: z
    .array(z.object({ code: z.string(), ...windowFields }))
    .meta({ description: 'Of the roles with a beginning or an end, to come included.' }),
  permissions: z
    .array(z.object({ code: z.string(), accessLevel, source: grantingSource }))
    .meta({ description: 'What is held without a record, by code.' }),
  overrides: z
    .array(
      z.object({
        resourceType: z.string(),
        resourceId: z.string(),
        permission: z.string(),
        granted: z.boolean(),
        accessLevel: accessLevel.nullable(),
        ...windowFields,
      }),
    )
    .meta({ description: 'The first 200, by record.' }),
  moreOverrides: z.int().nonnegative().meta({ description: 'The number of overrides beyond those.' }),
  lastLoginAt: timestamp.nullable(),
});

const Access = record('Access', {
  email: z.string(),
  active: z.boolean(),
  isSuperAdmin: z.boolean().optional().meta({ description: 'Included for SuperAdmins and for users themselves.' }),
  applications: z.array(ApplicationAccess).meta({
    description: 'Applications where the user has a role, an override, the administration or a login, by code.',
  }),
});

const EXAMPLE: z.output<typeof Access> = {
  email: 'ben@example.com',
  active: true,
  isSuperAdmin: false,
  applications: [
    {
      code: 'atelier',
      name: 'Atelier',
      level: 'member',
      roles: ['designer'],
      roleWindows: [{ code: 'designer', startsAt: null, endsAt: '2026-12-04T17:00:00.000Z' }],
      permissions: [{ code: 'project.access', accessLevel: 'edit', source: 'role' }],
      overrides: [
        {
          resourceType: 'project',
          resourceId: '1042',
          permission: 'project.archive',
          granted: true,
          accessLevel: null,
          startsAt: null,
          endsAt: null,
        },
      ],
      moreOverrides: 0,
      lastLoginAt: '2026-03-01T08:00:00.000Z',
    },
  ],
};

function toJson({ email, active, superadmin, applications }: PersonAccess): z.input<typeof Access> {
  return {
    email,
    active,
    ...(superadmin === undefined ? {} : { isSuperAdmin: superadmin }),
    applications: applications.map(
      ({ code, name, admin, roles, roleWindows, permissions, overrides, moreOverrides, lastLoginAt }) => ({
        code,
        name,
        level: admin ? 'app_admin' : 'member',
        roles: [...roles],
        roleWindows,
        permissions: permissions.map(({ code: permission, decision }) => {
          return {
            code: permission,
            accessLevel: heldOnly(LEVEL_NAMES[decision.level]),
            source: heldOnly(SOURCE_NAMES[decision.source]),
          };
        }),
        overrides: overrides.map(({ level, ...override }) => {
          return { ...override, granted: level !== Level.NONE, accessLevel: LEVEL_NAMES[level] };
        }),
        moreOverrides,
        lastLoginAt,
      }),
    ),
  };
}

/** The answer, at least as fresh as the request asks: the database has reached that revision before it is read. */
async function fresh({ engine }: Services, asking: Asking, read: () => Promise<AccessAnswer>) {
  const text = asking.header('usher-min-revision');
  await reached(engine, text === undefined ? ANY_REVISION : parseRevision(text));
  const { access, revision, etag } = await read();
  return answer(toJson(access), { revision, etag });
}

const myAccess = defineRoute({
  method: 'get',
  path: '/api/profile/me/access',
  operation: 'listMyAccess',
  tag: 'Profile',
  summary: 'List my access in every application',
  description: 'Roles, permissions that need no record, overrides, and the last login.',
  guard: signedIn,
  headers: ['usher-min-revision', 'if-none-match'],
  envelope: bare,
  response: Access,
  errors: ['UNKNOWN_REVISION'],
  example: { response: EXAMPLE },
  dear: true,
  handle: (services, input) => fresh(services, input, () => services.access.own(input.caller.email)),
});

const userAccess = defineRoute({
  method: 'get',
  path: '/api/users/:email/access',
  operation: 'listUserAccess',
  tag: 'Users',
  summary: 'List the access of a user in every application',
  description:
    'Roles, permissions that need no record, overrides, and the last login, in the applications that the caller may view; others are left out.',
  guard: anyAdministrator,
  params: EmailParams,
  headers: ['usher-min-revision', 'if-none-match'],
  response: Access,
  errors: ['UNKNOWN_REVISION', 'NO_APPLICATION_LEVEL', 'NOT_FOUND'],
  example: { response: EXAMPLE },
  dear: true,
  handle: (services, input) => fresh(services, input, () => services.access.of(input.caller.email, input.params.email)),
});

export const accessRoutes: readonly Route[] = [myAccess, userAccess];
