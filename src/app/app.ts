/**
 * The composition root: every part is built here, in the order of its dependencies, and closed in reverse.
 * Tests pass in other parts (a clock, failpoints); nothing is looked up by name or from ambient context.
 */

import { fileURLToPath } from 'node:url';
import { KeyUses } from '../administration/key-uses.ts';
import { Suggestions } from '../administration/suggestions.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { DearReads, shareOf } from '../base/dear-reads.ts';
import { lazy } from '../base/lazy.ts';
import { createLogger, createRegistry, type Logger } from '../base/telemetry.ts';
import type { Manifests } from '../catalog/manifest/manifests.ts';
import { seed } from '../catalog/seed.ts';
import type { Config } from '../config/config.ts';
import type { DeliveryBell } from '../delivery/queue.ts';
import type { DeliveryFailpoints } from '../delivery/worker.ts';
import type { Engine } from '../engine/engine.ts';
import { sharesOf } from '../engine/options.ts';
import { Watch } from '../engine/watch.ts';
import type { Gateway, GatewayOptions } from '../gateway/app.ts';
import type { Features, Services } from '../gateway/services.ts';
import { GrpcMetrics } from '../grpc/metrics.ts';
import { CheckCache } from '../grpc/request-cache.ts';
import { createApiKeys, keepLocalKey } from '../identity/api-keys.ts';
import { createDevelopmentSignIn, type DevelopmentSignIn } from '../identity/development-sign-in.ts';
import { type LocalIssuer, openLocalIssuer } from '../identity/local-issuer.ts';
import { createTokens } from '../identity/tokens.ts';
import { createOutbound } from '../outbound/outbound.ts';
import { record } from '../persistence/audit.ts';
import type { Database } from '../persistence/database.ts';
import { isStandby } from '../persistence/driver/standby.ts';
import { changeHistory } from '../persistence/facts/history.ts';
import { listSource } from '../persistence/facts/lists.ts';
import { type Failpoints, openDatabase, startFailure } from '../persistence/open.ts';
import { seedSuperadmins } from '../persistence/people/superadmins.ts';
import { createBackups } from './backups.ts';
import { portConnections } from './connection-limits.ts';
import { createEngine, openDecisionLog } from './decision-log.ts';
import { gatewayDoors, grpcDoors } from './doors.ts';
import { buildFeatures } from './features.ts';
import { buildGrpc } from './grpc.ts';
import { type Addresses, Listeners, Reached } from './listeners.ts';
import { openSecretKey } from './mail.ts';
import { exposeBarrier, exposeMetrics } from './metrics.ts';
import { Readiness } from './readiness.ts';
import { ReloadMetrics } from './reload-metrics.ts';
import type { ReloadTarget } from './reloader.ts';
import { takeReload } from './reloading.ts';
import type { Metric } from './rpc-process.ts';
import { RpcProcesses } from './rpc-processes.ts';
import { scrape } from './scrape.ts';
import { readTlsFiles, type TlsFiles } from './tls-files.ts';
import { tokenOwner } from './token-owner.ts';
import { openWaitingRoom } from './waiting-room.ts';

/** Parts that tests replace. */
export interface Parts {
  clock?: Clock;
  log?: Logger;
  failpoints?: Failpoints;
  deliveryFailpoints?: DeliveryFailpoints;
  /** Whether deliveries may run in a thread of their own, which does not get the parts above. */
  threads?: boolean;
  /** The folder of the built panel, with a trailing slash. */
  panelFolder?: URL;
  /** Of this build; empty where nobody asks for it. */
  version?: string;
  /** Whether another process of this service has migrated the database and written its first rows. */
  isPrepared?: boolean;
  /** What another process of this service has read of the files of certificates. */
  files?: TlsFiles;
  /** Ends a start that waits for its database. */
  ending?: AbortSignal;
}

/** Where the build writes the panel: beside the compiled service, and for the sources where that would be. */
const PANEL_FOLDER = new URL('../../dist/panel/', import.meta.url);

