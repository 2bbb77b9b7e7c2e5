/** The configuration keys (docs/reference/service.md#configuration). Defaults stand in config.ts, where some depend on others. */

import { isApplicationCode } from '../base/grammar.ts';
import { baseUrl, flag, isOrigin, list, matching, oneOf, text, textMap, url, whole } from './parsers.ts';

const HOST = (variable: string) =>
  matching({ variable, example: '127.0.0.1' }, (v) => /^[A-Za-z0-9.:-]+$/.test(v), 'must be an address or a host name');
const PORT = (variable: string, example: string) => whole({ variable, example }, 0, 65_535);
const ANY = () => true;

/** libpq takes several hosts in one URL; the driver looks them up as one name. */
const HOST_LIST = /^postgres(?:ql)?:\/\/[^/?#]*,/;

/** What jose verifies with a public key. */
const ASYMMETRIC = new Set([
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]);

export const KEYS = {
  'http.host': HOST('HTTP_HOST'),
  'http.port': PORT('HTTP_PORT', '8080'),
  'grpc.host': HOST('GRPC_HOST'),
  'grpc.port': PORT('GRPC_PORT', '50051'),
  'grpc.tls.cert': text({ variable: 'GRPC_TLS_CERT', example: '/etc/usher/tls.crt' }),
  'grpc.tls.key': text({ variable: 'GRPC_TLS_KEY', example: '/etc/usher/tls.key' }),
  'grpc.tls.clientCa': text({ variable: 'GRPC_TLS_CLIENT_CA', example: '/etc/usher/clients.crt' }),
  'grpc.reflection': flag({ variable: 'GRPC_REFLECTION', example: 'true' }),
  'ops.host': HOST('OPS_HOST'),
  'ops.port': PORT('OPS_PORT', '9090'),
  'database.url': matching(
    { variable: 'DATABASE_URL', example: 'postgresql://usher@localhost:5432/usher', secret: true },
    (v) => /^postgres(?:ql)?:$/.test(URL.parse(v)?.protocol ?? '') && !HOST_LIST.test(v),
    (v) =>
      HOST_LIST.test(v)
        ? 'names several hosts: name one address that leads to the primary, such as a proxy or a service'
        : 'must be a postgresql:// URL',
  ),
  'database.embedded': flag({ variable: 'DATABASE_EMBEDDED', example: 'true' }),
  'database.poolSize': whole({ variable: 'DATABASE_POOL_SIZE', example: '10' }, 1, 500),
  'database.migrateOnStart': flag({ variable: 'DATABASE_MIGRATE_ON_START', example: 'false' }),
  dataDir: text({ variable: 'DATA_DIR', example: '.usher' }),
  publicUrl: baseUrl({ variable: 'PUBLIC_URL', example: 'https://usher.example.com' }),
  'cors.origins': list(
    { variable: 'CORS_ORIGINS', example: 'https://panel.example.com,https://app.example.com' },
    isOrigin,
    'is no origin (scheme, host, port, nothing after)',
  ),
  'http.trustProxy': flag({ variable: 'TRUST_PROXY', example: 'true' }),
  'http.rateLimit': whole({ variable: 'HTTP_RATE_LIMIT', example: '600' }, 1, 10_000_000),
  'auth.issuer': url({ variable: 'AUTH_ISSUER', example: 'https://idp.example.com' }),
  'auth.audience': text({ variable: 'AUTH_AUDIENCE', example: 'usher' }),
  'auth.jwksUrl': url({ variable: 'AUTH_JWKS_URL', example: 'https://idp.example.com/oauth/v2/keys' }),
  'auth.requireVerifiedEmail': flag({ variable: 'AUTH_REQUIRE_VERIFIED_EMAIL', example: 'true' }),
  'auth.bindSubject': flag({ variable: 'AUTH_BIND_SUBJECT', example: 'true' }),
  'internal.apiKeys': list(
    { variable: 'INTERNAL_API_KEY', example: 'billing:check+notify:a-long-random-text', secret: true },
    ANY,
    '',
  ),
  superadmins: list({ variable: 'SUPERADMINS', example: 'admin@example.com' }, ANY, ''),
  'auth.algorithms': list(
    { variable: 'AUTH_ALGORITHMS', example: 'RS256,ES256', filled: true },
    (v) => ASYMMETRIC.has(v),
    'is no asymmetric algorithm (symmetric ones and none are never taken)',
  ),
  'auth.introspectionUrl': url({
    variable: 'AUTH_INTROSPECTION_URL',
    example: 'https://idp.example.com/oauth/v2/introspect',
  }),
  'auth.clientId': text({ variable: 'AUTH_CLIENT_ID', example: 'usher' }),
  'auth.clientSecret': text({ variable: 'AUTH_CLIENT_SECRET', example: 'a secret of the provider', secret: true }),
  secretKey: matching(
    { variable: 'USHER_SECRET_KEY', example: 'the output of: openssl rand -base64 32', secret: true },
    (v) => v.length >= 16,
    'must have at least 16 characters',
  ),
  roles: list(
    { variable: 'USHER_ROLES', example: 'rpc,gateway,worker', filled: true },
    (v) => v === 'rpc' || v === 'gateway' || v === 'worker',
    'is none of rpc, gateway, worker',
  ),
  'cache.policies': whole({ variable: 'CACHE_POLICIES', example: '1000' }, 1, 10_000_000),
  'cache.persons': whole({ variable: 'CACHE_PERSONS', example: '20000' }, 1, 10_000_000),
  'cache.members': whole({ variable: 'CACHE_MEMBERS', example: '20000' }, 1, 10_000_000),
  'cache.ttlMs': whole({ variable: 'CACHE_TTL_MS', example: '30000' }, 1, 86_400_000),
  'cache.maxEntries': whole({ variable: 'CACHE_MAX_ENTRIES', example: '5000' }, 1, 10_000_000),
  'idp.apiUrl': baseUrl({ variable: 'IDP_API_URL', example: 'http://idp.internal:8080' }),
  'idp.publicUrl': baseUrl({ variable: 'IDP_PUBLIC_URL', example: 'https://idp.example.com' }),
  'idp.serviceAccountToken': text({
    variable: 'IDP_SERVICE_ACCOUNT_TOKEN',
    example: 'a personal access token',
    secret: true,
  }),
  'idp.webhookSecret': list({ variable: 'IDP_WEBHOOK_SECRET', example: 'a-long-random-text', secret: true }, ANY, ''),
  'idp.notificationEndpoint': url({
    variable: 'IDP_NOTIFICATION_ENDPOINT',
    example: 'https://usher.example.com/api/idp/notifications/email',
  }),
  'idp.notificationAppCode': matching(
    { variable: 'IDP_NOTIFICATION_APP_CODE', example: 'auth' },
    isApplicationCode,
    'must be the code of an application',
  ),
  'idp.notificationSigningKey': text({
    variable: 'IDP_NOTIFICATION_SIGNING_KEY',
    example: 'the key of the provider',
    secret: true,
  }),
  'idp.signatureHeader': matching(
    { variable: 'IDP_SIGNATURE_HEADER', example: 'IDP-Signature' },
    (v) => /^[A-Za-z0-9-]{1,64}$/.test(v),
    'must be the name of a header',
  ),
  'idp.signatureScheme': oneOf({ variable: 'IDP_SIGNATURE_SCHEME', example: 'either' }, [
    'body',
    'timestamped',
    'either',
  ]),
  'idp.orgToApp': textMap({ variable: 'IDP_ORG_TO_APP', example: '{"285181292935381355":"billing"}' }),
  'idp.clientId': text({ variable: 'IDP_CLIENT_ID', example: '285181292935381355@usher' }),
  'idp.clientSecret': text({ variable: 'IDP_CLIENT_SECRET', example: 'a secret of the provider', secret: true }),
  'idp.devLogin': flag({ variable: 'IDP_DEV_LOGIN', example: 'false' }),
  brandSmtpKey: list(
    { variable: 'BRAND_SMTP_KEY', example: 'the output of: openssl rand -base64 32', secret: true },
    (v) => /^[A-Za-z0-9+/]{43}=$/.test(v),
    'must be base64 of 32 bytes',
  ),
  'notifications.settingsUrl': url({
    variable: 'NOTIFICATIONS_SETTINGS_URL',
    example: 'https://app.example.com/settings/notifications',
  }),
  'push.publicKey': text({ variable: 'PUSH_PUBLIC_KEY', example: 'the public VAPID key, base64url' }),
  'push.privateKey': text({ variable: 'PUSH_PRIVATE_KEY', example: 'the private VAPID key, base64url', secret: true }),
  'push.subject': matching(
    { variable: 'PUSH_SUBJECT', example: 'mailto:operations@example.com' },
    (v) => /^(?:mailto:[^@\s]+@[^\s]+|https:\/\/[^\s]+)$/.test(v),
    'must be a mailto: or https: URL',
  ),
  'push.allowedHosts': list(
    { variable: 'PUSH_ALLOWED_HOSTS', example: 'push.example.com,localhost:9443' },
    (v) => /^[a-z0-9.-]+(?::\d{1,5})?$/.test(v) && URL.canParse(`https://${v}`),
    'is no host name with an optional port',
  ),
  'entities.allowedOrigins': list(
    { variable: 'ENTITIES_ALLOWED_ORIGINS', example: 'https://billing.example.com' },
    isOrigin,
    'is no origin (scheme, host, port, nothing after)',
  ),
  'log.level': oneOf({ variable: 'LOG_LEVEL', example: 'info' }, [
    'trace',
    'debug',
    'info',
    'warn',
    'error',
    'fatal',
    'silent',
  ]),
};
