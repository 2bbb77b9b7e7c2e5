/** A person's data: taken along, and erased (docs/reference/people.md#export, erasure). */

import { z } from 'zod';
import { CHANNEL_NAMES } from '../../base/channels.ts';
import { accessLevel } from '../questions/fields.ts';
import { jsonFile } from '../route/envelopes.ts';
import { EmailParams, id, timestamp, windowFields } from '../route/fields.ts';
import { signedIn, superAdmin } from '../route/guards.ts';
import { DEADLINE_MS } from '../route/limits.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route, written } from '../route/route.ts';

const time = timestamp.nullable();
const text = z.string().nullable();
const payload = z.unknown().meta({ description: 'As the send had it.' });

const StoredProfile = record('StoredProfile', {
  firstName: text,
  lastName: text,
  displayName: text,
  namesChangedAt: time,
  avatarUrl: text,
  locale: text,
  theme: z.string(),
  timezone: text,
  brand: text.meta({ description: 'Null: whichever brand is the default.' }),
  stateChangedAt: time,
  createdAt: timestamp,
  updatedAt: timestamp,
});

const StoredApplication = record('StoredApplication', {
  code: z.string(),
  name: z.string(),
  adminSince: time,
  adminWindow: z.strictObject(windowFields).nullable().meta({ description: 'Null: without a beginning and an end.' }),
  roles: z.array(z.strictObject({ code: z.string(), since: timestamp, ...windowFields })),
  preferences: z
    .strictObject({
      showHelp: z.boolean(),
      notificationsEnabled: z.boolean(),
      firstLoginAt: time,
      lastLoginAt: time,
      loginCount: z.int().nonnegative(),
      lastActivityAt: time,
      createdAt: timestamp,
      updatedAt: timestamp,
    })
    .nullable(),
});

const channels = Object.fromEntries(CHANNEL_NAMES.map((name) => [name, z.boolean().nullable()]));

const StoredPerson = record('StoredPerson', {
  id,
  email: z.string(),
  providerActive: z.boolean(),
  blocked: z.boolean(),
  registeredAt: time,
  createdAt: timestamp,
  superadminSince: time,
  profile: StoredProfile.nullable(),
  accounts: z.array(
    z.strictObject({
      issuer: z.string(),
      subject: z.string(),
      signsIn: z.boolean().meta({ description: "Whether its tokens are this person's." }),
      organization: text.meta({ description: "Of the token that made it this person's." }),
      seenAt: timestamp,
    }),
  ),
  applications: z.array(StoredApplication),
  notificationPreferences: z.array(
    z.strictObject({ appCode: z.string(), type: z.string(), ...channels, updatedAt: timestamp }),
  ),
  pushSubscriptions: z
    .array(
      z.strictObject({
        id,
        endpoint: z.string(),
        deviceLabel: z.string(),
        lastUsedAt: time,
        createdAt: timestamp,
        updatedAt: timestamp,
      }),
    )
    .meta({ description: 'Without their keys.' }),
  registrationLocales: z.array(z.strictObject({ orgId: z.string(), locale: z.string(), at: timestamp })),
  providerEvents: z.array(
    z.strictObject({
      at: timestamp,
      source: z.string(),
      eventType: text,
      orgId: text,
      outcome: z.string(),
      reason: text,
    }),
  ),
  refusedMails: z
    .array(z.strictObject({ at: timestamp, eventType: text, orgId: text, reason: z.string(), sentAt: time }))
    .meta({ description: 'E-mails of the identity provider that could not be sent.' }),
});

const StoredNotification = record('StoredNotification', {
  id,
  appCode: z.string(),
  type: z.string(),
  subject: z.string(),
  body: text,
  url: text,
  icon: text,
  payload,
  status: z.string(),
  statusReason: text,
  locale: z.string(),
  readAt: time,
  createdAt: timestamp,
  deliveries: z.array(
    z.strictObject({
      channel: z.string(),
      status: z.string(),
      attempts: z.int().nonnegative(),
      error: text,
      content: z.unknown().meta({ description: 'As it was rendered for this channel.' }),
      createdAt: timestamp,
      sentAt: time,
    }),
  ),
});

