/** The inbox of a signed-in user (docs/reference/notifications.md#inbox). */

import { z } from 'zod';
import type { Heartbeat } from '../../base/event-stream.ts';
import type { InboxRow } from '../../notifications/inbox.ts';
import type { StreamEvent } from '../../notifications/stream.ts';
import { bare, codeResponse } from '../route/envelopes.ts';
import { flagParam, id, idParam, timestamp } from '../route/fields.ts';
import { signedIn } from '../route/guards.ts';
import { paged, pagedResponse, pageOf, pageParams, pageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';
import { serverSentEvents } from '../route/server-sent-events.ts';

const Item = record('InboxNotification', {
  id,
  appCode: z.string(),
  appName: z.string(),
  type: z.string().meta({ description: "The notification type's code." }),
  subject: z.string(),
  body: z
    .string()
    .nullable()
    .meta({ description: 'Plain text, at most 4,000 characters: the text of a push. Null for none.' }),
  url: z.string().nullable().meta({ description: 'The link: a URL, or a path of the application.' }),
  icon: z.string().nullable().meta({ description: 'A path, or a URL.' }),
  status: z.string().meta({ description: '`queued`, `sent`, `partial` or `failed`.' }),
  statusReason: z.string().nullable(),
  locale: z.string(),
  readAt: timestamp.nullable(),
  createdAt: timestamp,
  payload: z.record(z.string(), z.unknown()),
});

function toJson(row: InboxRow): z.input<typeof Item> {
  return {
    id: row.id,
    appCode: row.appCode,
    appName: row.appName,
    type: row.type,
    subject: row.subject,
    body: row.body,
    url: row.url,
    icon: row.icon,
    status: row.status,
    statusReason: row.statusReason,
    locale: row.locale,
    readAt: row.readAt,
    createdAt: row.createdAt,
    payload: row.payload as Record<string, unknown>,
  };
}

const LIST = 'inbox';
// An unknown application has no notifications, so any code is accepted.
const ofApplication = z
  .string()
  .min(1, 'must not be empty')
  .max(256)
  .meta({ description: 'Only notifications of the application with this code.' });

const listInbox = defineRoute({
  method: 'get',
  path: '/api/profile/me/notifications/inbox',
  operation: 'listInbox',
  tag: 'Inbox',
  summary: "The caller's notifications, newest first",
  guard: signedIn,
  query: z.strictObject({
    ...pageParams(LIST),
    unreadOnly: flagParam.default(false),
    appCode: ofApplication.optional(),
  }),
  envelope: pagedResponse,
  response: pageSchema(Item),
  handle: async ({ inbox }, { query, caller }) => {
    const { unreadOnly, appCode: app = null } = query;
    return paged(LIST, await inbox.list(caller.email, { ...pageOf(query), unreadOnly, app }), toJson);
  },
});

const unreadCount = defineRoute({
  method: 'get',
  path: '/api/profile/me/notifications/inbox/unread-count',
  operation: 'countUnread',
  tag: 'Inbox',
  summary: "How many of the caller's notifications are unread",
  guard: signedIn,
  envelope: codeResponse,
  response: z.strictObject({ count: z.int() }),
  handle: async ({ inbox }, { caller }) => ({ count: await inbox.unreadCount(caller.email) }),
});

const markRead = defineRoute({
  method: 'patch',
  path: '/api/profile/me/notifications/inbox/:id/read',
  operation: 'markRead',
  tag: 'Inbox',
  summary: 'Mark a notification read',
  description: 'A notification that was already read stays unchanged.',
  guard: signedIn,
  params: z.strictObject({ id: idParam }),
  status: 204,
  errors: ['NOT_FOUND'],
  handle: async ({ inbox }, { params, caller }) => {
    await inbox.markRead(caller.email, params.id);
    return undefined;
  },
});

const markAllRead = defineRoute({
  method: 'post',
  path: '/api/profile/me/notifications/inbox/read-all',
  operation: 'markAllRead',
  tag: 'Inbox',
  summary: 'Mark all notifications read',
  guard: signedIn,
  body: z.strictObject({ appCode: ofApplication.optional() }).optional(),
  envelope: bare,
  response: z.strictObject({ updated: z.int() }),
  example: { body: { appCode: 'billing' } },
  handle: async ({ inbox }, { body, caller }) => ({
    updated: await inbox.markAllRead(caller.email, body?.appCode ?? null),
  }),
});

/** Only notifications have ids: a reader resumes after one. */
const inboxEvents = serverSentEvents(
  'Events `notification` (an inbox item) and `unread-count`.',
  (event: Exclude<StreamEvent, Heartbeat>) =>
    event.event === 'unread-count'
      ? { event: event.event, data: { count: event.count } }
      : { event: event.event, id: event.item.id, data: toJson(event.item) },
);

const stream = defineRoute({
  method: 'get',
  path: '/api/profile/me/notifications/stream',
  operation: 'streamInbox',
  unsafe: true,
  tag: 'Inbox',
  summary: "Stream the caller's notifications",
  description:
    'Server-sent events: `notification` (data: the inbox item) and `unread-count` (data: `{count}`). `Last-Event-ID` resumes after a notification, with at most the newest 200 that were missed. The stream ends when the token expires or the account is deactivated; an eleventh stream of a user ends the oldest.',
  guard: signedIn,
  headers: ['last-event-id'],
  envelope: inboxEvents,
  response: z.unknown(),
  handle: async ({ inboxStreams }, { caller, header }) => {
    const [last] = /^\d{1,15}$/.exec(header('last-event-id') ?? '') ?? [];
    return await inboxStreams.open(caller, last === undefined ? null : Number(last));
  },
});

export const inboxRoutes: readonly Route[] = [listInbox, unreadCount, markRead, markAllRead, stream];
