/** Reports about users from backends and from the identity provider's profile editor, with an internal key (docs/reference/people.md#names). */

import { z } from 'zod';
import { email, name, text } from '../route/fields.ts';
import { key } from '../route/guards.ts';
import { defineRoute, type Route } from '../route/route.ts';
import { Recorded } from './my-apps.ts';

const applicationEvent = defineRoute({
  method: 'post',
  path: '/api/internal/auth/application-events',
  operation: 'recordApplicationEvent',
  tag: 'Internal',
  summary: 'Record a login, activity or a logout',
  description:
    'For applications whose backend records logins instead of the front end. Use only one of the two, or each login counts twice. `activity` updates only the last activity, at most once in five minutes; `logout` adds an event and an audit record.',
  guard: key('events'),
  concerns: ({ body }) => [body.appCode],
  body: z.strictObject({
    email,
    appCode: z.string(),
    event: z.enum(['login', 'activity', 'logout']),
    eventId: text(128)
      .refine((value) => value !== '', 'must not be empty')
      .optional()
      .meta({
        description:
          "The application's own name for the event: repeated within 24 hours it counts once. Deleting the application forgets it.",
      }),
  }),
  response: Recorded,
  errors: ['UNKNOWN_REFERENCE', 'NOT_FOUND', 'USER_INACTIVE'],
  example: { body: { email: 'ada@example.com', appCode: 'atelier', event: 'login' }, response: { recorded: true } },
  handle: async ({ applicationEvents }, { body, actor, requestId }) => ({
    recorded: await applicationEvents.tell(body, { actor, requestId }),
  }),
});

/** As in a profile; null and the empty text clear it. */
const pushedName = z
  .union([name, z.literal('')], 'must be one line of at most 200 characters, or null')
  .nullable()
  .optional();

const profileSync = defineRoute({
  method: 'put',
  path: '/api/internal/auth/profile-sync',
  operation: 'syncProfile',
  tag: 'Internal',
  summary: 'Store names that were changed at the identity provider',
  description:
    'Null or an empty text clears a name; a name that is left out stays. `applied` is false for an unknown user, and for a `changedAt` older than the last change of names known here.',
  guard: key('profile'),
  body: z.strictObject({
    email,
    firstName: pushedName,
    lastName: pushedName,
    displayName: pushedName,
    changedAt: z.iso
      .datetime({ offset: true })
      .transform((moment) => new Date(moment))
      .optional()
      .meta({ description: 'The time of the change there; default: now.' }),
  }),
  response: z.strictObject({ applied: z.boolean() }),
  example: {
    body: { email: 'ada@example.com', displayName: 'Ada L.', changedAt: '2026-11-21T10:00:05.400Z' },
    response: { applied: true },
  },
  handle: async ({ profiles }, { body: { email: address, ...names } }) => ({
    applied: await profiles.push(address, names),
  }),
});

export const internalAuthRoutes: readonly Route[] = [applicationEvent, profileSync];
