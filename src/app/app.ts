/**
 * The one place that builds: every part is made here, in the order in which it is needed, and closed in reverse.
 * Tests hand in other parts (a clock, failpoints); nothing is found by name or by ambient context.
 */

import { readFile } from 'node:fs/promises';
import { type Clock, systemClock } from '../base/clock.ts';
import { createLogger, createRegistry, type Logger } from '../base/telemetry.ts';
import type { Manifests } from '../catalog/manifest/manifests.ts';
import { seed } from '../catalog/seed.ts';
import { type Config, ConfigError, type Fault } from '../config/config.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import type { DeliveryFailpoints } from '../delivery/worker.ts';
import { Engine } from '../engine/engine.ts';
import type { Gateway, GatewayOptions } from '../gateway/app.ts';
import type { Services } from '../gateway/services.ts';
import { GrpcMetrics } from '../grpc/metrics.ts';
import { RequestMemo } from '../grpc/request-cache.ts';
import { checkTls, createGrpcServer, type GrpcServer, type GrpcTls } from '../grpc/server.ts';
import { createApiKeys, keepLocalKey } from '../identity/api-keys.ts';
import { type LocalIssuer, openLocalIssuer } from '../identity/local-issuer.ts';
import { createTokens, type Tokens } from '../identity/tokens.ts';
import { createOutbound, type Outbound } from '../outbound/outbound.ts';
import { record } from '../persistence/audit.ts';
import type { Database } from '../persistence/database.ts';
import { type Failpoints, openDatabase, startFailure } from '../persistence/open.ts';
import { seedSuperadmins } from '../persistence/superadmins.ts';
import type { Deliverer } from './delivery.ts';
import { type BuiltFeatures, buildFeatures, type Features } from './features.ts';
import { exposeMetrics } from './metrics.ts';

/** What tests replace. */
export interface Parts {
  clock?: Clock;
  log?: Logger;
  failpoints?: Failpoints;
  deliveryFailpoints?: DeliveryFailpoints;
  /** Deliveries may leave from a thread of their own, which is handed none of the parts above. */
  threads?: boolean;
}

/** Where the service listens; null for a door that this process does not have. */
export interface Addresses {
  rest: string | null;
  grpc: string | null;
  ops: string | null;
}

/** A built service. */
export interface App {
  readonly config: Config;
  readonly database: Database;
  readonly engine: Engine;
  readonly manifests: Manifests;
  /** For tests of its bounds and ends. */
  readonly streams: Features['inboxStreams'];
  /** For tests of the links in mail that no worker has sent. */
  readonly unsubscriptions: Features['unsubscriptions'];
  /** To be rung after a commit that enqueued deliveries past the features. */
  readonly bell: DeliveryBell;
  /** Null where an identity provider is configured. */
  readonly localIssuer: LocalIssuer | null;
  /** The internal key that a start without configured ones made for itself. */
  readonly localKey: string | null;
  /**
   * Opens the doors, once everything behind them answers and `first` is done: what whoever asks first must find there already.
   * Rejects when the database is away or a port is taken; `close` must be called then too.
   */
  start(first?: () => Promise<void>): Promise<Addresses>;
  /** Reports not-serving, lets what is in flight finish for a bounded time, closes everything. Can be called at any time, once. */
  close(): Promise<void>;
}

/**
 * Opens the database and builds every part on it. Rejects with `Refused` (persistence/driver/refused.ts) when the database cannot
 * be used as it is.
 */
export async function buildApp(config: Config, parts: Parts = {}): Promise<App> {
  const clock = parts.clock ?? systemClock;
  const log = parts.log ?? createLogger(config.log.level);
  // Before the database is opened and migrated: a wrong value ends a start at once.
  const tls = await readTls(config);
  const database = await openDatabase({
    url: config.database.url,
    dataDir: config.dataDir,
    poolSize: config.database.poolSize,
    migrateOnStart: config.database.migrateOnStart,
    clock,
    log,
    ...(parts.failpoints ? { failpoints: parts.failpoints } : {}),
  });
  try {
    const { deliveryFailpoints, threads = false } = parts;
    return await build(config, { clock, log, database, tls, deliveryFailpoints, threads });
  } catch (error) {
    await database.close();
    throw error;
  }
}

interface Base {
  clock: Clock;
  log: Logger;
  database: Database;
  tls: GrpcTls | undefined;
  deliveryFailpoints: DeliveryFailpoints | undefined;
  threads: boolean;
}

