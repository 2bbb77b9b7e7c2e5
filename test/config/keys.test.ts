import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { effectiveValues, type RawConfig, toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';

interface Row {
  variable: string;
  /** In development, and in production where that is another. */
  byDefault: unknown;
  inProduction?: unknown;
  /** As the environment holds it, what it amounts to, and as the file may hold it where not as text. */
  given: string;
  amountsTo: unknown;
  inFile?: unknown;
}

const row = (
  variable: string,
  byDefault: unknown,
  given: string,
  amountsTo: unknown,
  more: Partial<Row> = {},
): Row => ({
  variable,
  byDefault,
  given,
  amountsTo,
  ...more,
});
const KEY_32 = Buffer.alloc(32, 7).toString('base64');

/** Every key that operators are promised, with its variable and its defaults. The values fit together: all can be set at once. */
const PROMISED: Readonly<Record<string, Row>> = {
  'http.host': row('HTTP_HOST', '127.0.0.1', '127.0.0.2', '127.0.0.2', { inProduction: '0.0.0.0' }),
  'http.port': row('HTTP_PORT', 8080, '8181', 8181, { inFile: 8181 }),
  'grpc.host': row('GRPC_HOST', '127.0.0.1', '127.0.0.3', '127.0.0.3', { inProduction: '0.0.0.0' }),
  'grpc.port': row('GRPC_PORT', 50051, '50052', 50052),
  'grpc.tls.cert': row('GRPC_TLS_CERT', null, '/tls.crt', '/tls.crt'),
  'grpc.tls.key': row('GRPC_TLS_KEY', null, '/tls.key', '/tls.key'),
  'grpc.tls.clientCa': row('GRPC_TLS_CLIENT_CA', null, '/ca.crt', '/ca.crt'),
  'grpc.connectionAgeMs': row('GRPC_CONNECTION_AGE_MS', 300_000, '1000', 1000),
  'grpc.connectionGraceMs': row('GRPC_CONNECTION_GRACE_MS', 20_000, '1001', 1001),
  'grpc.connectionIdleMs': row('GRPC_CONNECTION_IDLE_MS', 600_000, '1002', 1002),
  'grpc.reflection': row('GRPC_REFLECTION', true, 'false', false, { inProduction: false, inFile: false }),
  'ops.host': row('OPS_HOST', null, '127.0.0.4', '127.0.0.4'),
  'ops.port': row('OPS_PORT', null, '9191', 9191),
  'shutdown.noticeMs': row('SHUTDOWN_NOTICE_MS', 0, '1500', 1500, { inProduction: 5000 }),
  'backup.everyHours': row('BACKUP_EVERY_HOURS', null, '24', 24, { inFile: 24 }),
  'backup.keep': row('BACKUP_KEEP', 7, '3', 3, { inFile: 3 }),
  'backup.dir': row('BACKUP_DIR', null, '/var/backups/usher', '/var/backups/usher'),
  'database.url': row('DATABASE_URL', null, 'postgresql://usher@db/usher', 'postgresql://usher@db/usher'),
  'database.embedded': row('DATABASE_EMBEDDED', null, 'false', false, { inFile: false }),
  'database.waitMs': row('DATABASE_WAIT_MS', 0, '60000', 60_000, { inProduction: 900_000 }),
  'database.poolSize': row('DATABASE_POOL_SIZE', 10, '7', 7),
  'database.migrateOnStart': row('DATABASE_MIGRATE_ON_START', true, 'false', false, { inProduction: false }),
  dataDir: row('DATA_DIR', '.usher', '/data', '/data'),
  publicUrl: row('PUBLIC_URL', 'http://localhost:8080', 'https://usher.example.com/', 'https://usher.example.com'),
  'cors.origins': row('CORS_ORIGINS', [], 'https://a.example.com, https://b.example.com', [
    'https://a.example.com',
    'https://b.example.com',
  ]),
  'http.tls.cert': row('HTTP_TLS_CERT', null, '/http.crt', '/http.crt'),
  'http.tls.key': row('HTTP_TLS_KEY', null, '/http.key', '/http.key'),
  'http.tls.clientCa': row('HTTP_TLS_CLIENT_CA', null, '/http-ca.crt', '/http-ca.crt'),
  'http.trustProxy': row('TRUST_PROXY', false, 'true', true),
  'http.rateLimit': row('HTTP_RATE_LIMIT', null, '600', 600),
  'auth.issuer': row('AUTH_ISSUER', null, 'https://idp.example.com', 'https://idp.example.com'),
  'auth.audience': row('AUTH_AUDIENCE', null, '123456789012345678', '123456789012345678'),
  'auth.jwksUrl': row('AUTH_JWKS_URL', null, 'https://idp.example.com/keys', 'https://idp.example.com/keys'),
  'auth.requireVerifiedEmail': row('AUTH_REQUIRE_VERIFIED_EMAIL', false, 'true', true, { inProduction: true }),
  'auth.bindSubject': row('AUTH_BIND_SUBJECT', false, '1', true, { inProduction: true }),
  'auth.audienceClaim': row('AUTH_AUDIENCE_CLAIM', 'aud', 'client_id', 'client_id'),
  'auth.emailClaims': row('AUTH_EMAIL_CLAIMS', ['email'], 'email, upn', ['email', 'upn']),
  'auth.emailTrust': row('AUTH_EMAIL_TRUST', 'claim', 'issuer', 'issuer'),
  'auth.acceptNonce': row('AUTH_ACCEPT_NONCE', false, 'true', true),
  'auth.organizations': row('AUTH_ORGANIZATIONS', [], '17,18', ['17', '18']),
  'auth.adminOrganizations': row('AUTH_ADMIN_ORGANIZATIONS', [], '17', ['17']),
  'auth.organizationClaim': row('AUTH_ORGANIZATION_CLAIM', 'urn:zitadel:iam:user:resourceowner:id', 'org_id', 'org_id'),
  'auth.bindFirst': row('AUTH_BIND_FIRST', null, 'false', false),
  'internal.apiKeys': row('INTERNAL_API_KEY', [], 'a-key-of-many-characters,other:check:another-key-of-many', [
    'a-key-of-many-characters',
    'other:check:another-key-of-many',
  ]),
  superadmins: row('SUPERADMINS', ['admin@example.com'], 'Ada@example.com', ['ada@example.com'], { inProduction: [] }),
  'auth.algorithms': row('AUTH_ALGORITHMS', ['RS256', 'PS256', 'ES256', 'EdDSA'], 'ES256', ['ES256']),
  'auth.introspectionUrl': row(
    'AUTH_INTROSPECTION_URL',
    null,
    'https://idp.example.com/i',
    'https://idp.example.com/i',
  ),
  'auth.clientId': row('AUTH_CLIENT_ID', null, 'usher', 'usher'),
  'auth.clientSecret': row('AUTH_CLIENT_SECRET', null, 'secret-of-a-client', 'secret-of-a-client'),
  secretKey: row('USHER_SECRET_KEY', null, 'sixteen-or-more-characters', 'sixteen-or-more-characters'),
  roles: row('USHER_ROLES', ['rpc', 'gateway', 'worker'], 'gateway, worker', ['gateway', 'worker']),
  'cache.megabytes': row('CACHE_MEGABYTES', 64, '128', 128),
  'cache.policies': row('CACHE_POLICIES', 1000, '11', 11),
  'cache.persons': row('CACHE_PERSONS', null, '12', 12),
  'cache.members': row('CACHE_MEMBERS', null, '13', 13),
  'cache.ttlMs': row('CACHE_TTL_MS', 30_000, '14', 14),
  'cache.maxEntries': row('CACHE_MAX_ENTRIES', 5000, '15', 15),
  'idp.apiUrl': row('IDP_API_URL', null, 'http://idp.internal:8080/', 'http://idp.internal:8080'),
  'idp.publicUrl': row('IDP_PUBLIC_URL', null, 'https://idp.example.com', 'https://idp.example.com'),
  'idp.serviceAccountToken': row('IDP_SERVICE_ACCOUNT_TOKEN', null, 'a-token', 'a-token'),
  'idp.webhookSecret': row('IDP_WEBHOOK_SECRET', [], 'one,two', ['one', 'two'], { inFile: ['one', 'two'] }),
  'idp.notificationEndpoint': row(
    'IDP_NOTIFICATION_ENDPOINT',
    'http://localhost:8080/api/idp/notifications/email',
    'https://u.example.com/mail',
    'https://u.example.com/mail',
    { inProduction: 'https://usher.example.com/api/idp/notifications/email' },
  ),
  'idp.notificationAppCode': row('IDP_NOTIFICATION_APP_CODE', 'auth', 'mails', 'mails'),
  'idp.notificationSigningKey': row('IDP_NOTIFICATION_SIGNING_KEY', null, 'a-signing-key', 'a-signing-key'),
  'idp.signatureHeader': row('IDP_SIGNATURE_HEADER', ['IDP-Signature', 'ZITADEL-Signature'], 'X-Signed', ['X-Signed'], {
    inFile: ['X-Signed'],
  }),
  'idp.signatureScheme': row('IDP_SIGNATURE_SCHEME', 'either', 'body', 'body'),
  'idp.orgToApp': row('IDP_ORG_TO_APP', {}, '{"1":"billing"}', { 1: 'billing' }, { inFile: { 1: 'billing' } }),
  'idp.clientId': row('IDP_CLIENT_ID', null, 'client', 'client'),
  'outbound.proxy': row(
    'OUTBOUND_PROXY',
    null,
    'https://ada:secret-of-a-proxy@proxy:3128',
    'https://ada:secret-of-a-proxy@proxy:3128',
  ),
  'outbound.noProxy': row('OUTBOUND_NO_PROXY', [], 'IDP.internal, .corp.example.com, ::1', [
    'idp.internal',
    '.corp.example.com',
    '::1',
  ]),
  'idp.clientSecret': row('IDP_CLIENT_SECRET', null, 'secret-of-another', 'secret-of-another'),
  'idp.devLogin': row('IDP_DEV_LOGIN', true, 'false', false, { inProduction: false }),
  'brands.tokenOrigins': row('BRANDS_TOKEN_ORIGINS', [], 'https://l.internal:8443', ['https://l.internal:8443']),
  brandSmtpKey: row('BRAND_SMTP_KEY', [], KEY_32, [KEY_32]),
  'notifications.timezone': row('NOTIFICATIONS_TIMEZONE', 'UTC', 'Europe/Prague', 'Europe/Prague'),
  'push.publicKey': row('PUSH_PUBLIC_KEY', null, 'public', 'public'),
  'push.privateKey': row('PUSH_PRIVATE_KEY', null, 'kept-for-oneself', 'kept-for-oneself'),
  'push.subject': row('PUSH_SUBJECT', null, 'mailto:ops@example.com', 'mailto:ops@example.com'),
  'push.allowedHosts': row('PUSH_ALLOWED_HOSTS', [], 'push.example.com', ['push.example.com']),
  'entities.allowedOrigins': row('ENTITIES_ALLOWED_ORIGINS', [], 'https://e.example.com', ['https://e.example.com']),
  'panel.enabled': row('PANEL_ENABLED', true, 'false', false),
  'panel.clientId': row('PANEL_CLIENT_ID', null, 'panel', 'panel'),
  'panel.scope': row('PANEL_SCOPE', 'openid profile email offline_access', 'openid', 'openid'),
  'panel.authorizeParams': row(
    'PANEL_AUTHORIZE_PARAMS',
    {},
    '{"audience":"usher"}',
    { audience: 'usher' },
    { inFile: { audience: 'usher' } },
  ),
  'decisionLog.denied': row('DECISION_LOG_DENIED', false, 'true', true, { inFile: true }),
  'decisionLog.privileged': row('DECISION_LOG_PRIVILEGED', false, 'true', true, { inFile: true }),
  'decisionLog.sample': row('DECISION_LOG_SAMPLE', 0, '0.01', 0.01, { inFile: 0.01 }),
  'decisionLog.file': row('DECISION_LOG_FILE', null, '/var/log/usher.log', '/var/log/usher.log'),
  'decisionLog.emails': row('DECISION_LOG_EMAILS', 'plain', 'hashed', 'hashed'),
  'decisionLog.resources': row('DECISION_LOG_RESOURCES', 'plain', 'omitted', 'omitted'),
  'decisionLog.hashKey': row('DECISION_LOG_HASH_KEY', null, KEY_32, KEY_32),
  'log.level': row('LOG_LEVEL', 'info', 'warn', 'warn'),
};
const rows = Object.entries(PROMISED);

const ENV = Object.fromEntries(rows.map(([, { variable, given }]) => [variable, given]));
/** What production cannot do without; their own defaults are not looked at. */
const REQUIRED = ['database.url', 'auth.issuer', 'auth.audience', 'internal.apiKeys', 'publicUrl'];
const PRODUCTION = {
  NODE_ENV: 'production',
  ...Object.fromEntries(REQUIRED.map((key) => [PROMISED[key]?.variable ?? '', PROMISED[key]?.given])),
};

/** `a.b: x` as YAML nests it. */
function nested(): Record<string, unknown> {
  const file: Record<string, unknown> = {};
  for (const [key, { given, inFile }] of rows) {
    const parts = key.split('.');
    const name = parts.pop() ?? '';
    let at = file;
    for (const part of parts) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at[name] = inFile ?? given;
  }
  return file;
}

/** A value by its key, secrets included. */
function amountOf(raw: RawConfig, key: string): unknown {
  const shown = effectiveValues(raw).find((value) => value.key === key)?.value;
  if (!KEYS[key as keyof typeof KEYS].secret) return shown;
  const { brandSmtpKeys, idp, ...config } = toConfig(raw);
  if (key === 'brandSmtpKey') return brandSmtpKeys;
  if (key === 'idp.webhookSecret') return idp.webhookSecrets;
  return key.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], { ...config, idp });
}

