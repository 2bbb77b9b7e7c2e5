/** Profiles (docs/reference/people.md#profiles): a user's own, and those of others for administrators. */

import { z } from 'zod';
import {
  EmailParams,
  email,
  id,
  languageCode,
  name,
  readOnly,
  slug,
  storableUrl,
  timestamp,
  timeZone,
} from '../route/fields.ts';
import { anyAdministrator, profileOwner } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const THEMES = ['light', 'dark', 'system'] as const;

/** A user's record; answers to administrators add more. */
export const Profile = record('Profile', {
  id,
  email: z.string(),
  firstName: z.string().nullable(),
  lastName: z.string().nullable(),
  displayName: z.string().nullable(),
  avatarUrl: z.string().nullable(),
  locale: z.string().nullable().meta({ description: 'Null means the system language, `en`.' }),
  theme: z.enum(THEMES),
  timezone: z.string().nullable().meta({ description: 'Null means the system time zone.' }),
  brand: z.string().meta({ description: 'The slug of a brand; the default brand if none was chosen.' }),
  identityProfileUrl: z.string().nullable().meta({
    description: 'The page for editing name, password and passkeys; null without an identity provider.',
  }),
  createdAt: timestamp,
  updatedAt: timestamp,
});

const EXAMPLE = {
  id: 12,
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  displayName: 'Ada Lovelace',
  avatarUrl: null,
  locale: 'cs',
  theme: 'dark' as const,
  timezone: 'Europe/Prague',
  brand: 'default',
  identityProfileUrl: null,
  createdAt: '2026-11-21T10:00:05.400Z',
  updatedAt: '2026-11-21T10:00:05.400Z',
};

const myProfile = defineRoute({
  method: 'get',
  path: '/api/profile/me',
  operation: 'getMyProfile',
  unsafe: true,
  tag: 'Profile',
  summary: 'My profile',
  description:
    'Created at the first access, with the names and the picture of the token. A newer token updates the names; an older one changes nothing.',
  guard: profileOwner,
  response: Profile,
  example: { response: EXAMPLE },
  handle: ({ profiles }, { caller, requestId }) => profiles.mine(caller, requestId),
});

const changeMyProfile = defineRoute({
  method: 'put',
  path: '/api/profile/me',
  operation: 'updateMyProfile',
  tag: 'Profile',
  summary: 'Change my profile',
  description:
    'Changes the fields sent. Names are sent to the identity provider first and stored once it has accepted them. Null clears a name or the picture, and resets language, time zone and brand.',
  guard: profileOwner,
  body: z.strictObject({
    firstName: name.nullable().optional(),
    lastName: name.nullable().optional(),
    displayName: name.nullable().optional(),
    avatarUrl: storableUrl(true).nullable().optional(),
    locale: languageCode.nullable().optional(),
    theme: z.enum(THEMES).optional(),
    timezone: timeZone.nullable().optional(),
    brand: slug.nullable().optional().meta({ description: 'The slug of a brand.' }),
    email: email.optional().meta({ description: 'Cannot be changed; only the current one may be sent.' }),
    id: readOnly,
    identityProfileUrl: readOnly,
    createdAt: readOnly,
    updatedAt: readOnly,
  }),
  response: Profile,
  errors: ['IMMUTABLE_FIELD', 'UNKNOWN_REFERENCE', 'UNKNOWN_LANGUAGES', 'IDP_UNREACHABLE', 'IDP_REJECTED'],
  example: { body: { displayName: 'Ada L.', theme: 'dark' }, response: EXAMPLE },
  handle: ({ profiles }, input) => profiles.update(input.caller, input.body, input),
});

const profileOf = defineRoute({
  method: 'get',
  path: '/api/profile/:email',
  operation: 'getProfile',
  tag: 'Profile',
  summary: "A user's profile",
  description:
    'SuperAdmins and app admins may read every profile; panel users those of users of applications on which they have a level.',
  guard: anyAdministrator,
  params: EmailParams,
  response: Profile,
  errors: ['NOT_FOUND', 'NO_APPLICATION_LEVEL'],
  example: { response: EXAMPLE },
  handle: ({ profiles }, { caller, params }) => profiles.findFor(caller.email, params.email),
});

export const profileRoutes: readonly Route[] = [myProfile, changeMyProfile, profileOf];
