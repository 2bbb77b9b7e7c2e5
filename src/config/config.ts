/**
 * The checked configuration, made from the table of keys (keys.ts) by one pure function. Nothing else reads the environment.
 * A start with wrong values ends with every fault at once (docs/reference/service.md#configuration).
 */

import { isStorableUrl, LIMITS } from '../base/grammar.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import { keysOf } from '../base/own-keys.ts';
import { KEYS } from './keys.ts';
import type { Key } from './kinds.ts';
import {
  doorsOf,
  type FurtherListener,
  furtherListeners,
  isOpenHere,
  type ListenerKind,
  type Surface,
  type TlsPaths,
  twice,
} from './listeners.ts';
import {
  type ConfigKey,
  type Fault,
  type RawConfig,
  type Resolved,
  resolveKeys,
  type Values,
  withExample,
} from './resolve.ts';

export type { Fault, RawConfig } from './resolve.ts';

type Heads<K> = K extends `${infer Head}.${string}` ? Head : never;
/** `a.b` of the table as `{a: {b}}`. */
type Nested<T> = { readonly [K in keyof T as K extends `${string}.${string}` ? never : K]: T[K] } & {
  readonly [Head in Heads<keyof T>]: Nested<{
    [K in keyof T as K extends `${Head}.${infer Rest}` ? Rest : never]: T[K];
  }>;
};
type Read = Nested<Values>;

/** The values of the table, nested; values that only make sense together are one object or null. */
export interface Config extends Omit<Read, 'grpc' | 'http' | 'ops' | 'idp' | 'listeners'> {
  /** NODE_ENV=production. */
  readonly production: boolean;
  readonly grpc: Omit<Read['grpc'], 'tls'> & {
    readonly tls: TlsPaths | null;
  };
  readonly http: Omit<Read['http'], 'tls'> & { readonly tls: TlsPaths | null };
  readonly ops: { readonly host: string; readonly port: number } | null;
  /** Beside those three. */
  readonly listeners: readonly FurtherListener[];
  readonly idp: Read['idp'] & { readonly webhookSecrets: readonly string[] };
  /** Base64 of 32 bytes each; the first seals, all open. */
  readonly brandSmtpKeys: readonly string[];
  /** Every key as operators see it, secrets masked. */
  readonly effective: readonly EffectiveValue[];
}