const sourceOf = (raw: RawConfig, key: string) => effectiveValues(raw).find((value) => value.key === key);

describe('every key that operators are promised', () => {
  test.each(rows)('%s has its variable, its default, and its configured value', (key, promised) => {
    const { variable, byDefault, inProduction = byDefault, amountsTo } = promised;
    expect(KEYS[key as keyof typeof KEYS]?.variable).toBe(variable);
    expect(amountOf({ env: {} }, key)).toEqual(byDefault);
    if (!REQUIRED.includes(key)) expect(amountOf({ env: PRODUCTION }, key)).toEqual(inProduction);
    expect(amountOf({ env: ENV }, key)).toEqual(amountsTo);
    expect(sourceOf({ env: ENV }, key)).toMatchObject({ variable, source: 'environment' });
    expect(amountOf({ env: {}, file: nested() }, key)).toEqual(amountsTo);
    expect(sourceOf({ env: {}, file: nested() }, key)).toMatchObject({ source: 'file' });
  });

  test('defaults that depend on other keys follow them', () => {
    expect(toConfig({ env: { HTTP_HOST: '127.0.0.9', OPS_PORT: '9' } })).toMatchObject({
      grpc: { host: '127.0.0.9' },
      ops: { host: '127.0.0.9', port: 9 },
    });
    const at = toConfig({ env: { HTTP_PORT: '81' } });
    expect(at.publicUrl).toBe('http://localhost:81');
    expect(at.idp.notificationEndpoint).toBe('http://localhost:81/api/idp/notifications/email');
    const embedded = { ...PRODUCTION, DATABASE_URL: undefined, DATABASE_EMBEDDED: 'true' };
    expect(toConfig({ env: embedded }).database.migrateOnStart).toBe(true);
    expect(toConfig({ env: { ...embedded, DATABASE_MIGRATE_ON_START: 'false' } }).database.migrateOnStart).toBe(false);
    // A list that is given goes before the local administrator.
    expect(toConfig({ env: { SUPERADMINS: 'ada@example.com' } }).superadmins).toEqual(['ada@example.com']);
  });

  test('usher config prints no secret', () => {
    const shown = JSON.stringify(effectiveValues({ env: ENV }));
    for (const [key, { given }] of rows) {
      if (KEYS[key as keyof typeof KEYS].secret) expect([key, shown.includes(given)]).toEqual([key, false]);
    }
  });

  test('docs/operations/configuration.md has every key and variable of the program', () => {
    const text = readFileSync(join(import.meta.dirname, '../../docs/operations/configuration.md'), 'utf8');
    const table = text.slice(text.indexOf('| key | variable | default |'), text.indexOf('## Secrets in files'));
    const missing = Object.entries(KEYS).filter(
      ([key, { variable }]) =>
        !new RegExp(`[| ,]${key.replaceAll('.', '\\.')}[ ,]`).test(table) ||
        !new RegExp(`\\b${variable}\\b`).test(table),
    );
    expect(missing.map(([key]) => key)).toEqual([]);
  });
});
