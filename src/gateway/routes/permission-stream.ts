/** When to ask again what the caller may do (docs/reference/watch.md#stream-for-a-user). */

import { z } from 'zod';
import type { PermissionEvent } from '../../directory/permission-streams.ts';
import { signedIn } from '../route/guards.ts';
import { defineRoute, type Route } from '../route/route.ts';
import { lastRevision, serverSentEvents } from '../route/server-sent-events.ts';

const permissionEvents = serverSentEvents(
  'Events `permissions` with `{revision, apps: [code]}`. No codes: any application may be concerned.',
  (event: PermissionEvent) => {
    if (event.event === 'position') return { id: event.revision };
    const { revision, apps } = event;
    return { event: event.event, id: revision, data: { revision, apps } };
  },
);

const stream = defineRoute({
  method: 'get',
  path: '/api/profile/me/permissions/stream',
  operation: 'streamMyPermissions',
  unsafe: true,
  tag: 'Checks',
  summary: 'Stream when my permissions may have changed',
  description:
    'Server-sent events `permissions` within a second after decisions about the caller may have changed, with the revision and the applications concerned: a hint to ask again. An event without applications may concern any. `Last-Event-ID` resumes after a revision. The stream ends when the token expires or the account is deactivated; an eleventh stream of a user ends the oldest.',
  guard: signedIn,
  headers: ['last-event-id'],
  envelope: permissionEvents,
  response: z.unknown(),
  handle: ({ permissionStreams }, { caller, header }) =>
    permissionStreams.open(caller, lastRevision(header('last-event-id'))),
});

export const permissionStreamRoutes: readonly Route[] = [stream];
