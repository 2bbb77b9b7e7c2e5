/**
 * The configuration as one table (docs/reference/service.md#configuration): each key with its schema, its default, its
 * description, and its variable unless that is the key in capitals (HTTP_PORT). From it come the types, the checks,
 * `usher config`, its JSON Schema and the table in docs/operations/configuration.md. listener-keys.ts has the first rows.
 */

import { isApplicationCode, RULES } from '../base/grammar.ts';
import { timeZoneOf } from '../base/time-zones.ts';
import * as kind from './kinds.ts';
import { key, keys } from './kinds.ts';
import { LISTENERS_AND_DATABASE } from './listener-keys.ts';

export const KEYS = keys({
  ...LISTENERS_AND_DATABASE,
  dataDir: key(kind.text, {
    default: '.usher',
    about: 'The directory of the embedded database and of the secrets that a development start generates.',
  }),
  publicUrl: key(kind.ownOrigin, {
    example: 'https://usher.example.com',
    default: (before) => {
      const scheme = before['http.tls.cert'] === null ? 'http' : 'https';
      return before['http.port'] === 0 ? null : `${scheme}://localhost:${String(before['http.port'])}`;
    },
    otherwise: '`http://localhost:{http.port}`; https with `http.tls.cert`',
    about: 'The URL of the gateway for people and browsers: the base of every link. Without a path, query or fragment.',
  }),
  'cors.origins': key(kind.origins, {
    example: 'https://panel.example.com,https://app.example.com',
    default: [],
    otherwise: 'none; outside production every loopback origin (`http://localhost:3000`)',
    reload: 'value',
    about: 'Origins whose pages may call the gateway. The first refusal of an origin is logged.',
  }),
  'auth.issuer': key(kind.url, {
    example: 'https://idp.example.com',
    default: null,
    otherwise: 'none: the local issuer, outside production',
    about: 'The issuer of bearer tokens.',
  }),
  'auth.audience': key(kind.text, {
    example: 'usher',
    default: null,
    about: 'The audience that a token must name; required with an issuer.',
  }),
  'auth.jwksUrl': key(kind.url, {
    example: 'https://idp.example.com/oauth/v2/keys',
    default: null,
    otherwise: 'found by discovery',
    about: 'The key set of the issuer.',
  }),
  'auth.algorithms': key(kind.filled(kind.asymmetric), {
    example: 'RS256,ES256',
    default: ['RS256', 'PS256', 'ES256', 'EdDSA'],
    about: 'Algorithms that a token may be signed with.',
  }),
  'auth.requireVerifiedEmail': key(kind.flag, {
    default: ({ production }) => production,
    otherwise: 'true in production',
    about: 'Whether a token must state that its address is verified.',
  }),
  'auth.audienceClaim': key(kind.filledText, {
    default: 'aud',
    about: 'The claim that is compared with `auth.audience`: `client_id` for Cognito.',
  }),
  'auth.emailClaims': key(kind.filled(kind.filledText), {
    example: 'email,upn',
    default: ['email'],
    about: "The claims that may hold a token's e-mail address, in this order: [Providers](../guides/identity-provider.md#other-providers).",
  }),
  'auth.emailTrust': key(kind.oneOf(['claim', 'issuer', 'always']), {
    default: 'claim',
    about:
      'What verifies an address: the claim `email_verified`; the issuer, unless that claim says false; or the issuer, whatever it says.',
  }),
  'auth.acceptNonce': key(kind.flag, {
    default: false,
    about: 'Whether tokens that look like ID tokens count as access tokens, for providers whose access tokens look so (Dex).',
  }),
  'auth.bindSubject': key(kind.flag, {
    default: (before) => before['auth.issuer'] !== null,
    otherwise: 'true with `auth.issuer`, false with the local issuer',
    about: 'Whether an address belongs to the first account (`sub`) that comes with it.',
  }),
  'auth.organizations': key(kind.list(kind.text), {
    example: '271828182845904523,314159265358979323',
    default: [],
    otherwise: 'all',
    about: 'The organizations of the provider whose tokens are admitted: [Organizations](secure.md#organizations).',
  }),
  'auth.adminOrganizations': key(kind.list(kind.text), {
    example: '271828182845904523',
    default: [],
    otherwise: 'none: `auth.bindFirst` decides',
    about: 'The organizations whose tokens may bind an address that has administrative rights.',
  }),
  'auth.organizationClaim': key(kind.filledText, {
    default: 'urn:zitadel:iam:user:resourceowner:id',
    about: "The claim that names the organization of a token's account.",
  }),
  'auth.bindFirst': key(kind.flag, {
    default: null,
    otherwise: 'true while at most one organization of the provider is known',
    about:
      'Without `auth.adminOrganizations`: whether the first token may bind an address that has administrative rights.',
  }),
  'auth.introspectionUrl': key(kind.url, {
    example: 'https://idp.example.com/oauth/v2/introspect',
    default: null,
    otherwise: 'none: opaque tokens are refused',
    about: 'The introspection endpoint for opaque tokens.',
  }),
  'auth.clientId': key(kind.text, {
    example: 'usher',
    default: null,
    about: 'The client that introspects; required with `auth.introspectionUrl`.',
  }),
  'auth.clientSecret': key(kind.text, {
    example: 'a secret of the provider',
    default: null,
    secret: true,
    about: 'The secret of `auth.clientId`.',
  }),
  'internal.apiKeys': key(kind.list(kind.text), {
    variable: 'INTERNAL_API_KEY',
    example: 'billing:check+notify:a-long-random-text',
    default: [],
    secret: true,
    reload: 'value',
    about: 'Keys of backends: [Keys for backends](secure.md#keys-for-backends). Required in production.',
  }),
  'authzen.subjectTypes': key(kind.filled(kind.text), {
    example: 'user,identity',
    default: ['user', 'identity'],
    about:
      'Types of AuthZEN subjects that are people; others are denied: [reference/authzen.md](../reference/authzen.md#subjects).',
  }),
  'gateway.userHeader': key(kind.userHeader, {
    default: 'x-auth-request-email',
    about:
      'The header by which a proxy with a key of scope `check` names the user at `/api/gateway/:appCode/check`: [guides/gateways.md](../guides/gateways.md).',
  }),
  superadmins: key(kind.emails, {
    example: 'admin@example.com',
    default: (before) => (before['auth.issuer'] === null ? ['admin@example.com'] : []),
    otherwise: 'none; `admin@example.com` with the local issuer',
    about: 'The first SuperAdmins of a new database.',
  }),
  secretKey: key(
    kind.matching((value) => value.length >= 16, 'must have at least 16 characters'),
    {
      variable: 'USHER_SECRET_KEY',
      example: 'the output of: openssl rand -base64 32',
      default: null,
      otherwise: 'generated by the first start and stored in the database',
      secret: true,
      about: 'Seals cookies and signs the links that mails carry.',
    },
  ),
  brandSmtpKey: key(
    kind.list(kind.matching((value) => /^[A-Za-z0-9+/]{43}=$/.test(value), 'must be base64 of 32 bytes')),
    {
      example: 'the output of: openssl rand -base64 32',
      default: [],
      secret: true,
      about:
        'Seals the secrets of brands; required once a brand has an SMTP password. Several for rotation, the new one first: [guides/brands.md](../guides/brands.md).',
    },
  ),
  'idp.apiUrl': key(kind.baseUrl, {
    example: 'http://idp.internal:8080',
    default: null,
    about:
      "The identity provider's API. Without it names are stored here only, and routes that need it answer 503: [guides/identity-provider.md](../guides/identity-provider.md).",
  }),
  'idp.publicUrl': key(kind.baseUrl, {
    example: 'https://idp.example.com',
    default: null,
    about: 'The URL of the provider for browsers. Without it mails contain no links to the provider.',
  }),
  'idp.serviceAccountToken': key(kind.text, {
    example: 'a personal access token',
    default: null,
    secret: true,
    about: "The token for the provider's API.",
  }),
  'idp.webhookSecret': key(kind.list(kind.text), {
    example: 'a-long-random-text',
    default: [],
    secret: true,
    about: "Secrets of the provider's webhook; several for rotation. Without one the webhook answers 503.",
  }),
  'idp.notificationEndpoint': key(kind.url, {
    example: 'https://usher.example.com/api/idp/notifications/email',
    default: ({ publicUrl }) => (typeof publicUrl === 'string' ? `${publicUrl}/api/idp/notifications/email` : null),
    otherwise: '`{publicUrl}/api/idp/notifications/email`',
    about: 'The URL to which the provider sends its e-mails.',
  }),
  'idp.notificationAppCode': key(kind.matching(isApplicationCode, 'must be the code of an application'), {
    default: 'auth',
    about: 'The application whose templates these mails use.',
  }),
  'idp.notificationSigningKey': key(kind.text, {
    example: 'the key of the provider',
    default: null,
    otherwise: 'the key that setup stored',
    secret: true,
    about: "The key of the provider's signature of these calls: [guides/auth-emails.md](../guides/auth-emails.md).",
  }),
  'idp.eventSigningKeys': key(kind.list(kind.text), {
    example: 'the key of the target',
    default: [],
    otherwise: 'the key that set-up stored',
    secret: true,
    about:
      "Keys of the signature of the provider's native events; several for rotation. Without any key `/api/idp/events` is 404: [guides/identity-provider.md](../guides/identity-provider.md).",
  }),
  'idp.signatureHeader': key(
    kind.filled(kind.matching((value) => /^[A-Za-z0-9-]{1,64}$/.test(value), 'must be the name of a header')),
    {
      example: 'IDP-Signature',
      default: ['IDP-Signature', 'ZITADEL-Signature'],
      otherwise: 'IDP-Signature, ZITADEL-Signature',
      about: 'The headers that may carry the signature; the first that is there counts.',
    },
  ),
  'idp.signatureScheme': key(kind.oneOf(['body', 'timestamped', 'either']), {
    default: 'either',
    about: 'The signed content.',
  }),
  'idp.orgToApp': key(kind.applications, {
    example: '{"285181292935381355":"billing"}',
    default: new Map<string, string>(),
    otherwise: '`{}`',
    about: 'Organization IDs mapped to application codes; JSON in the environment.',
  }),
  'idp.reconcileAt': key(kind.timeOfDay, {
    example: '03:00',
    default: null,
    otherwise: 'never by itself',
    about:
      'When one process with the role `worker` compares people with the provider each day, in UTC: [guides/identity-provider.md](../guides/identity-provider.md).',
  }),
  'idp.reconcileBrakePercent': key(kind.whole(0, 100), {
    default: 10,
    about: 'A comparison that would deactivate more than this share of the active people changes nothing.',
  }),
  'idp.clientId': key(kind.text, {
    example: '285181292935381355@usher',
    default: null,
    about: 'The client of the development login.',
  }),
  'idp.clientSecret': key(kind.text, {
    example: 'a secret of the provider',
    default: null,
    otherwise: 'none: a public client',
    secret: true,
    about: 'The secret of `idp.clientId`.',
  }),
  'idp.devLogin': key(kind.flag, {
    default: ({ production }) => !production,
    otherwise: 'true outside production',
    about: 'Whether the development login is enabled.',
  }),
  'panel.enabled': key(kind.flag, {
    default: true,
    about: 'Whether the gateway serves the panel at `/panel/`.',
  }),
  'panel.clientId': key(kind.text, {
    example: '285181292935381355@usher',
    default: null,
    otherwise: 'none: with `auth.issuer` the panel says what to set',
    about:
      'The public client by which people sign in to the panel: [guides/identity-provider.md](../guides/identity-provider.md#8-a-client-for-the-panel).',
  }),
  'panel.scope': key(kind.text, {
    default: 'openid profile email offline_access',
    about: 'The scope that the panel asks for. ZITADEL also needs `urn:zitadel:iam:org:project:id:{id}:aud`.',
  }),
  'panel.authorizeParams': key(kind.authorizeParams, {
    example: '{"audience":"usher"}',
    default: {},
    otherwise: '`{}`',
    about:
      'Further parameters of the authorization request, such as `audience` or `resource`; an empty value leaves one out. JSON in the environment.',
  }),
  'notifications.settingsUrl': key(kind.url, {
    example: 'https://app.example.com/settings/notifications',
    default: null,
    about:
      'The page where users change their notification preferences: the unsubscribe page links to it. https (http too outside production).',
  }),
  'notifications.timezone': key(
    kind.matching((value) => timeZoneOf(value) !== null, `must be ${RULES.timeZone}`),
    {
      example: 'Europe/Prague',
      default: 'UTC',
      about: 'The time zone in which notifications write dates for users who have chosen none.',
    },
  ),
  'push.publicKey': key(kind.text, {
    example: 'the public VAPID key, base64url',
    default: null,
    otherwise: 'a pair kept in dataDir; in production none: push answers 503',
    about: 'The VAPID pair, with `push.privateKey` and `push.subject`.',
  }),
  'push.privateKey': key(kind.text, {
    example: 'the private VAPID key, base64url',
    default: null,
    secret: true,
    about: 'The private half of the VAPID pair.',
  }),
  'push.subject': key(
    kind.matching(
      (value) => /^(?:mailto:[^@\s]+@[^\s]+|https:\/\/[^\s]+)$/.test(value),
      'must be a mailto: or https: URL',
    ),
    { example: 'mailto:operations@example.com', default: null, about: 'The contact for push services.' },
  ),
  'push.allowedHosts': key(
    kind.list(
      kind.matching(
        (value) => /^[a-z0-9.-]+(?::\d{1,5})?$/.test(value) && URL.canParse(`https://${value}`),
        'must be a host name with an optional port',
      ),
    ),
    {
      example: 'push.example.com,localhost:9443',
      default: [],
      about: "Added to the browsers' push services: [Mail and push](mail-and-push.md).",
    },
  ),
  'entities.allowedOrigins': key(kind.origins, {
    example: 'https://billing.example.com',
    default: [],
    otherwise: 'none; outside production loopback',
    about: "Origins whose `listEndpoint` may be called with an administrator's token.",
  }),
  roles: key(kind.filled(kind.role), {
    variable: 'USHER_ROLES',
    default: ['rpc', 'gateway', 'worker'],
    about: 'The roles of this process.',
  }),
  'cache.megabytes': key(kind.whole(8, 65_536), {
    default: 64,
    about:
      'About how much memory cached policies, people and repeated questions may take in each process. 64 hold some 50,000 questions about 40,000 members.',
  }),
  'cache.policies': key(kind.count, {
    default: 1000,
    about: 'The maximum number of applications whose policy is cached.',
  }),
  'cache.persons': key(kind.count, {
    example: '20000',
    default: null,
    otherwise: 'as many as fit',
    about: 'The maximum number of people whose state is cached.',
  }),
  'cache.members': key(kind.count, {
    example: '20000',
    default: null,
    otherwise: 'as many as fit',
    about: 'The maximum number of members, a person in an application, whose roles and overrides are cached.',
  }),
  'cache.ttlMs': key(kind.whole(1, 86_400_000), { default: 30_000, about: 'How long a decision is cached.' }),
  'cache.maxEntries': key(kind.count, { default: 5000, about: 'The maximum number of cached decisions.' }),
  'decisionLog.denied': key(kind.flag, {
    default: false,
    about:
      'Whether every refusal is a line of the decision log: [guides/observability.md](../guides/observability.md#decision-log).',
  }),
  'decisionLog.privileged': key(kind.flag, {
    default: false,
    about: 'Whether every decision is that a SuperAdmin or AppAdmin gets for being one.',
  }),
  'decisionLog.sample': key(kind.share, {
    example: '0.01',
    default: 0,
    about: 'The share of all other decisions that is logged, from 0 to 1.',
  }),
  'decisionLog.file': key(kind.text, {
    example: '/var/log/usher/decisions.log',
    default: null,
    otherwise: 'standard output',
    about: 'The file to which lines are appended.',
  }),
  'decisionLog.emails': key(kind.oneOf(['plain', 'hashed', 'omitted']), {
    default: 'plain',
    about: 'How its lines say whose decision it was.',
  }),
  'decisionLog.resources': key(kind.oneOf(['plain', 'hashed', 'omitted']), {
    default: 'plain',
    about: 'How its lines name the record.',
  }),
  'decisionLog.hashKey': key(
    kind.matching((value) => value.length >= 24, 'must have 24 characters or more'),
    {
      secret: true,
      example: 'a result of `openssl rand -base64 32`',
      default: null,
      about: 'The key of its hashes; required once something is `hashed`.',
    },
  ),
  'retention.audit': key(kind.days, {
    example: '1095',
    default: null,
    otherwise: 'for ever',
    about: 'For how many days audit records are kept: [Retention](retention.md).',
  }),
  'retention.notifications': key(kind.days, {
    example: '365',
    default: null,
    otherwise: 'for ever',
    about: 'For how many days notifications are kept, with their deliveries.',
  }),
  'retention.unread': key(kind.days, {
    example: '730',
    default: null,
    otherwise: 'for ever',
    about: 'For how many days unread notifications keep those of the same month beyond `retention.notifications`.',
  }),
  'retention.deliveries': key(kind.days, {
    example: '90',
    default: null,
    otherwise: 'as long as notifications',
    about: 'For how many days deliveries are kept: what was sent, and the outcome.',
  }),
  'retention.events': key(kind.days, {
    example: '365',
    default: null,
    otherwise: 'for ever',
    about: 'For how many days logins into applications and logouts are kept.',
  }),
  'log.level': key(kind.oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']), {
    default: 'info',
    reload: 'value',
    about: 'The lowest level that is logged.',
  }),
});
