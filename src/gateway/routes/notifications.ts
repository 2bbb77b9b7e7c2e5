/** Sends, by backends and by administrators, and their log (docs/reference/notifications.md#sends). */

import { z } from 'zod';
import { CHANNEL_NAMES } from '../../base/channels.ts';
import { LIMITS } from '../../base/grammar.ts';
import { STATUSES } from '../../notifications/log.ts';
import type { SendOrder } from '../../notifications/send.ts';
import {
  AppParams,
  applicationCode,
  email,
  freeObject,
  id,
  idParam,
  languageCode,
  slug,
  text,
  timestamp,
} from '../route/fields.ts';
import { applicationLevel, key } from '../route/guards.ts';
import { paged, pagedData, pageOf, pageParams, pageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const fields = {
  type: slug.optional().meta({
    description:
      'The code of a notification type; default `generic`. Never `auth_idp`: those mails belong to the identity provider.',
  }),
  recipients: z
    .array(email)
    .min(1)
    .max(LIMITS.recipients)
    .meta({ description: 'Addresses. Duplicates count once; an address without a record gets one.' }),
  payload: freeObject.optional().meta({ description: 'For the templates, and for clients that show the inbox.' }),
  subject: text(500).optional().meta({ description: "For types without a template; default: the type's name." }),
  body: text(1024 * 1024)
    .optional()
    .meta({ description: 'Plain text, for types without a template. Without it the mail shows the subject.' }),
  url: text(LIMITS.url).optional().meta({
    description: 'The link: a URL, or a path. In the inbox and the push; a mail without a template links to a URL.',
  }),
  icon: text(LIMITS.url).optional().meta({ description: 'Shown in the inbox and with a push: a path, or a URL.' }),
  locale: languageCode.optional().meta({ description: "For all recipients; default: each recipient's own." }),
  templateKey: slug.optional().meta({ description: 'By default `default`, if that template exists.' }),
  idempotencyKey: text(200)
    .refine((value) => value !== '', 'must not be empty')
    .optional()
    .meta({
      description:
        'The same key within 24 hours returns the first result and sends nothing. Keys of backends and of administrators are separate.',
    }),
};

const Send = z.strictObject(fields);

const Sent = record('SentNotifications', {
  notifications: z.array(
    z.strictObject({
      id,
      email: z.string(),
      status: z.string().meta({ description: '`queued`, `sent` (nothing to deliver) or `suppressed`.' }),
      statusReason: z.string().nullable().meta({ description: '`notifications_disabled` or `user_inactive`.' }),
    }),
  ),
});

function orderOf(body: z.output<typeof Send>): SendOrder {
  return {
    type: body.type ?? 'generic',
    recipients: [...new Set(body.recipients)],
    payload: body.payload ?? {},
    subject: body.subject ?? null,
    body: body.body ?? null,
    url: body.url ?? null,
    icon: body.icon ?? null,
    locale: body.locale ?? null,
    templateKey: body.templateKey ?? null,
  };
}

const DESCRIPTION =
  'One notification per recipient, one delivery per channel that applies. A send answered with 202 is stored and is delivered at least once. A send with more than 64 MiB of rendered text for all recipients together is refused (413); while too much is being rendered for other sends, 503.';

const sendBySystem = defineRoute({
  method: 'post',
  path: '/api/internal/notifications',
  operation: 'notify',
  tag: 'Internal',
  summary: 'Send a notification',
  description: DESCRIPTION,
  guard: key('notify'),
  body: z.strictObject({ appCode: applicationCode, ...fields }),
  concerns: ({ body }) => [body.appCode],
  limit: 'list',
  status: 202,
  response: Sent,
  errors: ['UNKNOWN_REFERENCE', 'MISSING_VARIABLES', 'IDEMPOTENCY_KEY_REUSED', 'PAYLOAD_TOO_LARGE', 'UNPROCESSABLE'],
  example: {
    body: {
      appCode: 'billing',
      type: 'invoice-due',
      recipients: ['ann@example.com'],
      payload: { number: '2026-17' },
      idempotencyKey: 'invoice-2026-17-due',
    },
  },
  handle: async ({ sends }, { body: { appCode, ...body }, signal }) => ({
    notifications: await sends.bySystem(appCode, orderOf(body), {
      idempotencyKey: body.idempotencyKey ?? null,
      signal,
    }),
  }),
});

const sendByAdministrator = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/notifications',
  operation: 'sendNotification',
  tag: 'Notifications',
  summary: 'Send a notification',
  description: DESCRIPTION,
  guard: applicationLevel('edit'),
  refusal: 'notification.sent.refused',
  params: AppParams,
  body: Send,
  limit: 'list',
  status: 202,
  response: Sent,
  errors: [
    'NOT_FOUND',
    'UNKNOWN_REFERENCE',
    'MISSING_VARIABLES',
    'IDEMPOTENCY_KEY_REUSED',
    'PAYLOAD_TOO_LARGE',
    'UNPROCESSABLE',
  ],
  example: { body: { recipients: ['ann@example.com'], subject: 'Hello', body: 'The office is closed on Friday.' } },
  handle: async ({ sends }, input) => {
    const { body, params, signal } = input;
    const options = { idempotencyKey: body.idempotencyKey ?? null, signal };
    return { notifications: await sends.byAdministrator(params.appCode, orderOf(body), input, options) };
  },
});

