/** The identity provider's public routes, and its webhook: health, metadata, login (docs/reference/identity-provider.md#webhook). */

import { z } from 'zod';
import { zodIssues } from '../../base/zod-issues.ts';
import { isLifecycleEvent } from '../../provider/lifecycle.ts';
import { LOGIN_COOKIE } from '../../provider/login-cookie.ts';
import { readDetails } from '../../provider/webhook-event.ts';
import { json } from '../route/bodies.ts';
import { bare, noContent } from '../route/envelopes.ts';
import { email, text } from '../route/fields.ts';
import { developmentLogin, key, open, webhookSecret } from '../route/guards.ts';
import { answer, defineRoute, type Route } from '../route/route.ts';

const health = defineRoute({
  method: 'get',
  path: '/api/idp/health',
  operation: 'getProviderHealth',
  tag: 'Identity provider',
  summary: 'Show whether the identity provider can be reached',
  guard: open,
  response: z.strictObject({
    idpUrl: z.string().nullable().meta({ description: 'Its URL for users; null if none is configured.' }),
    status: z.enum(['ok', 'unreachable', 'not_configured']),
  }),
  handle: ({ provider }) => provider.discovery.health(),
});

const discovery = defineRoute({
  method: 'get',
  path: '/api/idp/discovery',
  operation: 'getProviderDiscovery',
  tag: 'Identity provider',
  summary: "The provider's OpenID Connect discovery document, unchanged",
  guard: open,
  envelope: bare,
  response: z.record(z.string(), z.unknown()),
  errors: ['IDP_UNREACHABLE', 'IDP_NOT_CONFIGURED'],
  handle: async ({ provider }) => ({ ...(await provider.discovery.metadata()) }),
});

const login = defineRoute({
  method: 'get',
  path: '/api/idp/login',
  operation: 'beginLogin',
  unsafe: true,
  tag: 'Identity provider',
  summary: "Redirect to the provider's login page",
  description: 'For development: in production, front ends talk to the provider directly.',
  guard: developmentLogin,
  query: z.strictObject({
    client_id: z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/, 'must be the ID of an OpenID Connect client')
      .meta({ description: 'The ID of a client that the provider knows.' }),
  }),
  envelope: noContent,
  status: 302,
  errors: ['IDP_UNREACHABLE', 'IDP_NOT_CONFIGURED'],
  handle: async ({ provider }, { query }) => answer(undefined, await provider.login.begin(query.client_id)),
});

const claims = z.record(z.string(), z.unknown()).nullable();
/** A value that the provider sends back. */
const returned = z.string().min(1).max(4096);

const callback = defineRoute({
  method: 'get',
  path: '/api/idp/callback',
  operation: 'finishLogin',
  unsafe: true,
  tag: 'Identity provider',
  summary: 'Handle the return from the login page',
  description: 'Unknown parameters are ignored.',
  guard: developmentLogin,
  holdsSecret: true,
  cookie: { name: LOGIN_COOKIE, description: 'Sealed; set by the login, valid for ten minutes and once.' },
  query: z.object({
    state: returned,
    code: returned.optional(),
    error: returned.optional(),
    iss: returned.optional(),
  }),
  response: z.strictObject({
    token_type: z.string(),
    access_token: z.string(),
    id_token: z.string().nullable(),
    id_token_claims: claims,
    access_token_claims: claims,
    userapi_verification: z
      .strictObject({ valid: z.boolean(), email: z.string().optional(), error: z.string().optional() })
      .meta({ description: 'How this service reads the access token.' }),
  }),
  errors: ['IDP_UNREACHABLE', 'IDP_REJECTED', 'IDP_NOT_CONFIGURED'],
  handle: async ({ provider }, { query, cookie }) => {
    const { tokens, clearing } = await provider.login.finish(query, cookie);
    return answer(tokens, { cookie: clearing });
  },
});

