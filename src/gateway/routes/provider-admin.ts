/** Administration of the identity provider by SuperAdmins: its e-mail provider and its organizations (docs/reference/identity-provider.md#organizations). */

import { z } from 'zod';
import { tagOf } from '../../administration/records.ts';
import { isStorableUrl, RULES } from '../../base/grammar.ts';
import type { IdpOrganization } from '../../provider/organizations.ts';
import { bare } from '../route/envelopes.ts';
import { applicationCode, id, name, timestamp } from '../route/fields.ts';
import { superAdmin } from '../route/guards.ts';
import { record } from '../route/record.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const IDP_ERRORS = ['IDP_NOT_CONFIGURED', 'IDP_UNREACHABLE', 'IDP_REJECTED'] as const;

const NotificationProvider = record('NotificationProvider', {
  configured: z.boolean(),
  providerId: z.string().nullable(),
  endpoint: z.string().meta({ description: 'Where the provider sends its e-mails.' }),
  hasSigningKey: z.boolean(),
  serviceAccountConfigured: z.boolean(),
});

const readNotificationProvider = defineRoute({
  method: 'get',
  path: '/api/idp/admin/notification-provider',
  operation: 'getNotificationProvider',
  tag: 'Identity provider',
  summary: 'Show whether the provider sends its e-mails through this service',
  description: 'From the stored state; the provider is not queried.',
  guard: superAdmin,
  envelope: bare,
  response: NotificationProvider,
  handle: ({ provider }) => provider.notificationProvider.status(),
});

const setUpNotificationProvider = defineRoute({
  method: 'post',
  path: '/api/idp/admin/notification-provider/setup',
  operation: 'setUpNotificationProvider',
  tag: 'Identity provider',
  summary: 'Make the provider send its e-mails through this service',
  description:
    'Finds or creates it there, stores its signing key sealed, and activates it. Safe to repeat after a failure.',
  guard: superAdmin,
  refusal: 'notification_provider.set_up.refused',
  response: NotificationProvider,
  errors: [...IDP_ERRORS, 'ALREADY_EXISTS'],
  handle: ({ provider }, input) => provider.notificationProvider.setUp(input),
});

const activateNotificationProvider = defineRoute({
  method: 'post',
  path: '/api/idp/admin/notification-provider/activate',
  operation: 'activateNotificationProvider',
  tag: 'Identity provider',
  summary: 'Activate the notification provider again',
  guard: superAdmin,
  refusal: 'notification_provider.activated.refused',
  response: NotificationProvider,
  errors: [...IDP_ERRORS, 'NOT_FOUND'],
  handle: ({ provider }, input) => provider.notificationProvider.activate(input),
});

const Organization = record('Organization', {
  id: z.string(),
  name: z.string(),
  state: z.string().meta({ description: "The provider's own value, such as `ORGANIZATION_STATE_ACTIVE`." }),
  primaryDomain: z.string().nullable(),
});

function toJson({ id, name, state, primaryDomain }: IdpOrganization): z.output<typeof Organization> {
  return { id, name, state, primaryDomain };
}

const listOrganizations = defineRoute({
  method: 'get',
  path: '/api/idp/admin/orgs',
  operation: 'listOrganizations',
  tag: 'Identity provider',
  summary: 'All organizations of the provider',
  guard: superAdmin,
  response: z.array(Organization),
  errors: IDP_ERRORS,
  handle: async ({ provider }) => (await provider.organizations.list()).map(toJson),
});

const domain = z
  .string()
  .max(253)
  .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/, 'must be a lower-case host name');

const createOrganization = defineRoute({
  method: 'post',
  path: '/api/idp/admin/orgs',
  operation: 'createOrganization',
  tag: 'Identity provider',
  summary: 'Create an organization at the provider',
  guard: superAdmin,
  refusal: 'organization.created.refused',
  body: z.strictObject({ name, domain }),
  status: 201,
  response: Organization,
  errors: [...IDP_ERRORS, 'ALREADY_EXISTS'],
  example: { body: { name: 'Acme', domain: 'acme.example.com' } },
  handle: async ({ provider }, input) => toJson(await provider.organizations.create(input.body, input)),
});

/** It becomes a header of requests to the provider. */
const OrganizationParams = z.strictObject({
  orgId: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,200}$/, 'must be the ID of an organization')
    .meta({ description: "The provider's ID of the organization." }),
});

