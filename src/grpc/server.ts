/** The gRPC listener: one server with the permission service, health and, where configured, reflection. */

import {
  logVerbosity,
  Server,
  type ServerOptions,
  type ServiceDefinition,
  setLogVerbosity,
  type UntypedHandleCall,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { FrontMethod, FrontMethods } from '#http2-front/service';
import { certain } from '../base/certain.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { ConnectionSlots, slotLimits } from '../base/connection-slots.ts';
import type { ListenAddress } from '../base/listening.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Certificates } from '../base/tls.ts';
import { tracer } from '../base/tracing.ts';
import { Authorization } from '../gen/envoy/service/auth/v3/external_auth_pb.ts';
import { FactsService } from '../gen/usher/facts/v1/facts_pb.ts';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';
import type { PermissionEngine } from '../rpc/call.ts';
import { MAX_FACTS } from '../rpc/facts.ts';
import { admitFirst } from './admission.ts';
import { createHandles } from './answering.ts';
import { type Admission, type Authorize, type Handle, unary } from './bridge.ts';
import { CallTraces } from './call-traces.ts';
import { GrpcConnections } from './connections.ts';
import { aboutExtAuthz, extAuthzHandle, type ServedExtAuthz } from './ext-authz.ts';
import { factsMethods, type ServedFacts, servedFacts } from './facts-service.ts';
import { Guesses, type GuessLimits } from './guesses.ts';
import { Health } from './health.ts';
import { type GrpcDoor, listenBehindFront, listenDirectly } from './listening.ts';
import { EXT_AUTHZ, GrpcMetrics, METHODS } from './metrics.ts';
import { ABOUT_BYTES, type AboutBytes } from './narrowed-keys.ts';
import { addReflection } from './reflection.ts';
import { countRefused, type GrpcRefused, REFUSED } from './refused.ts';
import { CheckCache } from './request-cache.ts';
import { type Entrance, entrancesOf, type ServedMethod, serviceOf } from './served-methods.ts';
import { type OpenStream, serverStreaming } from './streaming.ts';
import { MAX_MESSAGE, WaitingCalls } from './waiting.ts';

export interface GrpcServerOptions {
  engine: PermissionEngine;
  /** As `Authorize`; `about` tells which applications a request is about. */
  authorize: (key: string | undefined, about: AboutBytes) => Admission | undefined;
  /** Without it, Watch is not served. */
  watch?: { readonly open: OpenStream; readonly authorize: Authorize } | undefined;
  /** Without it, facts are not served. */
  facts?: ServedFacts | undefined;
  /** Without it, proxies cannot ask as they ask Envoy's own service. */
  extAuthz?: Pick<ServedExtAuthz, 'identify'> | undefined;
  /** Methods that another service answers. */
  passed?: PassedMethods | undefined;
  host: string;
  /** 0 picks a free port; null is for a server that listens at `further` alone. */
  port: number | null;
  tls?: Certificates | undefined;
  /** Beside that address; for a server with the front. */
  further?: readonly GrpcDoor[];
  reflection: boolean;
  /** Whether the front of front/ answers the calls that it can, before grpc-js. */
  front?: boolean;
  log: Logger;
  metrics?: GrpcMetrics;
  checks?: CheckCache;
  refused?: GrpcRefused;
  /** Of wrong keys; null or absent for none. */
  guesses?: GuessLimits | null;
  /** The connections that the port may have; tests have room for as many as they like. */
  slots?: ConnectionSlots;
  clock?: Clock;
  /** Milliseconds; the defaults are TIMES. */
  times?: Partial<typeof TIMES>;
}

/** Answers some methods by passing them on, as they are. */
export interface PassedMethods {
  /** Null for a method that is answered here. */
  unary(name: string, authorize: Authorize, calls: WaitingCalls): UntypedHandleCall | null;
}

export interface GrpcServer {
  /**
   * Listens. `port` is 0 where there is none. Rejects with one sentence about the cause: port taken, host not of this machine, invalid
   * certificate.
   */
  start(): Promise<{ port: number; further: readonly ListenAddress[] }>;
  /** The answer of health: SERVING or NOT_SERVING. NOT_SERVING until the first call. */
  setServing(ok: boolean): void;
  /** Health turns NOT_SERVING for good; calls and connections are still taken. */
  announceEnd(): void;
  /** The same, then refuses new calls; calls in flight may finish, and are cut off after `drainMs`. Resolves when the port is free. */
  drain(): Promise<void>;
}

/** One whose certificates are kept in this process. */
export interface AnsweringServer extends GrpcServer {
  /** New connections get these certificates; those that are open stay. For listeners that were made with some. */
  renew(tls: Certificates | undefined, further?: readonly (Certificates | undefined)[]): void;
}

const TIMES = {
  /** The longest wait for an answer (docs/reference/http.md#limits). */
  deadlineMs: 10_000,
  /** For calls in flight: a little more than their longest wait. */
  drainMs: 11_000,
  /** A connection's age, ± 10 %, so that clients find new instances; then the grace period for its last calls; without a call. */
  connectionAgeMs: 300_000,
  connectionGraceMs: 20_000,
  connectionIdleMs: 600_000,
  keepaliveMs: 30_000,
  /** From a connection's first byte to a working session: TLS handshake, preface and the client's settings. */
  arrivalMs: 10_000,
  /** For a message, from the headers of its call to its last byte. */
  messageMs: 10_000,
  /** Without a call, where no right key was ever shown. */
  guestIdleMs: 10_000,
};

/** Connections, where nobody says how many there may be. */
const ENOUGH = 100_000;
/** Bytes, where no cache is passed in. */
const MEMORY = 16 * 1024 * 1024;

const LIMITS_OF_CONNECTIONS = {
  'grpc.max_receive_message_length': MAX_MESSAGE,
  // WaitingCalls measures each answer that had to wait; the others are small.
  'grpc.max_send_message_length': MAX_FACTS,
  'grpc.max_concurrent_streams': 256,
  'grpc-node.max_session_memory': 16,
};

/** A server that knows its methods, and whom they are for. */
class ListedServer extends Server {
  readonly #entrances: Map<string, Entrance>;

  constructor(options: ServerOptions, entrances: Map<string, Entrance>) {
    super(options);
    this.#entrances = entrances;
  }

  /** A service of a package, which is open to everybody. */
  override addService(service: ServiceDefinition, implementation: UntypedServiceImplementation): void {
    this.#list(entrancesOf(service));
    super.addService(service, implementation);
  }

  /** A service of this project. */
  serve(typeName: string, methods: readonly ServedMethod[]): void {
    const [service, implementation] = serviceOf(typeName, methods);
    super.addService(service, implementation);
    this.#list(entrancesOf(service, methods));
  }

  #list(entrances: ReturnType<typeof entrancesOf>): void {
    for (const [path, entrance] of entrances) this.#entrances.set(path, entrance);
  }
}

