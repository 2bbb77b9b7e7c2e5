/**
 * The configuration as one table (docs/reference/service.md#configuration): each key with its schema, its default, its
 * description, and its variable unless that is the key in capitals (HTTP_PORT). From it come the types, the checks,
 * `usher config`, its JSON Schema and the table in docs/operations.md.
 */

import { isApplicationCode } from '../base/grammar.ts';
import * as kind from './kinds.ts';
import { key, keys } from './kinds.ts';

export const KEYS = keys({
  'http.host': key(kind.host, {
    default: ({ production }) => (production ? '0.0.0.0' : '127.0.0.1'),
    otherwise: '127.0.0.1; in production 0.0.0.0',
    about: 'The address at which the gateway listens.',
  }),
  'http.port': key(kind.port, { default: 8080, about: 'The port of the gateway; 0 picks a free one and prints it.' }),
  'http.trustProxy': key(kind.flag, {
    variable: 'TRUST_PROXY',
    default: false,
    about: 'Whether exactly one proxy stands before the gateway, whose `X-Forwarded-For` is trusted.',
  }),
  'http.rateLimit': key(kind.count, {
    example: '600',
    default: null,
    about:
      'Requests per minute and caller; an IPv6 /64 counts as one address. An address that sends more wrong keys or webhook secrets than that gets 429, even for valid ones, until the minute is over.',
  }),
  'grpc.host': key(kind.host, {
    default: (before) => before['http.host'] as string,
    otherwise: 'as http.host',
    about: 'The address at which gRPC listens.',
  }),
  'grpc.port': key(kind.port, { default: 50051, about: 'The port of gRPC; 0 picks one.' }),
  'grpc.tls.cert': key(kind.text, {
    example: '/etc/usher/tls.crt',
    default: null,
    about: 'A PEM file, with `grpc.tls.key`. Without it gRPC is cleartext.',
  }),
  'grpc.tls.key': key(kind.text, {
    example: '/etc/usher/tls.key',
    default: null,
    about: "The PEM file of the certificate's key.",
  }),
  'grpc.tls.clientCa': key(kind.text, {
    example: '/etc/usher/clients.crt',
    default: null,
    about: 'A PEM file; with it clients must show a certificate of that authority (mutual TLS).',
  }),
  'grpc.front': key(kind.flag, {
    default: false,
    about:
      'New: the service reads HTTP/2 itself and answers Check, BulkCheck, BatchCheck, Effective and facts at once; other calls pass through.',
  }),
  'grpc.processes': key(kind.whole(1, 256), {
    default: 1,
    about:
      'Processes that answer gRPC on the port, each with caches of its own. Above 1 the first process answers none: [Several cores](#several-cores).',
  }),
  'grpc.reflection': key(kind.flag, {
    default: ({ production }) => !production,
    otherwise: 'true outside production',
    about: 'Whether gRPC describes itself to every client.',
  }),
  'upstream.address': key(kind.address, {
    example: 'usher.internal:50051',
    default: null,
    about:
      'Another Usher. With it this process is an edge: neither database nor gateway, it answers gRPC from facts that it asks there: [guides/edges.md](guides/edges.md).',
  }),
  'upstream.key': key(kind.text, {
    example: 'a-long-random-text',
    default: null,
    otherwise: 'none; outside production the key in dataDir',
    secret: true,
    about: 'The key that the upstream accepts, with the scope `facts`.',
  }),
  'upstream.ca': key(kind.text, {
    example: '/etc/usher/upstream-ca.crt',
    default: null,
    otherwise: 'the authorities that Node.js knows',
    about: "A PEM file: the authority of the upstream's certificate.",
  }),
  'upstream.plaintext': key(kind.flag, {
    default: null,
    otherwise: 'true to loopback, false to all else',
    about: 'Whether the connection to the upstream is cleartext instead of TLS.',
  }),
  'ops.port': key(kind.port, {
    example: '9090',
    default: null,
    about: 'A listener for metrics and probes alone, whatever the roles are. Without it metrics are at the gateway.',
  }),
  'ops.host': key(kind.host, {
    default: (before) => (before['ops.port'] === null ? null : (before['http.host'] as string)),
    otherwise: 'as http.host',
    about: 'The address of that listener.',
  }),
  'shutdown.noticeMs': key(kind.whole(0, 300_000), {
    default: ({ production }) => (production ? 5000 : 0),
    otherwise: '5000 in production, else 0',
    example: '5000',
    about:
      'How long a process that ends still takes calls and connections after it has said that it is not ready, so that balancers can notice: [Stopping it](#stopping-it).',
  }),
  'database.url': key(kind.databaseUrl, {
    example: 'postgresql://usher@localhost:5432/usher',
    default: null,
    secret: true,
    about:
      'A PostgreSQL database: one host, the primary or a proxy of it. Default: the embedded database in dataDir; required in production.',
  }),
  'database.directUrl': key(kind.databaseUrl, {
    example: 'postgresql://usher@localhost:5432/usher',
    default: null,
    secret: true,
    otherwise: 'database.url',
    about:
      'The same database past the pooler that database.url leads to, for LISTEN and migrations: one or two connections a process.',
  }),
  'database.embedded': key(kind.flag, {
    default: null,
    about: '`true` allows the embedded database in production, `false` rules it out everywhere.',
  }),
  'database.poolSize': key(kind.whole(1, 500), { default: 10, about: 'Connections for reads and writes.' }),
  'database.migrateOnStart': key(kind.flag, {
    default: (before) => !before.production || before['database.url'] === null,
    otherwise: 'true outside production and for the embedded database',
    about: 'Whether a start migrates the database. If not, a start with pending migrations is refused.',
  }),
  dataDir: key(kind.text, {
    default: '.usher',
    about: 'The directory of the embedded database and of the secrets that a development start generates.',
  }),
  publicUrl: key(kind.baseUrl, {
    example: 'https://usher.example.com',
    default: (before) => (before['http.port'] === 0 ? null : `http://localhost:${String(before['http.port'])}`),
    otherwise: '`http://localhost:{http.port}`',
    about: 'The URL of the gateway for people and browsers: the base of every link.',
  }),
  'cors.origins': key(kind.origins, {
    example: 'https://panel.example.com,https://app.example.com',
    default: [],
    otherwise: 'none; outside production every loopback origin (`http://localhost:3000`)',
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
  'auth.bindSubject': key(kind.flag, {
    default: false,
    about: 'Whether an address belongs to the first account (`sub`) that comes with it.',
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
    about: 'Keys of backends: [Keys for backends](#keys-for-backends). Required in production.',
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
        'Seals the secrets of brands; required once a brand has an SMTP password. Several for rotation, the new one first: [guides/brands.md](guides/brands.md).',
    },
  ),
  'idp.apiUrl': key(kind.baseUrl, {
    example: 'http://idp.internal:8080',
    default: null,
    about:
      "The identity provider's API. Without it names are stored here only, and routes that need it answer 503: [guides/identity-provider.md](guides/identity-provider.md).",
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
    about: "The key of the provider's signature of these calls: [guides/auth-emails.md](guides/auth-emails.md).",
  }),
  'idp.signatureHeader': key(
    kind.matching((value) => /^[A-Za-z0-9-]{1,64}$/.test(value), 'must be the name of a header'),
    { default: 'IDP-Signature', about: 'The header of the signature.' },
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
      'The public client by which people sign in to the panel: [guides/identity-provider.md](guides/identity-provider.md#8-a-client-for-the-panel).',
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
      about: "Added to the browsers' push services: [Mail and push](#mail-and-push).",
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
  'log.level': key(kind.oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']), {
    default: 'info',
    about: 'The lowest level that is logged.',
  }),
});
