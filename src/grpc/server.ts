/** The gRPC door: one server with the permission service, health and, where wanted, reflection. */

import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';
import type { Asked } from '../rpc/methods.ts';
import { createHandles } from './answering.ts';
import { type BridgeOptions, type Handle, MAX_MESSAGE, unary } from './bridge.ts';
import { GrpcConnections } from './connections.ts';
import { Health } from './health.ts';
import { freeClosedStreams, listenersOf } from './http2-streams.ts';
import { GrpcMetrics } from './metrics.ts';
import { addReflection } from './reflection.ts';
import { RequestMemo } from './request-cache.ts';

/** PEM text of the files that grpc.tls.* name. With `clientCa` a client must show a certificate of that authority. */
export interface GrpcTls {
  cert: string;
  key: string;
  clientCa?: string | undefined;
}

export interface GrpcServerOptions {
  engine: Asked;
  /** Throws UsherError UNAUTHENTICATED or KEY_SCOPE. Gets undefined where no key was sent. */
  authorize: (key: string | undefined) => void;
  host: string;
  /** 0 picks a free one. */
  port: number;
  tls?: GrpcTls | undefined;
  reflection: boolean;
  log: Logger;
  metrics?: GrpcMetrics;
  memo?: RequestMemo;
  clock?: Clock;
  /** Milliseconds; what is left out is as below. */
  times?: Partial<typeof TIMES>;
}

export interface GrpcServer {
  /** Listens. Rejects with one clear sentence when it cannot: port taken, host not of this machine, unfit certificate. */
  start(): Promise<{ port: number }>;
  /** What health answers: SERVING or NOT_SERVING. NOT_SERVING until it is first called. */
  setServing(ok: boolean): void;
  /**
   * Health turns NOT_SERVING; after a while in which load balancers notice, no new call is taken; calls in flight end by
   * themselves, at the latest after `drainMs`, when what is left is cut off. Resolves when the port is free.
   */
  drain(): Promise<void>;
}

const TIMES = {
  /** The longest wait for an answer (docs/reference/http.md#limits). */
  deadlineMs: 10_000,
  /** Between NOT_SERVING and the end of new calls. */
  noticeMs: 0,
  /** For calls in flight: a little more than their longest wait. */
  drainMs: 11_000,
  /** A connection's age, ± 10 %, so that clients find new instances; then so long for its last calls. */
  connectionAgeMs: 300_000,
  connectionGraceMs: 20_000,
  connectionIdleMs: 600_000,
  keepaliveMs: 30_000,
  /** From a connection's first byte to a session that works: TLS handshake, preface and the client's settings. */
  arrivalMs: 10_000,
};

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  // grpc-js writes what it dislikes to stderr, values of metadata included: an API key with an odd character, for one.
  setLogVerbosity(logVerbosity.NONE);
  const times = { ...TIMES, ...options.times };
  const clock = options.clock ?? systemClock;
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE,
    'grpc.max_send_message_length': MAX_MESSAGE,
    'grpc.max_concurrent_streams': 256,
    'grpc-node.max_session_memory': 16,
    'grpc.max_connection_age_ms': times.connectionAgeMs,
    'grpc.max_connection_age_grace_ms': times.connectionGraceMs,
    'grpc.max_connection_idle_ms': times.connectionIdleMs,
    'grpc.keepalive_time_ms': times.keepaliveMs,
  });
  const { authorize, log, engine } = options;
  const handles = createHandles(engine, options.memo ?? new RequestMemo());
  addPermissionService(server, handles, {
    authorize,
    log,
    clock,
    metrics: options.metrics ?? new GrpcMetrics(),
    deadlineMs: times.deadlineMs,
  });
  const health = new Health([PermissionService.typeName]);
  health.addTo(server);
  const endReflection = options.reflection ? addReflection(server) : () => {};

  const connections = new GrpcConnections(clock, times);
  let draining: Promise<void> | undefined;
  return {
    async start() {
      const port = await listen(server, options);
      for (const listening of listenersOf(server)) connections.watch(listening);
      return { port };
    },
    setServing: (ok) => health.set(ok && draining === undefined),
    drain() {
      draining ??= (async () => {
        health.set(false);
        if (times.noticeMs > 0) await pause(clock, times.noticeMs);
        health.end();
        endReflection();
        await shutDown(server, connections, clock, times.drainMs);
      })();
      return draining;
    },
  };
}

/** Bytes pass through grpc-js as they are: reading and writing them is the codec's. */
function addPermissionService(server: Server, handles: ReadonlyMap<string, Handle>, bridge: BridgeOptions): void {
  const bytes = (message: Buffer) => message;
  const methods = [...handles].map(([method, handle]) => {
    const definition = {
      path: `/${PermissionService.typeName}/${method}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    };
    return { method, definition, handler: unary(method, handle, bridge) };
  });
  server.addService(
    Object.fromEntries(methods.map(({ method, definition }) => [method, definition])),
    Object.fromEntries(methods.map(({ method, handler }) => [method, handler])),
  );
}

function listen(server: Server, { host, port, tls }: GrpcServerOptions): Promise<number> {
  const credentials = tls === undefined ? ServerCredentials.createInsecure() : secure(tls);
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error === null) {
        freeClosedStreams(server);
        resolve(bound);
      } else reject(new UsherError('UNAVAILABLE', `gRPC: ${unheard(error.message, host, port)}`, { cause: error }));
    });
  });
}

/** Why a server could not listen, in words that name the key to change. */
function unheard(message: string, host: string, port: number): string {
  if (message.includes('EADDRINUSE')) {
    return `port ${port} on ${host} is taken by another process; free it or set grpc.port (GRPC_PORT).`;
  }
  if (message.includes('EACCES'))
    return `port ${port} on ${host} is not allowed to this user; set grpc.port (GRPC_PORT).`;
  return `${host} is no address of this machine; set grpc.host (GRPC_HOST).`;
}

/** Throws where the texts are no certificates, or the key is not that of the certificate. */
export function checkTls({ cert, key, clientCa }: GrpcTls): void {
  try {
    createSecureContext({ cert, key });
    // OpenSSL passes over an authority that it cannot read, and then no client is let in.
    if (clientCa !== undefined) for (const one of certificatesOf(clientCa)) new X509Certificate(one);
  } catch (error) {
    throw new UsherError(
      'UNAVAILABLE',
      'gRPC: grpc.tls.cert, grpc.tls.key and grpc.tls.clientCa must be PEM, and the key that of the certificate.',
      { cause: error },
    );
  }
}

function secure(tls: GrpcTls): ServerCredentials {
  checkTls(tls);
  const { cert, key, clientCa } = tls;
  const authority = clientCa === undefined ? null : Buffer.from(clientCa);
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  return ServerCredentials.createSsl(authority, [pair], clientCa !== undefined);
}

/** The certificates of a bundle; throws when there is none. */
function certificatesOf(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (found === null) throw new Error('no certificate');
  return found;
}

/** Waits for calls in flight, but not for ever. Leaves no socket open. */
async function shutDown(server: Server, connections: GrpcConnections, clock: Clock, boundMs: number): Promise<void> {
  let cancel = () => {};
  const ended = new Promise<boolean>((resolve) => {
    server.tryShutdown(() => resolve(true));
    cancel = clock.after(boundMs, () => resolve(false));
  });
  connections.endArriving();
  if (!(await ended)) server.forceShutdown();
  cancel();
  connections.destroy();
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}
