/** Notification preferences of a signed-in user (docs/reference/notifications.md#preferences). */

import { z } from 'zod';
import { refuseImmutable } from '../../administration/records.ts';
import { perChannel } from '../../base/channels.ts';
import { eachEnabled } from '../route/channels.ts';
import { codeResponse } from '../route/envelopes.ts';
import { AppParams, id, idParam, readOnly } from '../route/fields.ts';
import { signedIn } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const Preference = record('NotificationPreference', {
  notificationTypeId: id,
  code: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  ...eachEnabled(({ noun, verb }) =>
    z.boolean().meta({ description: `Whether ${noun} of this type ${verb} out at all.` }),
  ),
  userCanDisable: z.boolean().meta({ description: 'False: hide or lock the switches.' }),
  ...perChannel(() => z.boolean()),
});

/** Fields of a write: the switches, and the other fields as read, so that a client can get, change and put. */
const changes = {
  ...perChannel(() => z.boolean().optional()),
  code: z.string().optional().meta({ description: "Cannot be changed; only the type's own may be sent." }),
  name: readOnly,
  description: readOnly,
  ...eachEnabled(() => readOnly),
  userCanDisable: readOnly,
};

const listPreferences = defineRoute({
  method: 'get',
  path: '/api/profile/me/notifications/:appCode',
  operation: 'listMyNotificationPreferences',
  tag: 'Inbox',
  summary: "The caller's switches for every notification type of an application",
  guard: signedIn,
  params: AppParams,
  envelope: codeResponse,
  response: z.array(Preference),
  errors: ['NOT_FOUND'],
  handle: ({ notificationPreferences }, { params, caller }) =>
    notificationPreferences.list(caller.email, params.appCode),
});

const changePreferences = defineRoute({
  method: 'put',
  path: '/api/profile/me/notifications/preferences/bulk',
  operation: 'updateMyNotificationPreferences',
  tag: 'Inbox',
  summary: 'Change switches of several notification types',
  description: 'All or nothing. Returns the changed types.',
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
  response: z.array(Preference),
  errors: ['PREFERENCE_LOCKED', 'UNKNOWN_REFERENCE', 'IMMUTABLE_FIELD'],
  example: { body: { updates: [{ notificationTypeId: 3, email: false }] } },
  handle: ({ notificationPreferences }, { body, caller }) =>
    notificationPreferences.changeAll(caller.email, body.updates),
});

const changePreference = defineRoute({
  method: 'put',
  path: '/api/profile/me/notifications/preferences/:notificationTypeId',
  operation: 'updateMyNotificationPreference',
  tag: 'Inbox',
  summary: 'Change the switches of one notification type',
  guard: signedIn,
  params: z.strictObject({ notificationTypeId: idParam }),
  body: z.strictObject({
    ...changes,
    notificationTypeId: id.optional().meta({ description: 'Cannot be changed; only the one in the path may be sent.' }),
  }),
  response: Preference,
  errors: ['NOT_FOUND', 'PREFERENCE_LOCKED', 'IMMUTABLE_FIELD'],
  example: { body: { email: false } },
  handle: ({ notificationPreferences }, { params, body, caller }) => {
    refuseImmutable('notificationTypeId', params.notificationTypeId, body.notificationTypeId);
    return notificationPreferences.change(caller.email, { ...body, ...params });
  },
});

export const notificationPreferenceRoutes: readonly Route[] = [listPreferences, changePreferences, changePreference];