export const Logged = record('NotificationRecord', {
  id,
  email: z.string(),
  type: z.string(),
  status: z.string(),
  statusReason: z.string().nullable(),
  locale: z.string(),
  createdAt: timestamp,
  deliveries: z.array(
    z.strictObject({
      channel: z.enum(CHANNEL_NAMES),
      status: z.string(),
      attempts: z.int(),
      error: z.string().nullable(),
      sentAt: timestamp.nullable(),
    }),
  ),
});

/** The filters of a send log. */
export const SEND_FILTERS = {
  status: z.enum(STATUSES).optional(),
  type: slug.optional().meta({ description: 'The code of a notification type.' }),
  email: email.optional(),
};

const LIST = 'sends';

const listSends = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/notifications',
  operation: 'listNotifications',
  tag: 'Notifications',
  summary: 'List the notifications of an application, newest first',
  guard: applicationLevel('view'),
  params: AppParams,
  query: z.strictObject({
    ...pageParams(LIST),
    ...SEND_FILTERS,
  }),
  envelope: pagedData,
  response: pageSchema(Logged),
  errors: ['NOT_FOUND'],
  handle: async ({ sendLog }, { params, query }) => {
    const { status = null, type = null, email: recipient = null } = query;
    const page = await sendLog.list(params.appCode, { ...pageOf(query), status, type, email: recipient });
    return paged(LIST, page, (send) => send);
  },
});

const readSend = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/notifications/:id',
  operation: 'getNotification',
  tag: 'Notifications',
  summary: 'One notification of an application',
  guard: applicationLevel('view'),
  params: z.strictObject({ ...AppParams.shape, id: idParam }),
  response: Logged,
  errors: ['NOT_FOUND'],
  handle: ({ sendLog }, { params }) => sendLog.read(params.appCode, params.id),
});

const retrySend = defineRoute({
  method: 'post',
  path: '/api/applications/:appCode/notifications/:id/retry',
  operation: 'retryNotification',
  tag: 'Notifications',
  summary: 'Retry the failed deliveries of a notification',
  description: 'Successful deliveries are not repeated. Returns the current log entry.',
  guard: applicationLevel('edit'),
  refusal: 'notification.retried.refused',
  params: z.strictObject({ ...AppParams.shape, id: idParam }),
  status: 202,
  response: Logged,
  errors: ['NOT_FOUND', 'UNKNOWN_REFERENCE'],
  handle: ({ sendLog }, input) => sendLog.retry(input.params.appCode, input.params.id, input),
});

export const notificationRoutes: readonly Route[] = [sendBySystem, sendByAdministrator, listSends, readSend, retrySend];
