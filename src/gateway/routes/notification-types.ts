/** Notification types of an application (docs/reference/notifications.md#types). */

import { z } from 'zod';
import { DEFAULT_FIELDS, recordOf, TYPE_SWITCHES } from '../../base/channels.ts';
import { eachEnabled } from '../route/channels.ts';
import { AppParams, description, id, idParam, line, name, readOnly, slug, timestamp } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route, removed, written } from '../route/route.ts';

const NotificationType = record('NotificationType', {
  id,
  code: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  ...recordOf(TYPE_SWITCHES, () => z.boolean()),
  system: z.boolean(),
  emailFromName: z.string().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

const fields = {
  name,
  description: description.optional(),
  ...eachEnabled(({ noun, verb }) =>
    z
      .boolean()
      .optional()
      .meta({ description: `Whether ${noun} ${verb} out at all; true without it.` }),
  ),
  userCanDisable: z.boolean().optional().meta({
    description: 'False: the defaults apply to everybody, regardless of preferences for the type or the application.',
  }),
  ...recordOf(DEFAULT_FIELDS, () =>
    z.boolean().optional().meta({ description: 'The switch of a user who has not chosen.' }),
  ),
  selfServiceEnabled: z.boolean().optional(),
  system: z.boolean().optional().meta({
    description: 'True for types that the service itself needs. Cannot be changed; only the current value may be sent.',
  }),
  emailFromName: line(200)
    .nullable()
    .optional()
    .meta({ description: "Displayed instead of the brand's sender name; the address stays the brand's." }),
};

const TypeParams = z.strictObject({ ...AppParams.shape, id: idParam });
const PATH = '/api/applications/:appCode/notification-types';

const listTypes = defineRoute({
  method: 'get',
  path: PATH,
  operation: 'listNotificationTypes',
  tag: 'Notifications',
  summary: 'All notification types of an application',
  guard: applicationLevel('view'),
  params: AppParams,
  response: z.array(NotificationType),
  errors: ['NOT_FOUND'],
  handle: ({ notificationTypes }, { params }) => notificationTypes.list(params.appCode),
});

const createType = defineRoute({
  method: 'post',
  path: PATH,
  operation: 'createNotificationType',
  tag: 'Notifications',
  summary: 'Create a notification type',
  guard: applicationLevel('edit'),
  refusal: 'notification_type.created.refused',
  params: AppParams,
  body: z.strictObject({ code: slug, ...fields }),
  status: 201,
  response: NotificationType,
  errors: ['NOT_FOUND', 'ALREADY_EXISTS', 'IMMUTABLE_FIELD'],
  example: { body: { code: 'invoice-due', name: 'Invoice due', defaultPush: false } },
  handle: async ({ notificationTypes }, input) => {
    const { appCode } = input.params;
    const { result, revision } = await notificationTypes.create(appCode, input.body, input);
    return answer(result, {
      revision,
      location: `/api/applications/${appCode}/notification-types/${result.id}`,
    });
  },
});

const changeType = defineRoute({
  method: 'put',
  path: `${PATH}/:id`,
  operation: 'updateNotificationType',
  tag: 'Notifications',
  summary: 'Change a notification type',
  description: 'The switches of `auth_idp`, which sends codes of the identity provider, cannot be changed.',
  guard: applicationLevel('edit'),
  refusal: 'notification_type.changed.refused',
  params: TypeParams,
  body: z.strictObject({
    ...fields,
    name: name.optional(),
    code: slug.optional().meta({ description: 'Cannot be changed; only the current one may be sent.' }),
    id: readOnly,
    createdAt: readOnly,
    updatedAt: readOnly,
  }),
  response: NotificationType,
  errors: ['NOT_FOUND', 'IMMUTABLE_FIELD', 'SYSTEM_RECORD'],
  example: { body: { defaultPush: true, emailFromName: 'Billing' } },
  handle: async ({ notificationTypes }, input) => {
    const { appCode, id: type } = input.params;
    return written(await notificationTypes.change(appCode, type, input.body, input));
  },
});

const deleteType = defineRoute({
  method: 'delete',
  path: `${PATH}/:id`,
  operation: 'deleteNotificationType',
  tag: 'Notifications',
  summary: 'Delete a notification type',
  guard: applicationLevel('edit'),
  refusal: 'notification_type.deleted.refused',
  params: TypeParams,
  errors: ['NOT_FOUND', 'SYSTEM_RECORD', 'TYPE_IN_USE'],
  handle: async ({ notificationTypes }, input) =>
    removed(await notificationTypes.delete(input.params.appCode, input.params.id, input)),
});

export const notificationTypeRoutes: readonly Route[] = [listTypes, createType, changeType, deleteType];
