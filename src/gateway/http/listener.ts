/** A listener of node:http with every limit set, and the application on it. */

import type { RequestListener, Server } from 'node:http';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import type { ConnectionSlots } from '../../base/connection-slots.ts';
import { type ListenAddress, listenAt } from '../../base/listening.ts';
import type { Logger } from '../../base/telemetry.ts';
import { type Certificates, secureContextOf, tlsOptionsOf } from '../../base/tls.ts';
import { HTTP_LIMITS } from '../route/limits.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import { routableTarget } from './target.ts';

// `import 'node:http'` evaluates every export, and the getter of `WebSocket` loads all of fetch. `getBuiltinModule` does not.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

export interface Listener {
  /** With the port that it got. */
  readonly at: ListenAddress;
  /** 0 of a UNIX socket. */
  readonly port: number;
  /** New connections get these certificates, where this one speaks TLS. */
  renew(tls: Certificates): void;
  /** From now on each answer is the last of its connection. */
  announceEnd(): void;
  /** Accepts nothing new, lets requests in flight finish within a bounded time, then cuts them. */
  close(): Promise<void>;
}

interface ListenOptions {
  readonly at: ListenAddress;
  /** Without it, cleartext. */
  readonly tls?: Certificates | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: ConnectionLimits;
  readonly slots: ConnectionSlots;
  readonly trustProxy: boolean;
}

/** Listens first and builds the application after: the allowed origin can depend on the port. */
export async function listen(options: ListenOptions, createApp: (port: number) => RequestListener): Promise<Listener> {
  const { limits } = options;
  const server = createServer(limits, options.tls);
  const connections = new Connections(server, options);
  const at = await listenAt(server, options.at);
  const port = 'port' in at ? at.port : 0;
  try {
    const app = createApp(port);
    connections.serve((req, res) => {
      req.url = routableTarget(req.url ?? '');
      app(req, res);
    });
  } catch (error) {
    await connections.close();
    throw error;
  }
  server.on('error', (error) => options.log.error({ err: error }, 'gateway listener failed'));
  return {
    at,
    port,
    renew: (tls) => {
      if (server instanceof TlsServer) server.setSecureContext(secureContextOf(tls));
    },
    announceEnd: () => connections.announceEnd(),
    close: () => connections.close(),
  };
}

function createServer(limits: ConnectionLimits, tls: Certificates | undefined): Server {
  const options = {
    requestTimeout: limits.requestTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    connectionsCheckingInterval: limits.connectionsCheckingIntervalMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: HTTP_LIMITS.maxHeaderBytes,
    // A second Authorization is not ignored: it invalidates the first one.
    joinDuplicateHeaders: true,
    // Checked in middleware/well-formed.ts, so that the refusal has the shape of every error.
    requireHostHeader: false,
  };
  const server =
    tls === undefined
      ? http.createServer(options)
      : // The handshake has the time that headers have.
        https.createServer({ ...options, ...tlsOptionsOf(tls), handshakeTimeout: limits.headersTimeoutMs });
  server.maxRequestsPerSocket = HTTP_LIMITS.maxRequestsPerSocket;
  server.maxHeadersCount = 0;
  return server;
}
