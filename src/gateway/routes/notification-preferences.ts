/** What a signed-in user wants to be notified about (docs/reference/notifications.md#preferences). */

import { z } from 'zod';
import { codeResponse, successData } from '../route/envelopes.ts';
import { AppParams, id, idParam } from '../route/fields.ts';
import { signedIn } from '../route/guards.ts';
import { defineRoute, type Route } from '../route/route.ts';

const Preference = z.strictObject({
  notificationTypeId: id,
  code: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  emailEnabled: z.boolean().meta({ description: 'Whether mail of this type goes out at all.' }),
  pushEnabled: z.boolean().meta({ description: 'Whether pushes of this type go out at all.' }),
  userCanDisable: z.boolean().meta({ description: 'False: hide or lock the switches.' }),
  email: z.boolean(),
  push: z.boolean(),
});

const listPreferences = defineRoute({
  method: 'get',
  path: '/api/profile/me/notifications/:appCode',
  tag: 'Inbox',
  summary: "The caller's switches for every notification type of an application",
  guard: signedIn,
  params: AppParams,
  envelope: codeResponse,
  status: 200,
  response: z.array(Preference),
  errors: ['NOT_FOUND'],
  handle: ({ notificationPreferences }, { params, caller }) =>
    notificationPreferences.list(caller.email, params.appCode),
});

const changePreferences = defineRoute({
  method: 'put',
  path: '/api/profile/me/notifications/preferences/bulk',
  tag: 'Inbox',
  summary: 'Change switches of several notification types',
  description: 'All or nothing. Answers what was changed, as it is now.',
  guard: signedIn,
  body: z.strictObject({
    updates: z
      .array(z.strictObject({ notificationTypeId: id, email: z.boolean().optional(), push: z.boolean().optional() }))
      .max(1000)
      .refine((all) => new Set(all.map(({ notificationTypeId }) => notificationTypeId)).size === all.length, {
        message: 'must name each type once',
      }),
  }),
  limit: 'list',
  envelope: successData,
  status: 200,
  response: z.array(Preference),
  errors: ['PREFERENCE_LOCKED', 'UNKNOWN_REFERENCE'],
  example: { body: { updates: [{ notificationTypeId: 3, email: false }] } },
  handle: ({ notificationPreferences }, { body, caller }) =>
    notificationPreferences.changeAll(caller.email, body.updates),
});

const changePreference = defineRoute({
  method: 'put',
  path: '/api/profile/me/notifications/preferences/:notificationTypeId',
  tag: 'Inbox',
  summary: 'Change the switches of one notification type',
  guard: signedIn,
  params: z.strictObject({ notificationTypeId: idParam }),
  body: z.strictObject({ email: z.boolean().optional(), push: z.boolean().optional() }),
  envelope: successData,
  status: 200,
  response: Preference,
  errors: ['NOT_FOUND', 'PREFERENCE_LOCKED'],
  example: { body: { email: false } },
  handle: ({ notificationPreferences }, { params, body, caller }) =>
    notificationPreferences.change(caller.email, { ...body, ...params }),
});

export const notificationPreferenceRoutes: readonly Route[] = [listPreferences, changePreferences, changePreference];
