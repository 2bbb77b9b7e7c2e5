/** What a signed-in user wants to be notified about (docs/reference/notifications.md#preferences). */

import { z } from 'zod';
import { refuseImmutable } from '../../administration/records.ts';
import { codeResponse, successData } from '../route/envelopes.ts';
import { AppParams, id, idParam, readOnly } from '../route/fields.ts';
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

/** What a write may send: the switches, and the rest as it was read, so that get, change, put works. */
const changes = {
  email: z.boolean().optional(),
  push: z.boolean().optional(),
  code: z.string().optional().meta({ description: "Cannot be changed; only the type's own may be sent." }),
  name: readOnly,
  description: readOnly,
  emailEnabled: readOnly,
  pushEnabled: readOnly,
  userCanDisable: readOnly,
};

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
      .array(z.strictObject({ notificationTypeId: id, ...changes }))
      .max(1000)
      .refine((all) => new Set(all.map(({ notificationTypeId }) => notificationTypeId)).size === all.length, {
        message: 'must name each type once',
      }),
  }),
  limit: 'list',
  envelope: successData,
  status: 200,
  response: z.array(Preference),
  errors: ['PREFERENCE_LOCKED', 'UNKNOWN_REFERENCE', 'IMMUTABLE_FIELD'],
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
  body: z.strictObject({
    ...changes,
    notificationTypeId: id.optional().meta({ description: 'Cannot be changed; only that of the path may be sent.' }),
  }),
  envelope: successData,
  status: 200,
  response: Preference,
  errors: ['NOT_FOUND', 'PREFERENCE_LOCKED', 'IMMUTABLE_FIELD'],
  example: { body: { email: false } },
  handle: ({ notificationPreferences }, { params, body, caller }) => {
    refuseImmutable('notificationTypeId', params.notificationTypeId, body.notificationTypeId);
    return notificationPreferences.change(caller.email, { ...body, ...params });
  },
});

export const notificationPreferenceRoutes: readonly Route[] = [listPreferences, changePreferences, changePreference];
