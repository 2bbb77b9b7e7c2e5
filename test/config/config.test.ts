import { describe, expect, test } from '@jest/globals';
import { type ConfigError, effectiveValues, everyListenerIsLoopback, toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';
import { faultsOf } from './faults.ts';

const PRODUCTION = {
  NODE_ENV: 'production',
  AUTH_ISSUER: 'https://idp.example.com',
  AUTH_AUDIENCE: 'usher',
  PUBLIC_URL: 'https://usher.example.com',
  INTERNAL_API_KEY: 'a-key-of-more-than-24-characters',
};

describe('defaults', () => {
  test('without settings, development runs on loopback with the embedded database and a local administrator', () => {
    const config = toConfig({ env: {} });
    expect(config).toMatchObject({
      production: false,
      http: { host: '127.0.0.1', port: 8080, trustProxy: false, rateLimit: null },
      grpc: { host: '127.0.0.1', port: 50051, reflection: true, tls: null },
      ops: null,
      database: { url: null, poolSize: 10, migrateOnStart: true },
      dataDir: '.usher',
      publicUrl: 'http://localhost:8080',
      auth: {
        issuer: null,
        algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
        requireVerifiedEmail: false,
        bindSubject: false,
      },
      internal: { apiKeys: [] },
      superadmins: ['admin@example.com'],
      roles: ['rpc', 'gateway', 'worker'],
      cache: { megabytes: 64, policies: 1000, persons: null, members: null, ttlMs: 30_000, maxEntries: 5000 },
      idp: {
        notificationAppCode: 'auth',
        signatureHeader: ['IDP-Signature', 'ZITADEL-Signature'],
        signatureScheme: 'either',
        devLogin: true,
      },
      log: { level: 'info' },
    });
    expect(config.idp.notificationEndpoint).toBe('http://localhost:8080/api/idp/notifications/email');
    expect(everyListenerIsLoopback(config)).toBe(true);
  });

  test('production listens everywhere, requires verified e-mail, and neither migrates nor invents an administrator', () => {
    const config = toConfig({ env: { ...PRODUCTION, DATABASE_URL: 'postgresql://usher@db/usher' } });
    expect(config).toMatchObject({
      production: true,
      http: { host: '0.0.0.0' },
      grpc: { host: '0.0.0.0', reflection: false },
      database: { migrateOnStart: false },
      auth: { requireVerifiedEmail: true },
      superadmins: [],
      idp: { devLogin: false },
    });
    expect(toConfig({ env: { ...PRODUCTION, DATABASE_EMBEDDED: 'true' } }).database).toMatchObject({
      url: null,
      migrateOnStart: true,
    });
  });

  test('gRPC listens on the HTTP host, and port 0 leaves the public URL open', () => {
    expect(toConfig({ env: { HTTP_HOST: '127.0.0.5' } }).grpc.host).toBe('127.0.0.5');
    expect(toConfig({ env: { HTTP_PORT: '0' } }).publicUrl).toBeNull();
  });
});

describe('sources', () => {
  test('the environment overrides the file, which overrides the default', () => {
    const file = { http: { port: 9000, host: '127.0.0.2' }, superadmins: ['Root@Example.com'] };
    const config = toConfig({ env: { HTTP_PORT: '9001' }, file });
    expect(config.http).toMatchObject({ port: 9001, host: '127.0.0.2' });
    expect(config.superadmins).toEqual(['root@example.com']);
  });

  test('lists are comma-separated in the environment, and lists or text in the file', () => {
    expect(toConfig({ env: { USHER_ROLES: 'rpc, gateway' } }).roles).toEqual(['rpc', 'gateway']);
    expect(toConfig({ env: {}, file: { roles: ['worker'] } }).roles).toEqual(['worker']);
    expect([...toConfig({ env: { IDP_ORG_TO_APP: '{"1":"billing"}' } }).idp.orgToApp]).toEqual([['1', 'billing']]);
  });

  test('an unknown key of the file, or a file that is not a map, is a fault', () => {
    expect(faultsOf({ env: {}, file: { htp: { port: 1 } } })).toHaveProperty('htp');
    expect(faultsOf({ env: {}, file: { http: { prot: 1 } } })).toHaveProperty(['http.prot']);
    expect(faultsOf({ env: {}, file: ['x'] })).toHaveProperty(['(file)']);
    expect(toConfig({ env: {}, file: null }).http.port).toBe(8080);
  });

  test('an empty key of the file is a fault, never a default', () => {
    expect(faultsOf({ env: {}, file: { internal: { apiKeys: null } } })).toHaveProperty(['internal.apiKeys']);
    const blank = { auth: { issuer: 'https://idp.example.com', audience: ' ' }, dataDir: '\t' };
    expect(Object.keys(faultsOf({ env: {}, file: blank })).sort()).toEqual(['auth.audience', 'dataDir']);
    const nothing = { roles: [], auth: { algorithms: [] }, cors: { origins: [] }, superadmins: [] };
    expect(Object.keys(faultsOf({ env: {}, file: nothing })).sort()).toEqual(['auth.algorithms', 'roles']);
    expect(toConfig({ env: {}, file: { http: null } }).http.port).toBe(8080);
  });
});

describe('faults', () => {
  test('every fault is listed at once with key, variable and an example', () => {
    const env = { HTTP_PORT: '99999', DATABASE_URL: 'mysql://x', LOG_LEVEL: 'loud', AUTH_ALGORITHMS: 'HS256' };
    const error = (() => {
      try {
        return toConfig({ env });
      } catch (thrown) {
        return thrown as ConfigError;
      }
    })() as ConfigError;
    expect(error.faults.map((fault) => fault.key).sort()).toEqual([
      'auth.algorithms',
      'database.url',
      'http.port',
      'log.level',
    ]);
    for (const fault of error.faults) {
      expect(error.message).toContain(`${fault.key} (${fault.variable})`);
      expect(fault.problem).toContain('for example');
    }
  });

  test.each([
    [{ GRPC_REFLECTION: 'yes' }, 'grpc.reflection'],
    [{ DATABASE_POOL_SIZE: '0' }, 'database.poolSize'],
    [{ CACHE_TTL_MS: '1e3' }, 'cache.ttlMs'],
    [{ CORS_ORIGINS: 'https://a.example.com/' }, 'cors.origins'],
    [{ PUBLIC_URL: 'ftp://example.com' }, 'publicUrl'],
    [{ PUBLIC_URL: 'https://user:secret@example.com' }, 'publicUrl'],
    [{ PUBLIC_URL: 'https://example.com?from=mail' }, 'publicUrl'],
    [{ IDP_PUBLIC_URL: 'https://idp.example.com/#top' }, 'idp.publicUrl'],
    [{ DATA_DIR: '   ' }, 'dataDir'],
    [{ AUTH_ISSUER: 'https://idp.example.com', AUTH_AUDIENCE: ' ' }, 'auth.audience'],
    [{ PUSH_ALLOWED_HOSTS: 'localhost:99999' }, 'push.allowedHosts'],
    [{ USHER_ROLES: 'rpc,web' }, 'roles'],
    [{ USHER_ROLES: 'rpc,,worker' }, 'roles'],
    [{ SUPERADMINS: 'not an address' }, 'superadmins'],
    [{ IDP_ORG_TO_APP: '[1]' }, 'idp.orgToApp'],
    [{ IDP_ORG_TO_APP: '{"1":"No Slug"}' }, 'idp.orgToApp'],
    [{ PANEL_AUTHORIZE_PARAMS: '[1]' }, 'panel.authorizeParams'],
    [{ PANEL_AUTHORIZE_PARAMS: '{"audience":["a"]}' }, 'panel.authorizeParams'],
    [{ PANEL_AUTHORIZE_PARAMS: '{"audience":"a","redirect_uri":"https://x.example"}' }, 'panel.authorizeParams'],
    [{ PANEL_CLIENT_ID: '' }, 'panel.clientId'],
    [{ BRAND_SMTP_KEY: 'c2hvcnQ=' }, 'brandSmtpKey'],
    [{ INTERNAL_API_KEY: '' }, 'internal.apiKeys'],
    [{ IDP_WEBHOOK_SECRET: '' }, 'idp.webhookSecret'],
    [{ PUSH_PUBLIC_KEY: 'x' }, 'push.publicKey'],
    [{ AUTHZEN_ACCOUNT_TYPES: 'user,person' }, 'authzen.subjectTypes'],
    [{ DECISION_LOG_EMAILS: 'hashed' }, 'decisionLog.hashKey'],
    [{ DECISION_LOG_RESOURCES: 'hashed' }, 'decisionLog.hashKey'],
    [{ DECISION_LOG_SAMPLE: '1.5' }, 'decisionLog.sample'],
    [{ DECISION_LOG_HASH_KEY: 'short' }, 'decisionLog.hashKey'],
    [{ GRPC_TLS_CERT: '/x.crt' }, 'grpc.tls.key'],
    [{ GRPC_TLS_CLIENT_CA: '/ca.crt' }, 'grpc.tls.cert'],
    [{ OPS_HOST: '127.0.0.1' }, 'ops.port'],
    [{ AUTH_AUDIENCE: 'usher' }, 'auth.issuer'],
    [{ AUTH_ISSUER: 'https://idp.example.com' }, 'auth.audience'],
    [
      { AUTH_ISSUER: 'https://idp.example.com', AUTH_AUDIENCE: 'a', AUTH_INTROSPECTION_URL: 'https://x.example' },
      'auth.clientId',
    ],
  ])('an invalid value is a fault: %j', (env, key) => {
    expect(Object.keys(faultsOf({ env }))).toEqual([key]);
  });

  test('open checks and the local issuer require development with every listener on loopback', () => {
    const required = ['auth.audience', 'auth.issuer', 'internal.apiKeys'];
    const production = { NODE_ENV: 'production', DATABASE_EMBEDDED: 'true' };
    // Links need a place to lead to wherever people may come from.
    expect(Object.keys(faultsOf({ env: production })).sort()).toEqual([...required, 'publicUrl']);
    for (const env of [{ HTTP_HOST: '0.0.0.0' }, { GRPC_HOST: '::' }, { OPS_HOST: '10.0.0.1', OPS_PORT: '9090' }]) {
      expect(Object.keys(faultsOf({ env })).sort()).toEqual(required);
    }
    expect(faultsOf({ env: { HTTP_HOST: '::1', GRPC_HOST: 'localhost' } })).toEqual({});
  });

  test('several gRPC processes need PostgreSQL, unless this one answers no gRPC', () => {
    expect(faultsOf({ env: { GRPC_PROCESSES: '2' } })).toEqual({
      'database.url': expect.stringMatching(
        /^is required when grpc.processes is above 1: the embedded database belongs to one process/,
      ),
    });
    expect(faultsOf({ env: { GRPC_PROCESSES: '2', USHER_ROLES: 'gateway' } })).toEqual({});
    expect(faultsOf({ env: { GRPC_PROCESSES: '2', DATABASE_URL: 'postgresql://usher@localhost/usher' } })).toEqual({});
    expect(faultsOf({ env: { GRPC_PROCESSES: '0' } })).toHaveProperty(['grpc.processes']);
  });

  test('production requires PostgreSQL, unless the embedded database is chosen explicitly', () => {
    expect(faultsOf({ env: PRODUCTION })).toEqual({
      'database.url': expect.stringMatching(
        /^is required in production, or set database\.embedded \(DATABASE_EMBEDDED=true\)/,
      ),
    });
    expect(faultsOf({ env: { ...PRODUCTION, DATABASE_EMBEDDED: 'false' } })).toHaveProperty(['database.url']);
    expect(faultsOf({ env: PRODUCTION, file: { database: { embedded: true } } })).toEqual({});
    expect(faultsOf({ env: { ...PRODUCTION, DATABASE_URL: 'postgresql://usher@db/usher' } })).toEqual({});
  });

  test('development uses dataDir, unless it is disabled or a PostgreSQL is configured', () => {
    expect(faultsOf({ env: { DATABASE_EMBEDDED: 'true' } })).toEqual({});
    expect(faultsOf({ env: { DATABASE_EMBEDDED: 'false' } })).toHaveProperty(['database.url']);
    const both = { DATABASE_EMBEDDED: 'true', DATABASE_URL: 'postgresql://usher@db/usher' };
    expect(faultsOf({ env: both })).toHaveProperty(['database.embedded']);
  });

  test.each([
    ['DATABASE_DIRECT_URL', 'directUrl'],
    ['DATABASE_FACTS_URL', 'factsUrl'],
  ])('%s belongs to a database at a URL', (variable, key) => {
    const env = { [variable]: 'postgresql://usher@db:5432/usher' };
    expect(faultsOf({ env })).toHaveProperty([`database.${key}`]);
    expect(toConfig({ env: { ...env, DATABASE_URL: 'postgresql://usher@pooler:6432/usher' } }).database).toMatchObject({
      [key]: 'postgresql://usher@db:5432/usher',
    });
  });

  test('early release belongs to a database at a URL', () => {
    const env = { DATABASE_EARLY_RELEASE: 'true' };
    expect(faultsOf({ env })).toHaveProperty(['database.earlyRelease']);
    const database = { ...env, DATABASE_URL: 'postgresql://usher@db:5432/usher' };
    expect(toConfig({ env: database }).database).toMatchObject({ earlyRelease: true });
    expect(toConfig({ env: {} }).database).toMatchObject({ earlyRelease: false });
  });

  test.each(['postgresql://u@a:5432,b:5432/usher', 'postgres://a,b/usher?target_session_attrs=read-write'])(
    'a list of hosts is refused with a suggestion: %s',
    (url) => {
      expect(faultsOf({ env: { DATABASE_URL: url } })).toEqual({
        'database.url': expect.stringMatching(/^names several hosts: name one address that leads to the primary/),
      });
    },
  );

  test('two listeners never share an address', () => {
    expect(faultsOf({ env: { HTTP_PORT: '9000', GRPC_PORT: '9000' } })).toEqual({
      'grpc.port': 'is the port of http.port already; for example 50051',
    });
    expect(faultsOf({ env: { OPS_PORT: '8080' } })).toHaveProperty(['ops.port']);
    // The operators' listener is opened whatever the roles are.
    expect(faultsOf({ env: { OPS_PORT: '50051', USHER_ROLES: 'rpc' } })).toHaveProperty(['ops.port']);
    expect(faultsOf({ env: { OPS_PORT: '8080', USHER_ROLES: 'worker' } })).toEqual({});
    for (const apart of [
      { HTTP_PORT: '0', GRPC_PORT: '0', OPS_PORT: '0' },
      { HTTP_PORT: '9000', GRPC_PORT: '9000', GRPC_HOST: '127.0.0.2' },
      { HTTP_PORT: '9000', GRPC_PORT: '9000', USHER_ROLES: 'rpc,worker' },
    ]) {
      expect(faultsOf({ env: apart })).toEqual({});
    }
  });

  test('the settings page has no default, must be https in production, and may be http in development', () => {
    const at = (url: string, env: Record<string, string> = {}) => ({
      env: { ...env, NOTIFICATIONS_SETTINGS_URL: url },
    });
    expect(toConfig({ env: {} }).notifications.settingsUrl).toBeNull();
    const [https, http] = ['https://app.example.com/settings?tab=mail#mail', 'http://localhost:3000/settings'];
    const IN_PRODUCTION = { ...PRODUCTION, DATABASE_URL: 'postgresql://usher@db/usher' };
    expect(toConfig(at(https, IN_PRODUCTION)).notifications.settingsUrl).toBe(https);
    expect(toConfig(at(http)).notifications.settingsUrl).toBe(http);
    const file = { notifications: { settingsUrl: https } };
    expect(toConfig({ env: {}, file }).notifications.settingsUrl).toBe(https);
    for (const wrong of [
      at(http, IN_PRODUCTION),
      at('javascript:alert(1)'),
      at('/settings'),
      at('https://user:secret@example.com/'),
      at(`https://example.com/${'x'.repeat(2048)}`),
    ]) {
      expect(Object.keys(faultsOf(wrong))).toEqual(['notifications.settingsUrl']);
    }
    const shown = effectiveValues(at(https)).find(({ key }) => key === 'notifications.settingsUrl');
    expect(shown).toMatchObject({ variable: 'NOTIFICATIONS_SETTINGS_URL', value: https, source: 'environment' });
  });

  test('an invalid secret is never repeated', () => {
    const faults = faultsOf({ env: { BRAND_SMTP_KEY: 'canary-secret', USHER_SECRET_KEY: 'canary-too' } });
    expect(Object.keys(faults).sort()).toEqual(['brandSmtpKey', 'secretKey']);
    expect(JSON.stringify(faults)).not.toContain('canary');
  });

  test('faults of feature checks join the list', () => {
    const check = () => [{ key: 'internal.apiKeys', problem: 'entry 1 names an unknown scope' }];
    expect(() => toConfig({ env: {} }, [check])).toThrow('entry 1 names an unknown scope');
  });
});

describe('publicUrl', () => {
  test.each([
    'https://example.com/usher',
    'https://example.com/usher/',
    'https://example.com?a=b',
    'https://example.com/#a',
  ])('%s has more than an origin, and the start says what to do', (PUBLIC_URL) => {
    expect(faultsOf({ env: { PUBLIC_URL } })).toEqual({
      publicUrl: expect.stringContaining(
        'set https://example.com, and have the proxy lead that address here without a path',
      ),
    });
  });

  test.each([
    ['https://example.com', 'https://example.com'],
    ['https://example.com/', 'https://example.com'],
    ['https://Example.com:443', 'https://example.com'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['https://example.com/.', 'https://example.com'],
    ['https:example.com', 'https://example.com'],
    ['https://example.com\\', 'https://example.com'],
    ['https://příklad.example', 'https://xn--pklad-zsa96e.example'],
  ])('%s is an address of a gateway, and links begin with %s', (PUBLIC_URL, origin) => {
    expect(toConfig({ env: { PUBLIC_URL } }).publicUrl).toBe(origin);
  });
});

describe('usher config', () => {
  test('usher config prints every key with its origin and secrets masked', () => {
    const values = effectiveValues({
      env: { ...PRODUCTION, DATABASE_EMBEDDED: 'true', HTTP_PORT: '81' },
      file: { cache: { ttlMs: 5 } },
    });
    const of = (key: string) => values.find((value) => value.key === key);
    expect(values.map((value) => value.key)).toEqual(Object.keys(KEYS));
    expect(of('http.port')).toMatchObject({ value: 81, source: 'environment', variable: 'HTTP_PORT' });
    expect(of('cache.ttlMs')).toMatchObject({ value: 5, source: 'file' });
    expect(of('log.level')).toMatchObject({ value: 'info', source: 'default' });
    expect(of('internal.apiKeys')).toMatchObject({ value: ['***'] });
    expect(of('secretKey')).toMatchObject({ value: null });
    const named = effectiveValues({ env: { SUPERADMINS: 'Ada@Example.COM,ada@example.com' } });
    expect(named.find(({ key }) => key === 'superadmins')?.value).toEqual(['ada@example.com']);
    expect(JSON.stringify(values)).not.toContain(PRODUCTION.INTERNAL_API_KEY);
  });
});
