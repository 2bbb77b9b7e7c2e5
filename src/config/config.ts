/**
 * Configuration: one table of keys (docs/reference/service.md#configuration), and one pure function from raw values to a checked Config.
 * Nothing else reads the environment. A start with wrong values ends with every fault at once.
 */

import { isApplicationCode, isStorableUrl, LIMITS, normalizeEmail } from '../base/grammar.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import { KEYS } from './keys.ts';
import { type Fault, type KeyTable, type Resolved, resolveKeys } from './parsers.ts';

export type { Fault } from './parsers.ts';

export type ProcessRole = 'rpc' | 'gateway' | 'worker';

export interface Config {
  /** NODE_ENV=production. */
  readonly production: boolean;
  readonly http: {
    readonly host: string;
    readonly port: number;
    readonly trustProxy: boolean;
    readonly rateLimit: number | null;
  };
  readonly grpc: {
    readonly host: string;
    readonly port: number;
    readonly reflection: boolean;
    /** Paths of PEM files; null means cleartext. With `clientCa`, clients must show a certificate. */
    readonly tls: { readonly cert: string; readonly key: string; readonly clientCa: string | null } | null;
  };
  readonly ops: { readonly host: string; readonly port: number } | null;
  /** `url` null means the embedded PGlite in `dataDir`. */
  readonly database: { readonly url: string | null; readonly poolSize: number; readonly migrateOnStart: boolean };
  readonly dataDir: string;
  /** Without a trailing slash; null until the port is known when http.port is 0 and no PUBLIC_URL is set. */
  readonly publicUrl: string | null;
  readonly cors: { readonly origins: readonly string[] };
  /** `issuer` null means the local issuer. */
  readonly auth: {
    readonly issuer: string | null;
    readonly audience: string | null;
    readonly jwksUrl: string | null;
    readonly algorithms: readonly string[];
    readonly requireVerifiedEmail: boolean;
    readonly bindSubject: boolean;
    readonly introspectionUrl: string | null;
    readonly clientId: string | null;
    readonly clientSecret: string | null;
  };
  /** Entries as written; identity/api-keys.ts reads them. */
  readonly internal: { readonly apiKeys: readonly string[] };
  readonly superadmins: readonly string[];
  readonly secretKey: string | null;
  readonly roles: readonly ProcessRole[];
  readonly cache: {
    readonly policies: number;
    readonly persons: number;
    readonly members: number;
    readonly ttlMs: number;
    readonly maxEntries: number;
  };
  readonly idp: {
    readonly apiUrl: string | null;
    readonly publicUrl: string | null;
    readonly serviceAccountToken: string | null;
    readonly webhookSecrets: readonly string[];
    readonly notificationEndpoint: string | null;
    readonly notificationAppCode: string;
    readonly notificationSigningKey: string | null;
    readonly signatureHeader: string;
    readonly signatureScheme: 'body' | 'timestamped' | 'either';
    readonly orgToApp: ReadonlyMap<string, string>;
    readonly clientId: string | null;
    readonly clientSecret: string | null;
    readonly devLogin: boolean;
  };
  /** Base64 of 32 bytes each; the first seals, all open. */
  readonly brandSmtpKeys: readonly string[];
  /** Where users change what they are notified about; null: pages and mails name no such place. */
  readonly notifications: { readonly settingsUrl: string | null };
  readonly push: {
    readonly publicKey: string | null;
    readonly privateKey: string | null;
    readonly subject: string | null;
    readonly allowedHosts: readonly string[];
  };
  readonly entities: { readonly allowedOrigins: readonly string[] };
  readonly log: { readonly level: string };
}

export interface RawConfig {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The parsed YAML file, if there is one. */
  readonly file?: unknown;
}

