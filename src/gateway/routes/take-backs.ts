/** Taking back notifications that have not left (docs/reference/notifications.md#taking-back). */

import { z } from 'zod';
import { LIMITS } from '../../base/grammar.ts';
import { AppParams, email, flagParam, id, idParam, slug } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const count = z.int().nonnegative();

const counts = {
  notifications: count.meta({ description: 'Notifications of which a delivery was taken back.' }),
  cancelled: count.meta({ description: 'Deliveries that this call took back: they never leave.' }),
  leaving: count.meta({
    description: 'Deliveries that a worker is handing over: each leaves now or never, as the log says soon after.',
  }),
  left: count.meta({ description: 'Deliveries that had left before.' }),
  withdrawn: count.meta({ description: 'Unread items that were taken out of inboxes.' }),
};

const TakenBack = record('TakenBack', counts);
const TakenBackOfSeveral = record('TakenBackOfSeveral', {
  ...counts,
  more: z
    .boolean()
    .meta({ description: 'Whether others wait: at most 10,000 are taken back at once, the oldest first.' }),
});

const query = z.strictObject({
  withdraw: flagParam
    .optional()
    .meta({ description: 'True: unread items leave the inboxes, too. By default they stay.' }),
});

const DESCRIPTION =
  'What waits becomes `skipped`, reason `cancelled`; what has left stays. Repeating it changes nothing more.';

const takeBackOne = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/notifications/:id/cancel',
  operation: 'cancelNotification',
  tag: 'Notifications',
  summary: 'Take back what has not left of a notification',
  description: DESCRIPTION,
  guard: applicationLevel('edit'),
  refusal: 'notification.cancelled.refused',
  params: z.strictObject({ ...AppParams.shape, id: idParam }),
  query,
  response: TakenBack,
  errors: ['NOT_FOUND'],
  handle: ({ takeBacks }, input) =>
    takeBacks.one(input.params.appCode, input.params.id, input.query.withdraw === true, input),
});

const takeBackSeveral = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/notifications/cancel',
  operation: 'cancelNotifications',
  tag: 'Notifications',
  summary: 'Take back what has not left of several notifications',
  description: `${DESCRIPTION} Either the notifications that a send has answered (\`ids\`), or all that wait for a delivery (\`waiting\`).`,
  guard: applicationLevel('edit'),
  refusal: 'notification.cancelled.refused',
  params: AppParams,
  query,
  body: z
    .strictObject({
      ids: z.array(id).min(1).max(LIMITS.recipients).optional(),
      waiting: z
        .strictObject({
          type: slug.optional().meta({ description: 'The code of a notification type.' }),
          email: email.optional().meta({ description: 'Only those of this person.' }),
        })
        .optional()
        .meta({ description: 'All that wait in the application, or those that fit.' }),
    })
    .refine(({ ids, waiting }) => (ids === undefined) !== (waiting === undefined), {
      message: 'must have either ids or waiting',
    }),
  limit: 'list',
  response: TakenBackOfSeveral,
  errors: ['NOT_FOUND', 'UNKNOWN_REFERENCE'],
  example: {
    body: { ids: [17, 18] },
    response: { notifications: 1, cancelled: 1, leaving: 0, left: 1, withdrawn: 0, more: false },
  },
  handle: ({ takeBacks }, { body: { ids, waiting }, ...input }) => {
    const { type = null, email: person = null } = waiting ?? {};
    const order = ids === undefined ? { waiting: { type, email: person } } : { ids };
    return takeBacks.several(input.params.appCode, order, input.query.withdraw === true, input);
  },
});

export const takeBackRoutes: readonly Route[] = [takeBackOne, takeBackSeveral];