/** Where the front keeps the connections, grpc-js must not end those behind it. */
function lifeOfConnections(times: typeof TIMES) {
  return {
    'grpc.max_connection_age_ms': times.connectionAgeMs,
    'grpc.max_connection_age_grace_ms': times.connectionGraceMs,
    'grpc.max_connection_idle_ms': times.connectionIdleMs,
    'grpc.keepalive_time_ms': times.keepaliveMs,
  };
}

export function createGrpcServer(options: GrpcServerOptions): AnsweringServer {
  // grpc-js logs metadata to stderr when it is invalid: an API key with an odd character, for example.
  setLogVerbosity(logVerbosity.NONE);
  const times = { ...TIMES, ...options.times };
  const clock = options.clock ?? systemClock;
  const { log, engine } = options;
  const authorizeFor = authorizing(options);
  const metrics = options.metrics ?? new GrpcMetrics();
  const calls = new WaitingCalls({
    log,
    clock,
    metrics,
    deadlineMs: times.deadlineMs,
    traces: tracer === null ? null : new CallTraces(tracer, clock, metrics),
  });
  const refused = options.refused ?? countRefused(log, clock);
  const handles = createHandles(engine, options.checks ?? new CheckCache(MEMORY));
  const entrances = new Map<string, Entrance>();
  const slots = options.slots ?? new ConnectionSlots(slotLimits(ENOUGH), () => refused.count(REFUSED.CONNECTIONS));
  const { messageMs } = times;
  const guesses = options.guesses ? new Guesses(options.guesses, clock) : null;
  const connections = options.front ? null : new GrpcConnections({ clock, times, slots, refused, guesses });
  const direct = (behind: GrpcConnections) => ({
    ...lifeOfConnections(times),
    interceptors: [admitFirst({ entrances, connections: behind, options: calls.options, refused, messageMs })],
  });
  const server = new ListedServer(
    { ...LIMITS_OF_CONNECTIONS, ...(connections === null ? {} : direct(connections)) },
    entrances,
  );
  const { passed } = options;
  const methods = [
    ...[...handles].map(([name, handle]) => {
      const authorize = authorizeFor(name);
      return {
        name,
        streams: false,
        authorize,
        handler: passed?.unary(name, authorize, calls) ?? unary(name, handle, authorize, calls),
      };
    }),
    ...(options.watch === undefined ? [] : [watchMethod(options.watch, calls)]),
  ];
  server.serve(PermissionService.typeName, methods);
  if (options.facts !== undefined) server.serve(FactsService.typeName, servedFacts(options.facts, calls));
  const { extAuthz } = options;
  if (extAuthz !== undefined) {
    const authorize: Authorize = (key) => options.authorize(key, aboutExtAuthz);
    const handler = unary(EXT_AUTHZ, extAuthzHandle({ engine, ...extAuthz }), authorize, calls);
    server.serve(Authorization.typeName, [{ name: 'Check', counted: EXT_AUTHZ, streams: false, authorize, handler }]);
  }
  const services = [
    PermissionService,
    ...(options.facts === undefined ? [] : [FactsService]),
    ...(extAuthz === undefined ? [] : [Authorization]),
  ];
  const health = new Health(services.map(({ typeName }) => typeName));
  health.addTo(server);
  const files = services.map(({ file }) => file);
  const endReflection = options.reflection ? addReflection(server, files) : () => {};

  const listener =
    connections === null
      ? listenBehindFront(server, {
          methods: atTheFront(handles, options),
          served: entrances,
          calls,
          slots,
          guesses,
          refused,
          times,
          clock,
          tls: options.tls,
          further: options.further ?? [],
        })
      : listenDirectly(server, connections, { clock, tls: options.tls });
  let isEnding = false;
  const announceEnd = (): void => {
    isEnding = true;
    health.set(false);
  };
  let draining: Promise<void> | undefined;
  return {
    async start() {
      const port = options.port === null ? 0 : await listener.listen(options.host, options.port);
      return { port, further: await listener.listenFurther() };
    },
    setServing: (ok) => health.set(ok && !isEnding),
    announceEnd,
    renew: (tls, further = []) => listener.renew(tls, further),
    drain() {
      draining ??= (async () => {
        announceEnd();
        health.end();
        endReflection();
        await listener.end(times.drainMs);
      })();
      return draining;
    },
  };
}

