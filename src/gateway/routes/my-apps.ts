/** Preferences of users in each application, and their logins and activity (docs/reference/people.md#application-preferences). */

import { z } from 'zod';
import { existing } from '../../administration/administer.ts';
import { UsherError } from '../../base/errors.ts';
import { isApplicationCode } from '../../base/grammar.ts';
import type { AppPreferences } from '../../directory/app-preferences.ts';
import type { Caller } from '../../identity/tokens.ts';
import { AppParams } from '../route/fields.ts';
import { accountSettler, profileOwner, signedIn } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Input, type Route } from '../route/route.ts';
import type { Services } from '../services.ts';

export const Preferences = record('ApplicationPreferences', {
  applicationCode: z.string(),
  showHelp: z.boolean().meta({ description: 'Show help in the user interface.' }),
  notificationsEnabled: z.boolean().meta({ description: 'The switch for all notifications of the application.' }),
});

/** The body of a write; `refuseOtherCode` checks the code. */
export function preferencesBody() {
  return z.strictObject({
    showHelp: z.boolean().optional(),
    notificationsEnabled: z.boolean().optional(),
    applicationCode: z
      .string()
      .optional()
      .meta({ description: 'Cannot be changed; only the one in the path may be sent.' }),
  });
}

/** Throws IMMUTABLE_FIELD when the body names another application than the path. */
export function refuseOtherCode(path: string, sent: string | undefined): void {
  if (sent === undefined || sent === path) return;
  throw new UsherError('IMMUTABLE_FIELD', 'applicationCode cannot be changed.', {
    details: { field: 'applicationCode' },
  });
}

export const EXAMPLE: Awaited<ReturnType<AppPreferences['of']>> = {
  applicationCode: 'atelier',
  showHelp: true,
  notificationsEnabled: true,
};

export const Recorded = record('Recorded', { recorded: z.boolean() });

const listMine = defineRoute({
  method: 'get',
  path: '/api/profile/me/apps',
  operation: 'listMyPreferences',
  tag: 'Profile',
  summary: 'My preferences in every application',
  description: 'For applications that I have used or set preferences in, by code.',
  guard: signedIn,
  response: z.array(Preferences),
  example: { response: [EXAMPLE] },
  handle: ({ appPreferences }, { caller }) => appPreferences.list(caller.email),
});

const bootstrap = defineRoute({
  method: 'get',
  path: '/api/profile/me/apps/:appCode',
  operation: 'enterApplication',
  unsafe: true,
  tag: 'Profile',
  summary: 'Log in to an application',
  description:
    'The login bootstrap: records a login and returns my preferences, which it creates with defaults on the first login. A front end calls it exactly once, when its authenticated start is complete.',
  guard: profileOwner,
  params: AppParams,
  response: Preferences,
  errors: ['NOT_FOUND'],
  example: { response: EXAMPLE },
  handle: ({ appPreferences }, { caller, params, requestId }) =>
    appPreferences.login(caller, params.appCode, requestId),
});

const changeMine = defineRoute({
  method: 'put',
  path: '/api/profile/me/apps/:appCode',
  operation: 'updateMyPreferences',
  tag: 'Profile',
  summary: 'Change my preferences in an application',
  description: 'Changes the fields sent. Records no login.',
  guard: profileOwner,
  params: AppParams,
  body: preferencesBody(),
  response: Preferences,
  errors: ['NOT_FOUND', 'IMMUTABLE_FIELD'],
  example: { body: { showHelp: false }, response: { ...EXAMPLE, showHelp: false } },
  handle: ({ appPreferences }, { caller, params, body, requestId }) => {
    refuseOtherCode(params.appCode, body.applicationCode);
    return appPreferences.set(caller, params.appCode, body, requestId);
  },
});

type TellInput = Pick<
  Input<Caller, z.output<typeof AppParams>, unknown, unknown, never>,
  'caller' | 'params' | 'requestId' | 'signal'
>;

const tellActivity = defineRoute({
  method: 'post',
  path: '/api/profile/me/apps/:appCode/activity',
  operation: 'recordMyActivity',
  tag: 'Profile',
  summary: 'Record my activity in an application',
  description:
    'Updates my last activity there, at most once in five minutes; `recorded` says whether this call did. Changes no login.',
  guard: accountSettler,
  params: AppParams,
  response: Recorded,
  errors: ['NOT_FOUND'],
  example: { response: { recorded: true } },
  quiet: true,
  handle: (services, input) => {
    const { caller, params } = input;
    const { engine, appPreferences, subjects } = services;
    // Most calls have nothing to write and are answered synchronously.
    const known = engine.peekMember(params.appCode, caller.email);
    const isQuiet = known !== null && appPreferences.isQuiet(caller.email, params.appCode, known.appId);
    return isQuiet && subjects.isSettled(caller) ? { recorded: false } : recordActivity(services, input);
  },
});

async function recordActivity(
  { appPreferences, engine, subjects }: Services,
  { caller, params: { appCode }, requestId, signal }: TellInput,
): Promise<z.output<typeof Recorded>> {
  const { email } = caller;
  // A malformed code needs no lookup.
  if (!isApplicationCode(appCode)) existing(null, appCode);
  if (engine.peekMember(appCode, email) === null) {
    const known = engine.member(appCode, email, { signal });
    if (subjects.isSettled(caller) && appPreferences.isQuiet(email, appCode)) {
      const { member } = await known;
      if (appPreferences.isQuiet(email, appCode, member.appId)) return { recorded: false };
    }
    // The load serves the next call; this one need not wait. A failure repeats there.
    known.catch(() => undefined);
  }
  const recorded = await appPreferences.activity(caller, appCode, requestId);
  subjects.noteSettled(caller);
  return { recorded };
}

const tellLogout = defineRoute({
  method: 'post',
  path: '/api/profile/me/apps/:appCode/logout',
  operation: 'recordMyLogout',
  tag: 'Profile',
  summary: 'Record my logout from an application',
  description: 'Adds an event and an audit record. Changes no login.',
  guard: profileOwner,
  params: AppParams,
  response: Recorded,
  errors: ['NOT_FOUND'],
  example: { response: { recorded: true } },
  handle: async ({ appPreferences }, { caller, params, requestId }) => {
    await appPreferences.logout(caller, params.appCode, requestId);
    return { recorded: true };
  },
});

export const myAppRoutes: readonly Route[] = [listMine, bootstrap, changeMine, tellActivity, tellLogout];