/** A number or name that the provider gave. */
const id = text(200).refine((value) => value !== '', 'must not be empty');
/** Type and address decide; what else cannot be stored is left out (docs/reference/identity-provider.md#webhook). */
const WebhookEvent = z.looseObject({ user: z.looseObject({ email }) });

/** Of events that this service does not handle only the type is read. */
const WebhookBody = z
  .looseObject({
    eventType: text(100),
    orgId: z.unknown().optional().meta({ description: 'The organization of the user.' }),
    user: z.unknown().optional().meta({ description: '`{email, firstName, lastName, displayName}`.' }),
    eventId: z.unknown().optional().meta({ description: 'A repeated event changes nothing.' }),
    occurredAt: z.unknown().optional().meta({
      description: "The time of the event. An event older than the user's last change of state changes nothing.",
    }),
  })
  .transform((body, context) => {
    const { eventType, orgId, eventId, occurredAt } = body;
    if (!isLifecycleEvent(eventType)) return { eventType, event: null };
    const parsed = WebhookEvent.safeParse(body);
    if (parsed.success) {
      const { user } = parsed.data;
      const details = readDetails({ user, orgId, eventId, occurredAt });
      return { eventType, event: { event: eventType, email: user.email, ...details } };
    }
    for (const { path, message } of zodIssues(parsed.error.issues, WebhookEvent)) {
      context.addIssue({ code: 'custom', path: path.split('.'), message });
    }
    return z.NEVER;
  });

const UNHANDLED = { source: 'webhook', orgId: null, email: null, outcome: 'ignored', reason: null } as const;

const webhook = defineRoute({
  method: 'post',
  path: '/api/idp/webhook',
  operation: 'receiveUserEvent',
  tag: 'Identity provider',
  summary: 'Receive a user event of the identity provider',
  description:
    '`user.created`, `user.updated`, `user.deactivated`, `user.reactivated`, `user.removed`; others get `applied: false`. Type and address decide: other fields that cannot be stored are left out and noted with the event, and unknown ones are ignored.',
  guard: webhookSecret,
  // A name with NUL must not keep anybody active: such texts are left out, with other members that cannot be stored.
  body: json(WebhookBody, 'record', { unstorable: true }),
  response: z.strictObject({
    applied: z.boolean().meta({ description: 'Whether it changed anything.' }),
  }),
  example: {
    body: {
      eventType: 'user.created',
      orgId: '285181292935381355',
      user: { email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' },
    },
  },
  handle: async ({ provider }, { body, requestId }) => {
    const { eventType, event } = body;
    if (event === null) {
      await provider.events.note({ ...UNHANDLED, eventType });
      return { applied: false };
    }
    const { result, revision } = await provider.lifecycle.tell({ ...event, requestId });
    return answer({ applied: result }, { revision });
  },
});

const registrationLocale = defineRoute({
  method: 'put',
  path: '/api/internal/auth/registration-locale',
  operation: 'recordRegistrationLocale',
  tag: 'Internal',
  summary: 'Record the language in which a user registers',
  description:
    'Kept for 24 hours, for registration e-mails and the future profile. A language that the registry or the application `auth` lacks becomes `en`.',
  guard: key('profile'),
  body: z.strictObject({
    email,
    orgId: id,
    locale: text(64)
      .refine((tag) => tag.trim() !== '', 'must not be empty')
      .meta({ description: 'A language tag such as `cs-CZ`.' }),
  }),
  response: z.strictObject({
    email: z.string(),
    orgId: z.string(),
    locale: z.string().meta({ description: 'The code that is kept.' }),
  }),
  example: { body: { email: 'ada@example.com', orgId: '285181292935381355', locale: 'cs-CZ' } },
  handle: ({ provider }, { body }) => provider.registrationLocales.keep(body),
});

export const providerRoutes: readonly Route[] = [health, discovery, login, callback, webhook, registrationLocale];