/**
 * The methods whose callers wait for microseconds, and those of followers, of which there may be a thousand. The others are
 * questions of administrators, and pages of lists: grpc-js answers them.
 */
const AT_THE_FRONT = ['Check', 'BulkCheck', 'BatchCheck', 'Effective'] as const;

function atTheFront(
  handles: ReadonlyMap<string, Handle>,
  { authorize, facts }: Pick<GrpcServerOptions, 'authorize' | 'facts'>,
): FrontMethods {
  const authorizeFor = authorizing({ authorize });
  const methods = AT_THE_FRONT.map((name): [string, FrontMethod] => [
    `/${PermissionService.typeName}/${name}`,
    { index: METHODS.indexOf(name), handle: certain(handles.get(name)), authorize: authorizeFor(name), many: false },
  ]);
  return new Map([...methods, ...(facts === undefined ? [] : factsMethods(facts))]);
}

/** For each method, by its name on the wire. */
function authorizing({ authorize }: Pick<GrpcServerOptions, 'authorize'>): (name: string) => Authorize {
  return (name) => {
    const about = certain(ABOUT_BYTES.get(name));
    return (key) => authorize(key, about);
  };
}

function watchMethod({ open, authorize }: NonNullable<GrpcServerOptions['watch']>, calls: WaitingCalls): ServedMethod {
  const { name } = PermissionService.method.watch;
  return { name, streams: true, authorize, handler: serverStreaming(name, open, authorize, calls.options) };
}