/** A built service. */
export interface App extends ReloadTarget {
  readonly config: Config;
  readonly database: Database;
  readonly engine: Engine;
  /** For tests of the limits and ends of its streams. */
  readonly watch: Watch;
  /** For tests of their bounds. */
  readonly dearReads: DearReads;
  readonly manifests: Manifests;
  /** For tests of the limits and ends of streams. */
  readonly streams: Features['inboxStreams'];
  readonly changeStreams: Features['changeStreams'];
  readonly permissionStreams: Features['permissionStreams'];
  /** For tests of links in mail that was not sent. */
  readonly unsubscriptions: Features['unsubscriptions'];
  /** Rung after a commit that enqueued deliveries without the features. */
  readonly bell: DeliveryBell;
  /** Null where an identity provider is configured. */
  readonly localIssuer: LocalIssuer | null;
  /** The internal key that a start without configured keys generated. */
  readonly localKey: string | null;
  /** Null where an identity provider is configured. */
  readonly developmentSignIn: DevelopmentSignIn | null;
  /** The metrics of this process alone, for one that collects those of several. */
  ownMetrics(): Promise<Metric[]>;
  /** Where people reach the gateway, without a trailing slash; complete once `start` has resolved. */
  readonly publicUrl: () => string;
  /**
   * Opens the listeners, once everything behind them answers and `first`, the preparations for the first caller, is done.
   * Rejects when the database is unreachable or a port is taken; `close` must be called then too.
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
  // Before the database is opened and migrated, so that a wrong value ends the start at once.
  const files = parts.files ?? (await readTlsFiles(config));
  const database = await openInTime(config, parts, { clock, log, files });
  // Closes every part in reverse order, even if one fails to close.
  const closing = new AsyncDisposableStack();
  closing.defer(() => database.close());
  try {
    const { deliveryFailpoints, threads = false, panelFolder = PANEL_FOLDER, version = '', isPrepared = false } = parts;
    const base = {
      clock,
      log,
      database,
      files,
      deliveryFailpoints,
      threads,
      panelFolder,
      version,
      isPrepared,
      closing,
    };
    return await build(config, base);
  } catch (error) {
    await closing.disposeAsync();
    throw error;
  }
}

/** Opens the database. Where it is not there yet, probes are answered while the start waits for it. */
async function openInTime(
  config: Config,
  parts: Parts,
  { clock, log, files }: { clock: Clock; log: Logger; files: TlsFiles },
): Promise<Database> {
  const { isPrepared = false, version = '', failpoints, ending } = parts;
  let waitingRoom: Gateway | null = null;
  const began = async (): Promise<void> => {
    waitingRoom = await openWaitingRoom({ config, files, clock, log, version });
  };
  try {
    return await openDatabase({
      url: config.database.url,
      directUrl: config.database.directUrl,
      factsUrl: config.database.factsUrl,
      dataDir: config.dataDir,
      poolSize: config.database.poolSize,
      earlyRelease: config.database.earlyRelease,
      migrateOnStart: config.database.migrateOnStart,
      wait: { ms: config.database.waitMs, signal: ending, began },
      migrationsChecked: isPrepared,
      clock,
      log,
      ...(failpoints ? { failpoints } : {}),
    });
  } finally {
    await (waitingRoom as Gateway | null)?.close();
  }
}

interface Base {
  clock: Clock;
  log: Logger;
  database: Database;
  files: TlsFiles;
  deliveryFailpoints: DeliveryFailpoints | undefined;
  threads: boolean;
  panelFolder: URL;
  version: string;
  isPrepared: boolean;
  closing: AsyncDisposableStack;
}

async function build(config: Config, base: Base): Promise<App> {
  const { clock, log, database, files, deliveryFailpoints, threads, version, closing } = base;
  const registry = createRegistry();
  // Each process has these; the other registry has the metrics of the database and the gateway.
  const own = createRegistry();
  const backups = createBackups(config, { database, clock, log, version });
  closing.defer(() => backups?.close());
  const local = config.auth.issuer === null;
  const localIssuer = local ? await openLocalIssuer({ dataDir: config.dataDir, clock }) : null;
  const localKey = config.internal.apiKeys.length === 0 ? keepLocalKey(config.dataDir, clock) : null;
  const keys = createApiKeys(config, localKey);
  const developmentSignIn = localIssuer === null ? null : createDevelopmentSignIn({ issuer: localIssuer, clock });
  const keyUses = new KeyUses({ database, keys, clock, log });
  closing.defer(() => keyUses.close());
  const outbound = createOutbound({ clock, proxy: config.outbound });
  closing.defer(() => outbound.close());
  const tokens = createTokens({ auth: config.auth, local: localIssuer, outbound, clock, log });
  closing.defer(() => tokens.close());
  const secret = openSecretKey({ config, database, clock });
  const decisionLog = await openDecisionLog({ config, clock, log, registry: own, closing });
  const engine = createEngine(
    {
      source: database.facts,
      replica: database.replica,
      lists: listSource(database),
      cursorKey: () => secret.derive('list-cursor'),
      clock,
      cache: config.cache,
      log,
    },
    decisionLog,
  );
  closing.defer(() => engine.close());
  database.follow(engine);
  const watch = new Watch({ tail: engine.tail, history: changeHistory(database), clock, log });
  const person = async (email: string) => (await engine.person(email)).person;
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
    watch,
    person,
    isActive: async (email) => (await person(email)).active,
    revision: () => engine.revision,
    reached: () => engine.cursor,
  });
  closing.defer(() => built.close());
  const { features, worker, loop } = built;

  const isRpc = config.roles.includes('rpc');
  const processes =
    isRpc && config.grpc.processes > 1 ? new RpcProcesses({ config, files, clock, log, registry }) : null;
  const readiness = new Readiness({
    engine,
    database: () => database.ping(),
    processes: processes === null ? undefined : () => processes.check(),
    workerAgeMs: config.roles.every((role) => role === 'worker') ? () => loop?.ageMs ?? 0 : undefined,
  });
  const dearReads = new DearReads({ clock, connections: shareOf({ kind: database.kind, ...config.database }) });
  const services: Services = {
    dearReads,
    engine,
    watch,
    tokens,
    keys,
    keyUses,
    configuration: config.effective,
    ...features,
    registry,
    developmentSignIn,
    panelFiles: panelFiles(base.panelFolder),
    clearEverywhere: async () => (await database.change(async () => ({ result: null, scopes: ['*'] }))).revision,
    readiness,
    metrics: (inOpenMetrics) => scrape([registry, own], inOpenMetrics, () => processes?.metrics()),
    recordRefusal: (refusal) => recordRefusal(database, refusal),
    suggestions: new Suggestions(database),
  };
  const metrics = new GrpcMetrics();
  const ports = portConnections(config, { log, clock, grpc: own, gateway: registry });
  const checks = new CheckCache(sharesOf(config.cache).checks);
  const opsOnly = !config.roles.includes('gateway');
  const gateway =
    opsOnly && config.ops === null
      ? null
      : await buildGateway({
          config,
          tls: files.gateway,
          further: gatewayDoors(config, files),
          slots: ports.http.slots,
          services,
          clock,
          log,
          version,
          opsOnly,
        });
  const tls = { tls: files.grpc, further: grpcDoors(config, files) };
  const grpcParts = {
    identify: tokenOwner(tokens, features.subjects),
    engine,
    watch,
    keys,
    clock,
    log,
    metrics,
    checks,
    ports: ports.grpc,
    ...tls,
  };
  const answering = isRpc && processes === null ? buildGrpc(config, grpcParts) : null;
  exposeMetrics(own, { engine, watch, grpc: metrics, checks, factsBytes: sharesOf(config.cache).facts });
  if (database.barrier !== null) exposeBarrier(own, database.barrier);
  const reloads = new ReloadMetrics(registry, files);
  const reloaded = { clock, log, keys, gateway, grpc: answering, processes, worker, link: null, metrics: reloads };
  const listeners = new Listeners({
    config,
    clock,
    log,
    engine,
    readiness,
    gateway,
    grpc: answering ?? processes,
    worker,
    reached,
    prepare: async () => {
      if (base.isPrepared) return;
      const standby = await database.read(isStandby);
      if (standby) {
        log.warn('the database is a standby: questions are answered, writes are refused with UNAVAILABLE');
      } else {
        await database.change(seed);
        await database.change((tx) => seedSuperadmins(tx, config.superadmins));
      }
      await built.prepare({ standby });
    },
  });
  closing.defer(() => listeners.close());
  closing.defer(() => built.endStreams());
  closing.defer(() => watch.close());
  closing.defer(() => listeners.giveNotice());
  return {
    config,
    database,
    engine,
    watch,
    dearReads,
    manifests: features.manifests,
    streams: features.inboxStreams,
    changeStreams: features.changeStreams,
    permissionStreams: features.permissionStreams,
    unsubscriptions: features.unsubscriptions,
    bell: built.bell,
    localIssuer,
    localKey,
    developmentSignIn,
    files,
    reload: (next) => takeReload({ ...reloaded, shown: services }, next),
    reloaded: (isTaken) => reloads.reloaded(isTaken),
    ownMetrics: () => own.getMetricsAsJSON(),
    publicUrl: () => reached.url,
    start: (first) =>
      listeners.start(first).then(
        (addresses) => {
          // What a first start stores is in the first backup.
          backups?.start();
          return addresses;
        },
        (error: unknown) => {
          throw startFailure(config.database.url, error);
        },
      ),
    close: () => closing.disposeAsync(),
  };
}

/** Loaded with the first page: most requests are not a browser's. */
function panelFiles(folder: URL): Services['panelFiles'] {
  const load = lazy(async () => new (await import('../gateway/panel/files.ts')).PanelFolder(fileURLToPath(folder)));
  return async () => (await load()).files();
}

async function recordRefusal(database: Database, refusal: Parameters<Services['recordRefusal']>[0]): Promise<void> {
  await database.change(async (tx) => {
    await record(tx, refusal);
    return { result: null, scopes: [] };
  });
}

/**
 * A process that only answers gRPC, or only delivers, loads the gateway only for an operators' listener: every garbage
 * collection would have to mark it.
 */
async function buildGateway(options: GatewayOptions): Promise<Gateway> {
  const { createGateway } = await import('../gateway/app.ts');
  return createGateway(options);
}
