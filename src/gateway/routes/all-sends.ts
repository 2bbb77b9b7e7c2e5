/** The sends of every application that the caller may see (docs/reference/notifications.md#sends-of-all-applications). */

import { z } from 'zod';
import { tagOf } from '../../administration/records.ts';
import { CHANNEL_NAMES } from '../../base/channels.ts';
import { type JsonSchema, objectSchema, valueEnvelope } from '../route/envelopes.ts';
import { applicationCode, slug, timestamp } from '../route/fields.ts';
import { anyAdministrator } from '../route/guards.ts';
import { paged, pagedData, pageOf, pageParams, pageSchema, wholeNumber } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';
import { Logged, SEND_FILTERS } from './notifications.ts';

const LIST = 'all-sends';
const ofApplication = applicationCode
  .optional()
  .meta({ description: 'Only this application. Empty for one that the caller may not see.' });

const LoggedOfApplication = record('NotificationRecordOfApplication', { ...Logged.shape, appCode: z.string() });

const listAllSends = defineRoute({
  method: 'get',
  path: '/api/admin/notifications',
  operation: 'listAllNotifications',
  tag: 'Notifications',
  summary: "List the notifications of the caller's applications, newest first",
  guard: anyAdministrator,
  query: z.strictObject({ ...pageParams(LIST), ...SEND_FILTERS, appCode: ofApplication }),
  envelope: pagedData,
  response: pageSchema(LoggedOfApplication),
  handle: async ({ allSends }, { caller, query }) => {
    const { status = null, type = null, email = null, appCode = null } = query;
    const page = await allSends.list(caller.email, appCode, { ...pageOf(query), status, type, email });
    return paged(LIST, page, (send) => send);
  },
});

const DEFAULT_HOURS = 24;
const MAX_HOURS = 168;

const SendCount = record('SendCount', {
  hour: timestamp.meta({ description: 'When its notifications were accepted.' }),
  channel: z.enum(CHANNEL_NAMES),
  brand: z.string().meta({ description: 'The slug of the brand that sends.' }),
  reason: z.string().nullable().meta({ description: 'Why it failed, or is tried again; null: sent.' }),
  count: z.int().positive(),
});

const Statistics = z.strictObject({
  since: timestamp.meta({ description: 'The rows are complete from then on.' }),
  rows: z.array(SendCount),
});

/** `{success: true, data: <rows>, since}` */
const rowsSince = valueEnvelope(
  'rowsSince',
  (payload) => {
    const { rows, since } = payload as z.output<typeof Statistics>;
    return { success: true, data: rows, since };
  },
  (payload) => {
    const { rows = {}, since = {} } = payload.properties as Record<string, JsonSchema>;
    return objectSchema({ success: { type: 'boolean', const: true }, data: rows, since });
  },
);

const readStatistics = defineRoute({
  method: 'get',
  path: '/api/admin/notifications/stats',
  operation: 'getNotificationStats',
  tag: 'Notifications',
  summary: "Count the attempted deliveries of the caller's applications",
  description:
    'By hour, channel, brand and outcome; the newest hour first. Of at most 100,000 notifications and 10,000 rows: `since` says from when on they are complete. Deliveries without an attempt are not counted.',
  guard: anyAdministrator,
  query: z.strictObject({
    hours: wholeNumber(1, MAX_HOURS, DEFAULT_HOURS).meta({
      description: `The last hours, 1 to ${MAX_HOURS}; by default ${DEFAULT_HOURS}.`,
    }),
    appCode: ofApplication,
  }),
  headers: ['if-none-match'],
  envelope: rowsSince,
  response: Statistics,
  dear: true,
  handle: async ({ allSends }, { caller, query }) => {
    const { hours, appCode = null } = query;
    const shown = await allSends.statistics(caller.email, appCode, hours);
    return answer(shown, { etag: tagOf(shown.rows) });
  },
});

const retryAll = defineRoute({
  method: 'post',
  path: '/api/admin/notifications/retry',
  operation: 'retryNotifications',
  tag: 'Notifications',
  summary: 'Retry failed deliveries in several applications',
  description:
    'Of at most 10,000 notifications, the oldest first, in the applications that the caller may edit; `more` says whether others are left. Successful deliveries are not repeated, and one that another call has queued is not queued twice.',
  guard: anyAdministrator,
  refusal: 'notification.retried.refused',
  body: z.strictObject({
    appCode: applicationCode.optional(),
    status: z.enum(['failed', 'partial']).optional().meta({ description: 'By default both.' }),
    type: slug.optional().meta({ description: 'The code of a notification type.' }),
    brand: slug.optional().meta({ description: 'The slug of the brand whose deliveries are retried.' }),
  }),
  status: 202,
  response: z.strictObject({
    notifications: z.int().nonnegative(),
    deliveries: z.int().nonnegative(),
    more: z.boolean(),
  }),
  errors: ['NO_APPLICATION_LEVEL', 'UNKNOWN_REFERENCE'],
  example: {
    body: { appCode: 'billing', brand: 'atelier' },
    response: { notifications: 2, deliveries: 3, more: false },
  },
  handle: ({ allSends }, input) => {
    const { appCode: app = null, status = null, type = null, brand = null } = input.body;
    return allSends.retry({ app, status, type, brand }, input);
  },
});

export const allSendRoutes: readonly Route[] = [listAllSends, readStatistics, retryAll];
