/**
 * An edge (docs/guides/edges.md): the gRPC port and the engine, with another Usher in place of a database. Parts are built here in the
 * order of their dependencies, and closed in reverse.
 */

import { type Clock, systemClock } from '../base/clock.ts';
import { reachableText } from '../base/listening.ts';
import { membersOf } from '../base/members.ts';
import { createLogger, createRegistry, type Logger } from '../base/telemetry.ts';
import { type Config, isKeylessEdge } from '../config/config.ts';
import type { Engine } from '../engine/engine.ts';
import { sharesOf } from '../engine/options.ts';
import type { ChangeHistory, FactsSource } from '../engine/types.ts';
import { Watch } from '../engine/watch.ts';
import type { FurtherDoor, Gateway } from '../gateway/app.ts';
import type { Services } from '../gateway/services.ts';
import { GrpcMetrics } from '../grpc/metrics.ts';
import { ABOUT_BYTES, type AboutBytes } from '../grpc/narrowed-keys.ts';
import { CheckCache } from '../grpc/request-cache.ts';
import { createGrpcServer, type GrpcServer } from '../grpc/server.ts';
import { createApiKeys, type KeyScope, keepLocalKey } from '../identity/api-keys.ts';
import { passingOn, passWatch } from '../upstream/passing-on.ts';
import { remoteFacts, UpstreamCounters } from '../upstream/remote-facts.ts';
import { passNotice } from './closing.ts';
import { portConnections } from './connection-limits.ts';
import { createEngine, openDecisionLog } from './decision-log.ts';
import { gatewayDoors, grpcDoors, type OpenDoor, openDoors } from './doors.ts';
import { openLink } from './edge-link.ts';
import { exposeMetrics, exposeUpstream } from './metrics.ts';
import { followHealth, Readiness } from './readiness.ts';
import { ReloadMetrics } from './reload-metrics.ts';
import type { ReloadTarget } from './reloader.ts';
import { takeReload } from './reloading.ts';
import { scrape } from './scrape.ts';
import { connectionTimes, readTlsFiles } from './tls-files.ts';

export interface EdgeParts {
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly version?: string;
}

/** Where an edge listens. */
export interface EdgeAddresses {
  readonly grpc: string;
  readonly ops: string | null;
  /** Those of `listeners`. */
  readonly listeners: readonly OpenDoor[];
}

export interface Edge extends ReloadTarget {
  readonly engine: Engine;
  readonly watch: Watch;
  /**
   * Opens the port. Resolves once the log has been followed: until then health is NOT_SERVING and every question UNAVAILABLE, and the
   * upstream is asked again and again. Rejects when the port is taken, and when the upstream refuses this process.
   */
  start(): Promise<EdgeAddresses>;
  /** Lets calls in flight finish within a bounded time. Can be called at any time, once. */
  close(): Promise<void>;
}

/** Between attempts to follow the upstream for the first time, in ms. */
const AGAIN_MS = 300;

export async function buildEdge(config: Config, parts: EdgeParts = {}): Promise<Edge> {
  const { clock = systemClock, log = createLogger(config.log.level), version = '' } = parts;
  const files = await readTlsFiles(config);
  const closing = new AsyncDisposableStack();
  const registry = createRegistry();
  const decisionLog = await openDecisionLog({ config, clock, log, registry, closing });
  const localKey = config.internal.apiKeys.length === 0 ? keepLocalKey(config.dataDir, clock) : null;
  const link = openLink(config, { localKey, ca: files.upstream, clock });
  closing.defer(() => link.close());
  const counters = new UpstreamCounters();
  const source = remoteFacts({ link, ttlMs: config.cache.ttlMs, clock, log, counters, head: () => engine.tail.head });
  const engine: Engine = createEngine({ source, clock, cache: config.cache, log }, decisionLog);
  closing.defer(() => engine.close());
  const watch = new Watch({ tail: engine.tail, history: historyOf(source), clock, log });
  const keys = createApiKeys(config, localKey);
  const authorize = (scope: KeyScope, about?: AboutBytes) => (value: string | undefined) =>
    keys.admit(value, scope, about);
  const metrics = new GrpcMetrics();
  const ports = portConnections(config, { log, clock, grpc: registry, gateway: null });
  const checks = new CheckCache(sharesOf(config.cache).checks);
  const grpc = createGrpcServer({
    engine,
    clock,
    log,
    metrics,
    checks,
    ...ports.grpc,
    tls: files.grpc,
    further: grpcDoors(config, files),
    authorize: (key, about) => authorize('check', about)(key),
    watch: { open: passWatch(link), authorize: authorize('watch', ABOUT_BYTES.get('Watch')) },
    facts: { facts: engine.served, watch, authorize: authorize('facts') },
    passed: passingOn(link, clock),
    host: config.grpc.host,
    port: isKeylessEdge(config) ? null : config.grpc.port,
    reflection: config.grpc.reflection,
    front: config.grpc.front,
    times: connectionTimes(config.grpc),
  });
  exposeMetrics(registry, { engine, watch, grpc: metrics, checks, factsBytes: sharesOf(config.cache).facts });
  exposeUpstream(registry, counters);
  const reloads = new ReloadMetrics(registry, files);
  // An edge has no database.
  const readiness = new Readiness({ engine, database: () => Promise.resolve() });
  const services = {
    engine,
    registry,
    metrics: (inOpenMetrics: boolean) => scrape([registry], inOpenMetrics),
    readiness,
  };
  const ops =
    config.ops === null
      ? null
      : await openOps({ config, further: gatewayDoors(config, files), services, clock, log, version });
  const listeners = new EdgeListeners({ config, clock, log, engine, readiness, grpc, ops });
  closing.defer(() => watch.close());
  closing.defer(() => listeners.close());
  closing.defer(() => listeners.giveNotice());
  const none = { gateway: null, processes: null, worker: null, shown: null };
  const reloaded = { ...none, clock, log, keys, grpc, link, metrics: reloads };
  return {
    engine,
    watch,
    files,
    reload: (next) => takeReload(reloaded, next),
    reloaded: (isTaken) => reloads.reloaded(isTaken),
    start: () => listeners.start(),
    close: () => closing.disposeAsync(),
  };
}

