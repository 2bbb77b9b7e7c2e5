/** SuperAdmins and app admins (docs/reference/administration.md#application-administrators). */

import { z } from 'zod';
import { AppParams, EmailParams, email, timestamp, wantedWindow, windowFields } from '../route/fields.ts';
import { applicationLevel, superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route, removed } from '../route/route.ts';

const APP_ADMINS = '/api/users/admins/apps/:appCode';
const SUPERADMINS = '/api/users/admins/super';

const AppAdmin = record('ApplicationAdministrator', { email: z.string(), createdAt: timestamp, ...windowFields });
const Superadmin = record('SuperAdmin', {
  email: z.string(),
  active: z.boolean().meta({ description: 'An inactive SuperAdmin is denied everything.' }),
  createdAt: timestamp,
});
const NewAdministrator = record('NewAdministrator', { email });
const NewAppAdmin = record('ApplicationAdministratorFields', { email, ...wantedWindow });

const listAppAdmins = defineRoute({
  method: 'get',
  path: APP_ADMINS,
  operation: 'listAppAdmins',
  tag: 'Administrators',
  summary: 'List the app admins of an application',
  guard: applicationLevel('view'),
  params: AppParams,
  response: z.array(AppAdmin),
  errors: ['NOT_FOUND'],
  handle: ({ appAdmins }, { params }) => appAdmins.list(params.appCode),
});

const addAppAdmin = defineRoute({
  method: 'post',
  path: APP_ADMINS,
  operation: 'addAppAdmin',
  tag: 'Administrators',
  summary: 'Add an app admin to an application',
  description: '200 if they are one already: then a window that is sent is changed.',
  guard: applicationLevel('edit'),
  refusal: 'app_admin.added.refused',
  dryRun: true,
  params: AppParams,
  body: NewAppAdmin,
  status: [201, 200],
  response: AppAdmin,
  errors: ['NOT_FOUND', 'UPGRADE_UNFINISHED'],
  example: { body: { email: 'nora@example.com', endsAt: '2026-12-04T18:00:00+01:00' } },
  handle: async ({ appAdmins }, input) => {
    const { appCode } = input.params;
    const { email: address, ...window } = input.body;
    const { result, revision } = await appAdmins.add(appCode, address, window, input);
    const place = `/api/users/admins/apps/${appCode}/${encodeURIComponent(address)}`;
    return answer(result.admin, { revision, ...placed(result.made, place) });
  },
});

const removeAppAdmin = defineRoute({
  method: 'delete',
  path: `${APP_ADMINS}/:email`,
  operation: 'removeAppAdmin',
  tag: 'Administrators',
  summary: 'Remove an app admin from an application',
  guard: applicationLevel('edit'),
  refusal: 'app_admin.removed.refused',
  dryRun: true,
  params: z.strictObject({ ...AppParams.shape, ...EmailParams.shape }),
  errors: ['NOT_FOUND'],
  handle: async ({ appAdmins }, input) =>
    removed(await appAdmins.remove(input.params.appCode, input.params.email, input)),
});

const listSuperadmins = defineRoute({
  method: 'get',
  path: SUPERADMINS,
  operation: 'listSuperAdmins',
  tag: 'Administrators',
  summary: 'All SuperAdmins',
  guard: superAdmin,
  response: z.array(Superadmin),
  handle: ({ superadmins }) => superadmins.list(),
});

const addSuperadmin = defineRoute({
  method: 'post',
  path: SUPERADMINS,
  operation: 'addSuperAdmin',
  tag: 'Administrators',
  summary: 'Add a SuperAdmin',
  description: '200 if they are one already.',
  guard: superAdmin,
  refusal: 'superadmin.added.refused',
  dryRun: true,
  body: NewAdministrator,
  status: [201, 200],
  response: Superadmin,
  example: { body: { email: 'ada@example.com' } },
  handle: async ({ superadmins }, input) => {
    const { result, revision } = await superadmins.add(input.body.email, input);
    const place = `${SUPERADMINS}/${encodeURIComponent(input.body.email)}`;
    return answer(result.superadmin, { revision, ...placed(result.made, place) });
  },
});

const removeSuperadmin = defineRoute({
  method: 'delete',
  path: `${SUPERADMINS}/:email`,
  operation: 'removeSuperAdmin',
  tag: 'Administrators',
  summary: 'Remove a SuperAdmin',
  description: 'The last active one cannot be removed.',
  guard: superAdmin,
  refusal: 'superadmin.removed.refused',
  dryRun: true,
  params: EmailParams,
  errors: ['NOT_FOUND', 'LAST_SUPERADMIN'],
  handle: async ({ superadmins }, input) => removed(await superadmins.remove(input.params.email, input)),
});

/** 201 with a location, or 200 without one if it already existed. */
function placed(made: boolean, location: string): { status: number; location?: string } {
  return made ? { status: 201, location } : { status: 200 };
}

export const administratorRoutes: readonly Route[] = [
  listAppAdmins,
  addAppAdmin,
  removeAppAdmin,
  listSuperadmins,
  addSuperadmin,
  removeSuperadmin,
];
