/** Preferences, logins and logouts of a user in an application, for administrators (docs/reference/people.md#application-preferences). */

import { z } from 'zod';
import { id, MemberParams, timestamp } from '../route/fields.ts';
import { applicationLevel } from '../route/guards.ts';
import { paged, pagedData, pageOf, pageParams, pageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';
import { EXAMPLE, Preferences, preferencesBody, refuseOtherCode } from './my-apps.ts';

const readPreferences = defineRoute({
  method: 'get',
  path: '/api/users/:email/apps/:appCode/preferences',
  operation: 'getPreferences',
  tag: 'Users',
  summary: "A user's preferences in an application",
  description: 'The defaults if nothing was set.',
  guard: applicationLevel('view'),
  params: MemberParams,
  response: Preferences,
  errors: ['NOT_FOUND'],
  example: { response: EXAMPLE },
  handle: ({ appPreferences }, { params }) => appPreferences.of(params.email, params.appCode),
});

const changePreferences = defineRoute({
  method: 'put',
  path: '/api/users/:email/apps/:appCode/preferences',
  operation: 'updatePreferences',
  tag: 'Users',
  summary: "Change a user's preferences in an application",
  description: 'Changes the fields sent. Records no login.',
  guard: applicationLevel('edit'),
  refusal: 'preferences.changed.refused',
  params: MemberParams,
  body: preferencesBody(),
  response: Preferences,
  errors: ['NOT_FOUND', 'IMMUTABLE_FIELD'],
  example: { body: { notificationsEnabled: false }, response: { ...EXAMPLE, notificationsEnabled: false } },
  handle: ({ appPreferences }, input) => {
    const { email, appCode } = input.params;
    refuseOtherCode(appCode, input.body.applicationCode);
    return appPreferences.setFor(email, appCode, input.body, input);
  },
});

const EVENTS = 'app-events';

const listEvents = defineRoute({
  method: 'get',
  path: '/api/users/:email/apps/:appCode/events',
  operation: 'listApplicationEvents',
  tag: 'Users',
  summary: "A user's logins and logouts in an application",
  description: 'The newest first.',
  guard: applicationLevel('view'),
  params: MemberParams,
  query: z.strictObject(pageParams(EVENTS)),
  envelope: pagedData,
  response: pageSchema(
    record('ApplicationEvent', {
      id,
      event: z.enum(['login', 'logout']),
      actor: z.string().meta({ description: 'The caller that recorded it: `user:<email>` or `key:<name>`.' }),
      at: timestamp,
    }),
  ),
  errors: ['NOT_FOUND'],
  handle: async ({ appPreferences }, { params, query }) => {
    const page = await appPreferences.events(params.email, params.appCode, pageOf(query));
    return paged(EVENTS, page, (event) => event);
  },
});

export const userAppRoutes: readonly Route[] = [readPreferences, changePreferences, listEvents];