async function build(config: Config, base: Base): Promise<App> {
  const { clock, log, database, tls, deliveryFailpoints, threads } = base;
  const registry = createRegistry();
  const local = config.auth.issuer === null;
  const localIssuer = local ? await openLocalIssuer({ dataDir: config.dataDir, clock }) : null;
  const localKey = config.internal.apiKeys.length === 0 ? keepLocalKey(config.dataDir, clock) : null;
  const keys = createApiKeys(config, localKey);
  const outbound = createOutbound({ clock });
  const tokens = createTokens({ auth: config.auth, local: localIssuer, outbound, clock, log });
  const engine = new Engine({ source: database.facts, clock, cache: config.cache, log });
  database.follow(engine);
  const reached = new Reached(config.publicUrl);
  const built = buildFeatures({
    config,
    database,
    clock,
    log,
    outbound,
    tokens,
    registry,
    deliveryFailpoints,
    threads,
    publicUrl: () => reached.url,
    isActive: async (email) => (await engine.person(email)).person.active,
    revision: () => engine.revision,
  });
  const { features, worker } = built;

  const services: Services = {
    engine,
    tokens,
    keys,
    ...features,
    registry,
    clearEverywhere: async () => (await database.change(async () => ({ result: null, scopes: ['*'] }))).revision,
    ping: () => database.ping(),
    recordRefusal: async (refusal) => {
      await database.change(async (tx) => {
        await record(tx, refusal);
        return { result: null, scopes: [] };
      });
    },
  };
  const metrics = new GrpcMetrics();
  const memo = new RequestMemo();
  const opsOnly = !config.roles.includes('gateway');
  const gateway = opsOnly && config.ops === null ? null : await buildGateway({ config, services, clock, log, opsOnly });
  const grpc = config.roles.includes('rpc')
    ? buildGrpc(config, { engine, keys, clock, log, metrics, memo, tls })
    : null;
  exposeMetrics(registry, engine, metrics, memo);
  const doors = new Doors({ config, database, engine, gateway, grpc, worker, reached, prepare: () => built.prepare() });
  return {
    config,
    database,
    engine,
    manifests: features.manifests,
    streams: features.inboxStreams,
    unsubscriptions: features.unsubscriptions,
    bell: built.bell,
    localIssuer,
    localKey,
    start: (first) =>
      doors.start(first).catch((error: unknown) => {
        throw startFailure(config.database.url, error);
      }),
    close: async () => {
      await built.endStreams();
      await doors.close();
      await closeParts({ engine, tokens, outbound, database, features: built });
    },
  };
}

/**
 * A process that only answers gRPC, or only delivers, does not load the gateway, unless operators watch it: every garbage
 * collection would mark it.
 */
async function buildGateway(options: GatewayOptions): Promise<Gateway> {
  const { createGateway } = await import('../gateway/app.ts');
  return createGateway(options);
}

interface GrpcParts {
  engine: Engine;
  keys: Services['keys'];
  clock: Clock;
  log: Logger;
  metrics: GrpcMetrics;
  memo: RequestMemo;
  tls: GrpcTls | undefined;
}

function buildGrpc({ grpc }: Config, { keys, ...parts }: GrpcParts): GrpcServer {
  return createGrpcServer({
    ...parts,
    authorize: (value) => {
      keys.authorize(value, 'check');
    },
    host: grpc.host,
    port: grpc.port,
    reflection: grpc.reflection,
  });
}

/** The files that grpc.tls.* name; ConfigError with every one that cannot be read. */
async function readTls({ grpc, roles }: Config): Promise<GrpcTls | undefined> {
  if (grpc.tls === null || !roles.includes('rpc')) return undefined;
  const faults: Fault[] = [];
  const read = (key: string, variable: string, path: string): Promise<string> =>
    readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      const problem = `${path} cannot be read (${error.code ?? error.name}); for example /etc/usher/tls.pem`;
      faults.push({ key, variable, problem });
      return '';
    });
  const { cert, key, clientCa } = grpc.tls;
  const tls = {
    cert: await read('grpc.tls.cert', 'GRPC_TLS_CERT', cert),
    key: await read('grpc.tls.key', 'GRPC_TLS_KEY', key),
    clientCa: clientCa === null ? undefined : await read('grpc.tls.clientCa', 'GRPC_TLS_CLIENT_CA', clientCa),
  };
  if (faults.length > 0) throw new ConfigError(faults);
  checkTls(tls);
  return tls;
}

/** The base of the links that this service makes. Without a configured one it is where the gateway turned out to listen. */
class Reached {
  url: string;

  constructor(publicUrl: string | null) {
    this.url = publicUrl ?? 'http://localhost';
  }
}

interface DoorParts {
  config: Config;
  database: Database;
  engine: Engine;
  gateway: Gateway | null;
  grpc: GrpcServer | null;
  worker: Deliverer | null;
  reached: Reached;
  /** What features need of the database before anybody calls. */
  prepare: () => Promise<void>;
}

/** The listeners and the worker, opened once everything behind them answers, and closed before anything behind them is. */
class Doors {
  readonly #parts: DoorParts;

  constructor(parts: DoorParts) {
    this.#parts = parts;
  }

  async start(first?: () => Promise<void>): Promise<Addresses> {
    const { config, database, engine, gateway, grpc, worker, reached, prepare } = this.#parts;
    await engine.start();
    await database.change(seed);
    await database.change((tx) => seedSuperadmins(tx, config.superadmins));
    await prepare();
    await first?.();
    const http = await gateway?.start();
    if (http?.port && config.publicUrl === null) reached.url = `http://localhost:${http.port}`;
    const rpc = await grpc?.start();
    grpc?.setServing(true);
    await worker?.start();
    return {
      rest: http?.port ? `http://${authority(config.http.host, http.port)}` : null,
      grpc: rpc ? authority(config.grpc.host, rpc.port) : null,
      ops: config.ops && http?.opsPort ? `http://${authority(config.ops.host, http.opsPort)}` : null,
    };
  }

  async close(): Promise<void> {
    const { gateway, grpc, worker } = this.#parts;
    await Promise.all([grpc?.drain(), gateway?.close(), worker?.close()]);
  }
}

/** Everything is closed even where one part fails to; the first failure is thrown after that. */
async function closeParts(parts: {
  engine: Engine;
  tokens: Tokens;
  outbound: Outbound;
  database: Database;
  features: Pick<BuiltFeatures, 'close'>;
}): Promise<void> {
  parts.tokens.close();
  const results = await Promise.allSettled([parts.features.close(), parts.engine.close(), parts.outbound.close()]);
  await parts.database.close();
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

function authority(host: string, port: number): string {
  // A wildcard address is where one listens, not where one calls.
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