export const PersonalDataFile = record('PersonalData', {
  exportedAt: timestamp,
  person: StoredPerson,
  overrides: z.array(
    z.strictObject({
      appCode: z.string(),
      resourceType: z.string(),
      resourceId: z.string(),
      permission: z.string(),
      granted: z.boolean(),
      accessLevel: accessLevel.nullable(),
      since: timestamp,
      ...windowFields,
    }),
  ),
  events: z
    .array(z.strictObject({ appCode: z.string(), event: z.string(), actor: z.string(), at: timestamp }))
    .meta({ description: 'Logins and logouts, oldest first.' }),
  notifications: z
    .array(StoredNotification)
    .meta({ description: 'The inbox with its deliveries, and suppressed notifications; oldest first.' }),
  audit: z
    .array(
      z.strictObject({
        id,
        at: timestamp,
        actor: z.string(),
        action: z.string(),
        appCode: text,
        subject: text,
        before: z.unknown(),
        after: z.unknown(),
        requestId: text,
        reason: text,
      }),
    )
    .meta({ description: 'Records by and about the person, newest first.' }),
});

const file = jsonFile('usher-personal-data.json');
const DESCRIPTION =
  'One JSON document, sent in pieces: profile, roles, overrides, administration, preferences, push subscriptions without their keys, ' +
  'logins, notifications with their deliveries, audit records. An answer that breaks off is not valid JSON.';

const exportMine = defineRoute({
  method: 'get',
  path: '/api/profile/me/export',
  operation: 'exportMyData',
  tag: 'Profile',
  summary: 'Everything that is stored about me',
  description: DESCRIPTION,
  guard: signedIn,
  envelope: file,
  response: PersonalDataFile,
  errors: ['NOT_FOUND'],
  dear: true,
  handle: ({ personalData }, { caller }) => personalData.export(caller.email),
});

const exportUser = defineRoute({
  method: 'get',
  path: '/api/users/:email/export',
  operation: 'exportUserData',
  tag: 'Users',
  summary: 'Everything that is stored about a person',
  description: DESCRIPTION,
  guard: superAdmin,
  params: EmailParams,
  envelope: file,
  response: PersonalDataFile,
  errors: ['NOT_FOUND'],
  dear: true,
  handle: ({ personalData }, { params }) => personalData.export(params.email),
});

const count = z.int().nonnegative();

const ErasureReceipt = record('ErasureReceipt', {
  pseudonym: z.string().meta({ description: 'What stands for the address in the audit from now on.' }),
  removed: z.strictObject({
    people: count.meta({ description: '0 for an address that had no row of its own.' }),
    superadmins: count,
    appAdmins: count,
    roles: count,
    overrides: count,
    profiles: count,
    accounts: count.meta({ description: 'At identity providers.' }),
    applicationPreferences: count,
    events: count.meta({ description: 'Logins and logouts.' }),
    notificationPreferences: count,
    pushSubscriptions: count,
    registrationLocales: count,
    providerEvents: count.meta({ description: 'Their outcome stays, without the address.' }),
    refusedMails: count,
    notifications: count,
    deliveriesWaiting: count,
    deliveriesPast: count,
    auditRecords: count.meta({ description: 'They stay, with the pseudonym.' }),
  }),
  startedAt: timestamp,
  finishedAt: time.meta({ description: 'Null in a dry run.' }),
});

const eraseUser = defineRoute({
  method: 'post',
  path: '/api/users/:email/erase',
  operation: 'eraseUser',
  tag: 'Users',
  summary: 'Erase a person',
  description:
    'Every right ends in one transaction; the rest follows, and the answer comes when nothing is left. Audit records stay, with a ' +
    'pseudonym in place of the address. Repeated, it answers the receipt again. After 503 the rights may have ended already: repeat it.',
  guard: superAdmin,
  refusal: 'user.erased.refused',
  dryRun: true,
  params: EmailParams,
  response: ErasureReceipt,
  errors: ['NOT_FOUND', 'LAST_SUPERADMIN'],
  deadlineMs: DEADLINE_MS.manifest,
  handle: async ({ erasures }, input) => written(await erasures.erase(input.params.email, input)),
});

export const personalDataRoutes: readonly Route[] = [exportMine, exportUser, eraseUser];
