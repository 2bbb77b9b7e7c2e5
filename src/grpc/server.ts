/** The gRPC listener: one server with the permission service, health and, where configured, reflection. */

import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';
import type { PermissionEngine } from '../rpc/call.ts';
import { createHandles } from './answering.ts';
import { type BridgeOptions, type Handle, MAX_MESSAGE, unary } from './bridge.ts';
import { GrpcConnections } from './connections.ts';
import { Health } from './health.ts';
import { freeClosedStreams, listenersOf } from './http2-streams.ts';
import { GrpcMetrics } from './metrics.ts';
import { addReflection } from './reflection.ts';
import { createMemo, type Memo } from './request-cache.ts';

/** PEM text of the files in grpc.tls.*. With `clientCa`, clients must present a certificate of that authority. */
export interface GrpcTls {
  cert: string;
  key: string;
  clientCa?: string | undefined;
}

export interface GrpcServerOptions {
  engine: PermissionEngine;
  /** Throws UsherError UNAUTHENTICATED or KEY_SCOPE. Receives undefined for a call without a key. */
  authorize: (key: string | undefined) => void;
  host: string;
  /** 0 picks a free port. */
  port: number;
  tls?: GrpcTls | undefined;
  reflection: boolean;
  log: Logger;
  metrics?: GrpcMetrics;
  memo?: Memo;
  clock?: Clock;
  /** Milliseconds; the defaults are TIMES. */
  times?: Partial<typeof TIMES>;
}

export interface GrpcServer {
  /** Listens. Rejects with one sentence about the cause: port taken, host not of this machine, invalid certificate. */
  start(): Promise<{ port: number }>;
  /** The answer of health: SERVING or NOT_SERVING. NOT_SERVING until the first call. */
  setServing(ok: boolean): void;
  /**
   * Health turns NOT_SERVING; after a pause in which load balancers notice, new calls are refused; calls in flight may finish,
   * and are cut off after `drainMs`. Resolves when the port is free.
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
  /** A connection's age, ± 10 %, so that clients find new instances; then the grace period for its last calls. */
  connectionAgeMs: 300_000,
  connectionGraceMs: 20_000,
  connectionIdleMs: 600_000,
  keepaliveMs: 30_000,
  /** From a connection's first byte to a working session: TLS handshake, preface and the client's settings. */
  arrivalMs: 10_000,
};

export function createGrpcServer(options: GrpcServerOptions): GrpcServer {
  // grpc-js logs metadata to stderr when it is invalid: an API key with an odd character, for example.
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
  const handles = createHandles(engine, options.memo ?? createMemo());
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

/** grpc-js passes the bytes through; the codec reads and writes them. */
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
      } else
        reject(new UsherError('UNAVAILABLE', `gRPC: ${listenProblem(error.message, host, port)}`, { cause: error }));
    });
  });
}

/** Why a server could not listen, with the configuration key to change. */
function listenProblem(message: string, host: string, port: number): string {
  if (message.includes('EADDRINUSE')) {
    return `port ${port} on ${host} is taken by another process; free it or set grpc.port (GRPC_PORT).`;
  }
  if (message.includes('EACCES'))
    return `port ${port} on ${host} needs more rights than this user has; set grpc.port (GRPC_PORT).`;
  return `${host} is not an address of this machine; set grpc.host (GRPC_HOST).`;
}

/** Throws where the texts are not certificates, or the key does not belong to the certificate. */
export function checkTls({ cert, key, clientCa }: GrpcTls): void {
  try {
    createSecureContext({ cert, key });
    // OpenSSL ignores an authority that it cannot read, and would then refuse every client.
    if (clientCa !== undefined) for (const one of certificatesOf(clientCa)) new X509Certificate(one);
  } catch (error) {
    throw new UsherError(
      'UNAVAILABLE',
      'gRPC: grpc.tls.cert, grpc.tls.key and grpc.tls.clientCa must be PEM, and the key must belong to the certificate.',
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

/** The certificates of a bundle; throws for an empty one. */
function certificatesOf(pem: string): string[] {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
  if (found === null) throw new Error('no certificate');
  return found;
}

/** Waits for calls in flight, at most `boundMs`. Leaves no socket open. */
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