const brandOrganization = defineRoute({
  method: 'put',
  path: '/api/idp/admin/orgs/:orgId/branding',
  operation: 'updateOrganizationBranding',
  tag: 'Identity provider',
  summary: "Change how an organization's login pages look",
  description:
    'Changes the fields sent. The logo is fetched and passed to the provider: PNG, JPEG, GIF or WebP, at most 512 KiB.',
  guard: superAdmin,
  refusal: 'organization.branded.refused',
  params: OrganizationParams,
  body: z.strictObject({
    primaryColor: z
      .string()
      .regex(/^#(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i, 'must be a color such as #5469d4')
      .optional(),
    logoUrl: z
      .string()
      .refine((url) => isStorableUrl(url, true), `must be ${RULES.url}`)
      .optional(),
  }),
  response: z.strictObject({
    orgId: z.string(),
    primaryColor: z.string().nullable(),
    logoUrl: z.string().nullable().meta({ description: 'Where the provider keeps the logo.' }),
  }),
  errors: [...IDP_ERRORS, 'NOT_FOUND'],
  example: { body: { primaryColor: '#5469d4' } },
  handle: ({ provider }, input) => provider.organizations.brand(input.params.orgId, input.body, input),
});

const redirectUri = z
  .string()
  .refine(
    (uri) => isStorableUrl(uri, true) && !uri.includes('#'),
    'must be an http or https URL without credentials or fragment',
  );

const setUpOrganization = defineRoute({
  method: 'post',
  path: '/api/idp/admin/orgs/:orgId/setup',
  operation: 'setUpOrganization',
  tag: 'Identity provider',
  summary: 'Create a project and an OpenID Connect client for an application',
  description:
    'Finds each by its name or creates it, so it is safe to repeat. The organization then belongs to the application.',
  guard: superAdmin,
  refusal: 'organization.set_up.refused',
  params: OrganizationParams,
  body: z.strictObject({
    projectName: name,
    appName: name,
    redirectUris: z.array(redirectUri).min(1).max(50),
    userApiAppCode: applicationCode.meta({ description: 'The code of an application here.' }),
  }),
  response: z.strictObject({ projectId: z.string(), appId: z.string(), clientId: z.string() }),
  errors: [...IDP_ERRORS, 'NOT_FOUND', 'UNKNOWN_REFERENCE', 'ALREADY_EXISTS', 'ORGANIZATION_CONFIGURED'],
  example: {
    body: {
      projectName: 'Acme',
      appName: 'Billing',
      redirectUris: ['https://billing.example.com/callback'],
      userApiAppCode: 'billing',
    },
  },
  handle: ({ provider }, input) => provider.organizations.setUp(input.params.orgId, input.body, input),
});

const count = z.int().positive();
const Events = record('ProviderEvents', {
  events: z.array(
    z.strictObject({
      id,
      at: timestamp,
      source: z
        .enum(['webhook', 'mail', 'reconciliation', 'event'])
        .meta({ description: '`event`: a native event of the provider.' }),
      eventType: z
        .string()
        .nullable()
        .meta({ description: "The provider's name; null for a mail that is unreadable." }),
      orgId: z.string().nullable(),
      email: z.string().nullable(),
      outcome: z.enum(['applied', 'unchanged', 'ignored', 'sent', 'duplicate', 'failed', 'refused', 'unresolved']),
      reason: z.string().nullable().meta({
        description: "Why a mail went out in the provider's own words, or the code of the error that stopped it.",
      }),
      leftOut: z.array(z.string()).meta({
        description: 'Members of the event that could not be stored, by their paths, such as `user.firstName`.',
      }),
    }),
  ),
  fallbacks: z
    .array(z.strictObject({ eventType: z.string().nullable(), reason: z.string(), count, lastAt: timestamp }))
    .meta({ description: "Mails in the provider's own words, of the last 5,000 events." }),
  unknownOrganizations: z
    .array(z.strictObject({ orgId: z.string().nullable(), count, lastAt: timestamp }))
    .meta({ description: 'Mails of organizations without a brand, of the last 5,000 events.' }),
  unresolved: z
    .array(
      z.strictObject({
        id,
        subject: z.string().meta({ description: "The provider's ID of the user." }),
        sequence: z.int().nonnegative(),
        eventType: z.string(),
        orgId: z.string().nullable(),
        email: z.string().nullable().meta({ description: 'An address in the event.' }),
        reason: z.string().meta({ description: 'Why nobody was found, such as `NOT_FOUND` or `IDP_UNREACHABLE`.' }),
        tries: count,
        at: timestamp,
      }),
    )
    .meta({
      description:
        'Native events whose people could not be found yet, at most 200: looked for again when they are delivered again, and by the next comparison.',
    }),
  emailChanges: z
    .array(z.strictObject({ email: z.string(), to: z.string(), at: timestamp }))
    .meta({ description: 'People whose address was changed at the provider, and who have the old one here.' }),
});

const readEvents = defineRoute({
  method: 'get',
  path: '/api/idp/admin/events',
  operation: 'listProviderEvents',
  tag: 'Identity provider',
  summary: 'The last events and e-mails of the provider, and what came of them',
  description: 'The newest first, at most 200. No codes, links or texts of mails are stored.',
  guard: superAdmin,
  headers: ['if-none-match'],
  response: Events,
  handle: async ({ provider }) => {
    const shown = await provider.events.read();
    return answer(shown, { etag: tagOf(shown) });
  },
});

export const providerAdminRoutes: readonly Route[] = [
  readEvents,
  readNotificationProvider,
  setUpNotificationProvider,
  activateNotificationProvider,
  listOrganizations,
  createOrganization,
  brandOrganization,
  setUpOrganization,
];