/** Every fault of a configuration; `message` lists them, a line each. */
export class ConfigError extends Error {
  readonly faults: readonly Fault[];
  constructor(faults: readonly Fault[]) {
    super(
      [
        'The configuration is invalid:',
        ...faults.map((f) => `  ${f.key}${f.variable ? ` (${f.variable})` : ''}: ${f.problem}`),
      ].join('\n'),
    );
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** A further check of a built configuration, by a feature that owns the grammar of a key. */
export type ConfigCheck = (config: Config) => readonly Fault[];

/** Builds the configuration or throws ConfigError with every fault found. Pure. */
export function toConfig(raw: RawConfig, checks: readonly ConfigCheck[] = []): Config {
  return checked(raw, checks).config;
}

/** A configuration, with the values that it was built from. */
export interface Checked extends Resolved {
  readonly config: Config;
}

/** As `toConfig`. */
export function checked(raw: RawConfig, checks: readonly ConfigCheck[]): Checked {
  return checkValues(resolveKeys(raw), raw.env.NODE_ENV === 'production', checks);
}

/** Builds the configuration of these values. Throws as `toConfig` does. */
export function checkValues(resolved: Resolved, production: boolean, checks: readonly ConfigCheck[]): Checked {
  const config = build(resolved, production);
  const faults = [...resolved.faults, ...crossChecks(config, resolved), ...checks.flatMap((check) => check(config))];
  if (faults.length > 0) throw new ConfigError(faults);
  return { ...resolved, config };
}

/** One effective value as `usher config` shows it; secrets are masked. */
export interface EffectiveValue {
  key: string;
  variable: string;
  value: unknown;
  source: 'environment' | 'file' | 'default';
}

/** The value of each key and its source. Throws as `toConfig` does. */
export function effectiveValues(raw: RawConfig, checks: readonly ConfigCheck[] = []): EffectiveValue[] {
  return [...checked(raw, checks).config.effective];
}

function effective({ values, sources, variables }: Resolved): EffectiveValue[] {
  return keysOf(KEYS).map((key) => {
    const { secret, variable: usual }: Key<unknown> = KEYS[key];
    const variable = variables.get(key) ?? usual;
    const value = values[key];
    return { key, variable, value: secret ? mask(value) : plain(value), source: sources.get(key) ?? 'default' };
  });
}

function mask(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(() => '***');
  return value === null ? null : '***';
}

function plain(value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}

function build(resolved: Resolved, production: boolean): Config {
  const { values } = resolved;
  const read = nested(values);
  const { host, port } = read.ops;
  return {
    ...read,
    production,
    grpc: { ...read.grpc, tls: pathsOf(read.grpc.tls) },
    http: { ...read.http, tls: pathsOf(read.http.tls) },
    ops: host !== null && port !== null ? { host, port } : null,
    listeners: furtherListeners(read.listeners),
    idp: { ...read.idp, webhookSecrets: read.idp.webhookSecret },
    brandSmtpKeys: read.brandSmtpKey,
    effective: effective(resolved),
  };
}

function pathsOf({ cert, key, clientCa }: Read['grpc']['tls']): TlsPaths | null {
  return cert !== null && key !== null ? { cert, key, clientCa } : null;
}

function nested(values: Values): Read {
  const root: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const path = key.split('.');
    const name = path.pop() ?? key;
    let at = root;
    for (const part of path) {
      at[part] ??= {};
      at = at[part] as Record<string, unknown>;
    }
    at[name] = value;
  }
  // The same keys, split at their dots.
  return root as unknown as Read;
}

type Problem = readonly [key: ConfigKey, problem: string];

/** Rules between keys. Reads no clock, file or network. */
function crossChecks(config: Config, { values, faults }: Resolved): Fault[] {
  const problems = [
    ...(config.upstream.address === null ? serviceProblems(config, values) : edgeProblems(config)),
    ...keyProblems(config),
    ...decisionLogProblems(config),
    ...authzenProblems(config),
    ...listenerProblems(config, values),
  ];
  // A value that could not be read is not missing as well.
  const others = problems.filter(([key]) => !faults.some((fault) => fault.key === key));
  return others.map(([key, problem]) => {
    return { key, variable: KEYS[key].variable, problem: withExample(key, problem) };
  });
}

function whereOpen(config: Config): string {
  return config.production ? 'in production' : 'while a listener is not on loopback';
}

function isOpen(config: Config): boolean {
  return !config.production && everyListenerIsLoopback(config);
}

function* keyProblems(config: Config): Generator<Problem> {
  if (config.internal.apiKeys.length === 0 && !isOpen(config))
    yield ['internal.apiKeys', `is required ${whereOpen(config)}`];
}

function* decisionLogProblems({ decisionLog: { emails, resources, hashKey } }: Config): Generator<Problem> {
  for (const [name, how] of Object.entries({ emails, resources })) {
    if (how === 'hashed' && hashKey === null)
      yield ['decisionLog.hashKey', `is required when decisionLog.${name} is hashed`];
  }
}

function* authzenProblems({ authzen: { accountTypes, subjectTypes } }: Config): Generator<Problem> {
  // The default may stand beside subjectTypes that do not list it.
  const missing = accountTypes.find((type) => type !== 'identity' && !subjectTypes.includes(type));
  if (missing !== undefined) yield ['authzen.subjectTypes', `must list ${missing}, which authzen.accountTypes names`];
}

/** An edge has no people, tokens or database of its own. */
function* edgeProblems(config: Config): Generator<Problem> {
  const { production, upstream, grpc } = config;
  if (upstream.key === null && production) yield ['upstream.key', 'is required in production'];
  if (upstream.ca !== null && upstream.plaintext === true)
    yield ['upstream.ca', 'cannot be used with upstream.plaintext: cleartext has no certificate'];
  if (grpc.processes > 1) yield ['grpc.processes', 'must be 1 with upstream.address: start several edges instead'];
  if (isKeylessEdge(config) && isOpen(config) && !hasSocketsAlone(config)) {
    const otherwise = 'or listen on UNIX sockets alone (listeners, for grpc)';
    yield [
      'internal.apiKeys',
      `is required with upstream.key, which would serve every process of this machine; ${otherwise}`,
    ];
  }
}

/** Whether an edge asks its upstream with a key, and its own callers for none: then it listens on sockets alone. */
export function isKeylessEdge({ upstream, internal }: Pick<Config, 'upstream' | 'internal'>): boolean {
  return upstream.address !== null && upstream.key !== null && internal.apiKeys.length === 0;
}

/** Whether gRPC has further listeners, and only sockets among them: the permissions of a file say who may connect. */
function hasSocketsAlone({ listeners }: Config): boolean {
  const doors = doorsOf(listeners, 'grpc');
  return doors.length > 0 && doors.every(({ at }) => 'path' in at);
}

function* serviceProblems(config: Config, values: Values): Generator<Problem> {
  yield* databaseProblems(config);
  yield* tokenProblems(config, values);
  for (const key of ['upstream.key', 'upstream.ca', 'upstream.plaintext'] as const) {
    if (values[key] !== null) yield ['upstream.address', `is required beside ${key}`];
  }
  if (config.grpc.processes > 1 && config.database.url === null && config.roles.includes('rpc')) {
    yield ['database.url', 'is required when grpc.processes is above 1: the embedded database belongs to one process'];
  }
  const { settingsUrl } = config.notifications;
  if (settingsUrl !== null && !isStorableUrl(settingsUrl, !config.production)) {
    yield [
      'notifications.settingsUrl',
      `must be ${config.production ? 'an https' : 'an https or http'} URL without credentials, at most ${LIMITS.url} characters`,
    ];
  }
  const push = [config.push.publicKey, config.push.privateKey, config.push.subject].filter((value) => value !== null);
  if (push.length !== 0 && push.length !== 3)
    yield ['push.publicKey', 'push.publicKey, push.privateKey and push.subject go together'];
  if (config.publicUrl === null && config.production) {
    const isGateway = config.roles.includes('gateway');
    yield [
      'publicUrl',
      isGateway
        ? 'is required in production: links in mails and the panel lead there'
        : 'is required when http.port is 0',
    ];
  }
}

function* tokenProblems(config: Config, values: Values): Generator<Problem> {
  const { auth } = config;
  if (auth.issuer === null) {
    if (!isOpen(config)) {
      const where = whereOpen(config);
      yield ['auth.issuer', `is required ${where}: the local issuer is for development on loopback`];
      if (auth.audience === null) yield ['auth.audience', `is required ${where}`];
    } else {
      for (const key of ['auth.audience', 'auth.jwksUrl', 'auth.introspectionUrl'] as const) {
        if (values[key] !== null) yield ['auth.issuer', `is required beside ${key}`];
      }
    }
  } else if (auth.audience === null) {
    yield ['auth.audience', 'is required with auth.issuer: otherwise tokens for other services would be accepted'];
  }
  if (auth.introspectionUrl !== null && auth.clientId === null) {
    yield ['auth.clientId', 'is required with auth.introspectionUrl'];
  }
}

function* listenerProblems(config: Config, values: Values): Generator<Problem> {
  for (const section of ['grpc', 'http'] as const) {
    const [cert, key] = [values[`${section}.tls.cert`], values[`${section}.tls.key`]];
    if ((cert === null) !== (key === null)) {
      yield [`${section}.tls.${cert === null ? 'cert' : 'key'}`, 'is required: certificate and key go together'];
    }
    if (values[`${section}.tls.clientCa`] !== null && config[section].tls === null) {
      yield [`${section}.tls.cert`, `is required with ${section}.tls.clientCa`];
    }
  }
  if (values['ops.host'] !== null && config.ops === null) yield ['ops.port', 'is required with ops.host'];
  yield* addressProblems(config);
  yield* furtherProblems(config);
  yield* surfaceProblems('http.serves', '', config.http.serves);
}

const KINDS: readonly ListenerKind[] = ['http', 'grpc', 'ops'];

/** Addresses that this process would listen on twice. Port 0 always picks a free one. */
function* addressProblems(config: Config): Generator<Problem> {
  const { http, grpc, ops, listeners } = config;
  const kinds = KINDS.filter((kind) => isOpenHere(config, kind));
  const first = kinds.flatMap((kind) => {
    const at = { http, grpc, ops }[kind];
    return at === null ? [] : [{ at, key: `${kind}.port` as const }];
  });
  for (const [index, { at, key }] of first.entries()) {
    const taken = twice(at, first.slice(0, index));
    if (taken !== null) yield [key, `is the port of ${taken} already`];
  }
  const further = kinds.flatMap((kind) => doorsOf(listeners, kind));
  for (const [index, { at, key }] of further.entries()) {
    const taken = twice(at, [...first, ...further.slice(0, index)]);
    if (taken !== null) yield ['listeners', `${key.slice('listeners'.length)} is the address of ${taken} already`];
  }
}

/** What further listeners need beside them. */
function* furtherProblems({ listeners, grpc, ops }: Config): Generator<Problem> {
  for (const [index, one] of listeners.entries()) {
    if (one.for === 'ops' && ops === null) yield ['ops.port', `is required with listeners[${index}], which is for ops`];
    if (one.for === 'http') yield* surfaceProblems('listeners', `[${index}].serves `, one.serves);
    if (one.for !== 'grpc') continue;
    if (!grpc.front) yield ['grpc.front', `must be true with listeners[${index}], which is for grpc`];
    if (grpc.processes > 1 && one.addresses.some((at) => 'path' in at)) {
      yield ['grpc.processes', `must be 1 with listeners[${index}], which has a UNIX socket for grpc`];
    }
  }
}

/** The panel's pages ask the origin that they come from. */
function* surfaceProblems(key: ConfigKey, place: string, serves: readonly Surface[]): Generator<Problem> {
  const missing = (['people', 'administration'] as const).filter((one) => !serves.includes(one));
  if (serves.includes('panel') && missing.length > 0) {
    yield [key, `${place}has panel without ${missing.join(' and ')}, which its pages need`];
  }
}

/** The embedded database is for development: production must enable it, so that a misspelled variable does not. */
function* databaseProblems({ production, database }: Config): Generator<Problem> {
  const { embedded } = database;
  if (database.earlyRelease && database.url === null) {
    yield ['database.earlyRelease', 'is of no use without database.url'];
  }
  for (const key of ['directUrl', 'factsUrl'] as const) {
    if (database[key] !== null && database.url === null) yield [`database.${key}`, 'is of no use without database.url'];
  }
  if (database.url !== null) {
    if (embedded === true) yield ['database.embedded', 'cannot be true with database.url: remove one of the two'];
  } else if (embedded === false) {
    yield ['database.url', 'is required when database.embedded is false'];
  } else if (production && embedded !== true) {
    const otherwise = 'or set database.embedded (DATABASE_EMBEDDED=true) for the embedded database in dataDir';
    yield ['database.url', `is required in production, ${otherwise}`];
  }
}

/** Whether every socket that this process opens can be reached from this machine only. A UNIX socket cannot be from another. */
export function everyListenerIsLoopback(config: Config): boolean {
  const isEdge = config.upstream.address !== null;
  const further = config.listeners.filter((one) => !isEdge || one.for !== 'http').flatMap((one) => one.addresses);
  const first = [...(isEdge ? [] : [config.http]), config.grpc, ...(config.ops ? [config.ops] : [])];
  return [...first, ...further].every((at) => 'path' in at || isLoopbackHost(at.host));
}