/** Every fault of a configuration; `message` lists them, a line each. */
export class ConfigError extends Error {
  readonly faults: readonly Fault[];
  constructor(faults: readonly Fault[]) {
    super(
      [
        'The configuration does not fit:',
        ...faults.map((f) => `  ${f.key}${f.variable ? ` (${f.variable})` : ''}: ${f.problem}`),
      ].join('\n'),
    );
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** A further check of a built configuration, by a feature that owns the grammar of a key. */
export type ConfigCheck = (config: Config) => readonly Fault[];

type Values = Resolved<typeof KEYS>;

/** Builds the configuration or throws ConfigError with every fault found. Pure. */
export function toConfig(raw: RawConfig, checks: readonly ConfigCheck[] = []): Config {
  const { values, faults } = resolveKeys(KEYS, raw.env, raw.file);
  const config = build(values, raw.env.NODE_ENV === 'production');
  const all = [...faults, ...crossChecks(config, values), ...checks.flatMap((check) => check(config))];
  if (all.length > 0) throw new ConfigError(all);
  return config;
}

/** One effective value as `usher config` shows it; secrets are masked. */
export interface EffectiveValue {
  key: string;
  variable: string;
  value: unknown;
  source: 'environment' | 'file' | 'default';
}

/** What each key amounts to and where it came from. Throws as `toConfig` does. */
export function effectiveValues(raw: RawConfig, checks: readonly ConfigCheck[] = []): EffectiveValue[] {
  const config = toConfig(raw, checks);
  const { values, sources } = resolveKeys(KEYS, raw.env, raw.file);
  return Object.entries(KEYS as KeyTable).map(([key, spec]) => {
    // What was made of it, such as an address in lower case, before what was given.
    const value = lookUp(config, key) ?? (values as Record<string, unknown>)[key];
    return {
      key,
      variable: spec.variable,
      value: spec.secret && value !== null && value !== undefined ? mask(value) : plain(value ?? null),
      source: sources[key] ?? 'default',
    };
  });
}

function build(v: Values, production: boolean): Config {
  const host = v['http.host'] ?? (production ? '0.0.0.0' : '127.0.0.1');
  const httpPort = v['http.port'] ?? 8080;
  const publicUrl = v.publicUrl ?? (httpPort === 0 ? null : `http://localhost:${httpPort}`);
  const url = v['database.url'] ?? null;
  const cert = v['grpc.tls.cert'];
  const key = v['grpc.tls.key'];
  return {
    production,
    http: { host, port: httpPort, trustProxy: v['http.trustProxy'] ?? false, rateLimit: v['http.rateLimit'] ?? null },
    grpc: {
      host: v['grpc.host'] ?? host,
      port: v['grpc.port'] ?? 50051,
      reflection: v['grpc.reflection'] ?? !production,
      tls: cert && key ? { cert, key, clientCa: v['grpc.tls.clientCa'] ?? null } : null,
    },
    ops: v['ops.port'] === undefined ? null : { host: v['ops.host'] ?? host, port: v['ops.port'] },
    database: {
      url,
      poolSize: v['database.poolSize'] ?? 10,
      migrateOnStart: v['database.migrateOnStart'] ?? (!production || url === null),
    },
    dataDir: v.dataDir ?? '.usher',
    publicUrl,
    cors: { origins: v['cors.origins'] ?? [] },
    auth: {
      issuer: v['auth.issuer'] ?? null,
      audience: v['auth.audience'] ?? null,
      jwksUrl: v['auth.jwksUrl'] ?? null,
      algorithms: v['auth.algorithms'] ?? ['RS256', 'PS256', 'ES256', 'EdDSA'],
      requireVerifiedEmail: v['auth.requireVerifiedEmail'] ?? production,
      bindSubject: v['auth.bindSubject'] ?? false,
      introspectionUrl: v['auth.introspectionUrl'] ?? null,
      clientId: v['auth.clientId'] ?? null,
      clientSecret: v['auth.clientSecret'] ?? null,
    },
    internal: { apiKeys: v['internal.apiKeys'] ?? [] },
    superadmins: superadmins(v),
    secretKey: v.secretKey ?? null,
    roles: (v.roles as ProcessRole[] | undefined) ?? ['rpc', 'gateway', 'worker'],
    cache: {
      policies: v['cache.policies'] ?? 1000,
      persons: v['cache.persons'] ?? 20_000,
      members: v['cache.members'] ?? 20_000,
      ttlMs: v['cache.ttlMs'] ?? 30_000,
      maxEntries: v['cache.maxEntries'] ?? 5000,
    },
    idp: buildIdp(v, publicUrl, production),
    brandSmtpKeys: v.brandSmtpKey ?? [],
    notifications: { settingsUrl: v['notifications.settingsUrl'] ?? null },
    push: {
      publicKey: v['push.publicKey'] ?? null,
      privateKey: v['push.privateKey'] ?? null,
      subject: v['push.subject'] ?? null,
      allowedHosts: v['push.allowedHosts'] ?? [],
    },
    entities: { allowedOrigins: v['entities.allowedOrigins'] ?? [] },
    log: { level: v['log.level'] ?? 'info' },
  };
}

function buildIdp(v: Values, publicUrl: string | null, production: boolean): Config['idp'] {
  return {
    apiUrl: v['idp.apiUrl'] ?? null,
    publicUrl: v['idp.publicUrl'] ?? null,
    serviceAccountToken: v['idp.serviceAccountToken'] ?? null,
    webhookSecrets: v['idp.webhookSecret'] ?? [],
    notificationEndpoint:
      v['idp.notificationEndpoint'] ?? (publicUrl === null ? null : `${publicUrl}/api/idp/notifications/email`),
    notificationAppCode: v['idp.notificationAppCode'] ?? 'auth',
    notificationSigningKey: v['idp.notificationSigningKey'] ?? null,
    signatureHeader: v['idp.signatureHeader'] ?? 'IDP-Signature',
    signatureScheme: v['idp.signatureScheme'] ?? 'either',
    orgToApp: v['idp.orgToApp'] ?? new Map(),
    clientId: v['idp.clientId'] ?? null,
    clientSecret: v['idp.clientSecret'] ?? null,
    devLogin: v['idp.devLogin'] ?? !production,
  };
}

/** The local issuer comes with an administrator, so that a newcomer can do everything. */
function superadmins(v: Values): string[] {
  const given = v.superadmins ?? (v['auth.issuer'] ? [] : ['admin@example.com']);
  return [...new Set(given.map((email) => normalizeEmail(email) ?? email))];
}

/** What one key says about another. Reads no clock, file or network. */
function crossChecks(config: Config, v: Values): Fault[] {
  const faults: Fault[] = [];
  const fault = (key: keyof typeof KEYS, problem: string) =>
    faults.push({ key, variable: KEYS[key].variable, problem: `${problem}; for example ${KEYS[key].example}` });

  for (const [key, problem] of databaseFaults(config, v['database.embedded'])) fault(key, problem);
  const open = !config.production && everyListenerIsLoopback(config);
  const where = config.production ? 'in production' : 'while a listener is not on loopback';
  if (config.auth.issuer === null) {
    if (!open) {
      fault('auth.issuer', `is required ${where}: the local issuer is for development on loopback`);
      if (config.auth.audience === null) fault('auth.audience', `is required ${where}`);
    } else {
      for (const key of ['auth.audience', 'auth.jwksUrl', 'auth.introspectionUrl'] as const) {
        if (v[key] !== undefined) fault('auth.issuer', `is required beside ${key}`);
      }
    }
  } else if (config.auth.audience === null) {
    fault(
      'auth.audience',
      'is required beside auth.issuer: a token for another service must not be taken for one of ours',
    );
  }
  if (config.auth.introspectionUrl !== null && config.auth.clientId === null) {
    fault('auth.clientId', 'is required beside auth.introspectionUrl');
  }
  if (config.internal.apiKeys.length === 0 && !open) fault('internal.apiKeys', `is required ${where}`);
  if ((v['grpc.tls.cert'] === undefined) !== (v['grpc.tls.key'] === undefined)) {
    fault(
      v['grpc.tls.cert'] === undefined ? 'grpc.tls.cert' : 'grpc.tls.key',
      'is required: certificate and key go together',
    );
  }
  if (v['grpc.tls.clientCa'] !== undefined && config.grpc.tls === null) {
    fault('grpc.tls.cert', 'is required beside grpc.tls.clientCa');
  }
  for (const { key, taken } of doorsAtOneAddress(config)) fault(key, `is the port of ${taken} already`);
  if (v['ops.host'] !== undefined && config.ops === null) fault('ops.port', 'is required beside ops.host');
  const { settingsUrl } = config.notifications;
  if (settingsUrl !== null && !isStorableUrl(settingsUrl, !config.production)) {
    fault(
      'notifications.settingsUrl',
      `must be ${config.production ? 'an https' : 'an https or http'} URL without credentials, at most ${LIMITS.url} characters`,
    );
  }
  const push = [config.push.publicKey, config.push.privateKey, config.push.subject].filter(
    (value) => value !== null,
  ).length;
  if (push !== 0 && push !== 3) fault('push.publicKey', 'push.publicKey, push.privateKey and push.subject go together');
  for (const email of config.superadmins) {
    if (normalizeEmail(email) === null) fault('superadmins', `${JSON.stringify(email)} is no e-mail address`);
  }
  for (const [organization, app] of config.idp.orgToApp) {
    if (!isApplicationCode(app))
      fault('idp.orgToApp', `${JSON.stringify(app)} (of ${organization}) is no application code`);
  }
  if (config.publicUrl === null && config.production) fault('publicUrl', 'is required when http.port is 0');
  return faults;
}

/** Data in a directory of the machine is for development: production must ask for it, so that a misspelt variable cannot. */
function databaseFaults({ production, database }: Config, embedded: boolean | undefined) {
  const faults: ['database.url' | 'database.embedded', string][] = [];
  if (database.url !== null) {
    if (embedded === true) faults.push(['database.embedded', 'is true beside database.url: leave one of the two out']);
  } else if (embedded === false) {
    faults.push(['database.url', 'is required where database.embedded is false']);
  } else if (production && embedded !== true) {
    const otherwise = 'or set database.embedded (DATABASE_EMBEDDED=true) for the embedded database in dataDir';
    faults.push(['database.url', `is required in production, ${otherwise}`]);
  }
  return faults;
}

/** Doors of this process that would stand where another one does. Port 0 is a free one each time. */
function doorsAtOneAddress({ http, grpc, ops, roles }: Config) {
  const doors = [
    { key: 'http.port', role: 'gateway', at: http },
    { key: 'grpc.port', role: 'rpc', at: grpc },
    { key: 'ops.port', role: null, at: ops },
  ] as const;
  const open = doors.filter(({ role, at }) => at !== null && at.port !== 0 && (role === null || roles.includes(role)));
  return open.flatMap(({ key, at }, index) => {
    const first = open.slice(0, index).find((door) => door.at?.host === at?.host && door.at?.port === at?.port);
    return first === undefined ? [] : [{ key, taken: first.key }];
  });
}

/** Whether every socket that this process opens can be reached from this machine only. */
export function everyListenerIsLoopback(config: Config): boolean {
  return [config.http.host, config.grpc.host, ...(config.ops ? [config.ops.host] : [])].every(isLoopbackHost);
}

function lookUp(config: Config, key: string): unknown {
  if (key === 'brandSmtpKey') return config.brandSmtpKeys;
  if (key === 'idp.webhookSecret') return config.idp.webhookSecrets;
  let at: unknown = config;
  for (const part of key.split('.')) {
    if (typeof at !== 'object' || at === null) return null;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}

function mask(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => '***');
  return '***';
}

function plain(value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}