/** For followers of this process that missed more than it remembers. */
function historyOf(source: FactsSource): ChangeHistory {
  return async (mark, upTo, limit) => {
    const { changes, sinceNonce, tooMany } = await source.changes(mark.number);
    const isOfThisHistory = mark.number === 0 || sinceNonce === mark.nonce;
    return tooMany || !isOfThisHistory ? null : changes.filter(({ revision }) => revision <= upTo).slice(0, limit);
  };
}

interface OpsParts {
  readonly config: Config;
  readonly further: readonly FurtherDoor[];
  readonly services: Pick<Services, 'engine' | 'registry' | 'metrics' | 'readiness'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
}

async function openOps({ services, ...parts }: OpsParts): Promise<Gateway> {
  const { createGateway } = await import('../gateway/app.ts');
  // The routes for operators use nothing else of the services, and an edge has nothing else.
  return createGateway({ ...parts, services: services as Services, opsOnly: true });
}

interface ListenerParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly engine: Engine;
  readonly readiness: Readiness;
  readonly grpc: GrpcServer;
  readonly ops: Gateway | null;
}

class EdgeListeners {
  readonly #parts: ListenerParts;
  #cancel: () => void = () => undefined;
  #closed = false;
  /** Whether anybody may have been told of this process. */
  #opened = false;

  constructor(parts: ListenerParts) {
    this.#parts = parts;
  }

  async start(): Promise<EdgeAddresses> {
    const { config, engine, grpc, clock, log, ops } = this.#parts;
    const { port, further } = await grpc.start();
    const opened = await ops?.start();
    await this.#follow();
    if (!this.#closed) {
      this.#cancel = followHealth({ engine, grpc, clock, log });
      this.#opened = true;
    }
    return {
      grpc: port === 0 ? further.map(reachableText).join(', ') : `${config.grpc.host}:${port}`,
      ops: opened?.opsPort ? `http://${config.ops?.host}:${opened.opsPort}` : null,
      listeners: openDoors(config, opened?.further ?? [], further),
    };
  }

  /** As Listeners.giveNotice, of an edge that has followed its upstream. */
  async giveNotice(): Promise<void> {
    const { config, clock, log, readiness, grpc } = this.#parts;
    this.#closed = true;
    this.#cancel();
    readiness.stop();
    grpc.announceEnd();
    if (this.#opened) await passNotice(config.shutdown.noticeMs, { clock, log });
  }

  async close(): Promise<void> {
    await Promise.all([this.#parts.grpc.drain(), this.#parts.ops?.close()]);
  }

  async #follow(): Promise<void> {
    const { engine, clock, log } = this.#parts;
    for (let attempt = 0; !this.#closed; attempt++) {
      try {
        await engine.start();
        return;
      } catch (error) {
        if (isRefusal(error)) throw error;
        if (attempt === 0) log.warn({ err: error }, 'upstream not reachable; waiting for it');
      }
      await new Promise<void>((resolve) => {
        const cancel = clock.after(AGAIN_MS, resolve);
        this.#cancel = () => {
          cancel();
          resolve();
        };
      });
    }
  }
}

/** The upstream is there, and will not serve this process whatever the number of attempts. */
function isRefusal(error: unknown): boolean {
  const { code } = membersOf(membersOf(error).cause);
  return typeof code === 'number' && !RETRIED.has(code);
}

/** Of gRPC: CANCELLED, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNAVAILABLE. */
const RETRIED: ReadonlySet<number> = new Set([1, 4, 8, 14]);
