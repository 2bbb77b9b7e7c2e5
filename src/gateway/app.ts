/** The gateway's listeners: Express with its middlewares in their order, on node:http with every limit set. */

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { networkOf } from '../base/ip-address.ts';
import { onDemand } from '../base/lazy.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';
import { type ConnectionLimits, Connections } from './http/connections.ts';
import { Exchange } from './http/exchange.ts';
import { Responder } from './http/respond.ts';
import { UnprovenBodies, type UnprovenBody, type UnprovenLimits } from './http/unproven.ts';
import { splitTarget } from './http/url-tree.ts';
import { CorsOrigins, type Site } from './middleware/cors.ts';
import { createObserver, type Observer } from './middleware/observe.ts';
import { createRateLimit, type RateLimit } from './middleware/rate-limit.ts';
import { HTTP_LIMITS } from './route/limits.ts';
import type { Route } from './route/route.ts';
import { mount, nothingHere } from './router.ts';
import { opsRoutes } from './routes/operations.ts';
import type { Services } from './services.ts';

// Imported as an ES module it would be read with all of its exports, WebSocket among them, and that loads the whole of fetch.
const http = process.getBuiltinModule('node:http');

export interface GatewayOptions {
  readonly config: Pick<Config, 'production' | 'http' | 'ops' | 'cors' | 'publicUrl'>;
  readonly services: Services;
  readonly clock: Clock;
  readonly log: Logger;
  /** Opens the operators' listener alone: a process without the role `gateway` is watched there. */
  readonly opsOnly?: boolean;
  /** For tests: other routes than the service's, and answers checked against their schemas. */
  readonly routes?: readonly Route[];
  readonly checkAnswers?: boolean;
  /** For tests: shorter times than HTTP_LIMITS has. */
  readonly limits?: Partial<ConnectionLimits>;
  readonly unproven?: UnprovenLimits;
}

export interface Gateway {
  /** Listens; rejects when a port is taken. A port is null where there is no such listener. */
  start(): Promise<{ port: number | null; opsPort: number | null }>;
  /** Bytes held of unfinished bodies whose callers have shown no credentials. */
  readonly unprovenBytes: number;
  /** Accepts nothing more, lets what is in flight finish for a bounded time, then cuts it. */
  close(): Promise<void>;
}

/** The REST, Connect and gRPC-Web door, and the operators' one where it is configured. */
export function createGateway(options: GatewayOptions): Gateway {
  const { config, services, clock } = options;
  const observer = createObserver(services.registry, clock);
  const rateLimit = createRateLimit(config.http.rateLimit);
  const unprovenBodies = new UnprovenBodies(options.unproven);
  const listeners: Listener[] = [];

  const openGateway = async (): Promise<number> => {
    // Not with the operators' listener: features are more than a process without the gateway needs.
    const routes = options.routes ?? (await import('./routes.ts')).gatewayRoutes(config);
    const gateway = await listen(options, observer, config.http, (site) => {
      return { routes, rateLimit, unprovenBodies, rpc: true, site };
    });
    listeners.push(gateway);
    return gateway.port;
  };

  return {
    async start() {
      const port = options.opsOnly === true ? null : await openGateway();
      if (config.ops === null) return { port, opsPort: null };
      const ops = await listen(options, observer, config.ops, (site) => ({
        routes: opsRoutes,
        rateLimit: null,
        unprovenBodies,
        rpc: false,
        site,
      }));
      listeners.push(ops);
      return { port, opsPort: ops.port };
    },
    get unprovenBytes() {
      return unprovenBodies.held;
    },
    close: async () => {
      await Promise.all(listeners.splice(0).map((listener) => listener.close()));
    },
  };
}

interface Surface {
  readonly routes: readonly Route[];
  readonly rateLimit: RateLimit | null;
  readonly unprovenBodies: UnprovenBodies;
  readonly rpc: boolean;
  readonly site: Site;
}

interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

/** Listens first and builds after: the origin that browsers are held to can depend on the port. */
async function listen(
  options: GatewayOptions,
  observer: Observer,
  at: { host: string; port: number },
  surfaceOf: (site: Site) => Surface,
): Promise<Listener> {
  const { config, clock, log } = options;
  const limits: ConnectionLimits = { ...HTTP_LIMITS, ...options.limits };
  const server = createHttpServer(limits);
  const connections = new Connections(server, { clock, log, limits });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.host, () => {
      server.off('error', reject);
      const { port } = server.address() as AddressInfo;
      const publicUrl = config.publicUrl ?? `http://localhost:${port}`;
      const corsOrigins = new CorsOrigins(config.cors.origins, config.production);
      const site: Site = { origin: new URL(publicUrl).origin, corsOrigins };
      connections.serve(createApp(options, observer, surfaceOf(site)));
      server.on('error', (error) => log.error({ err: error }, 'gateway listener failed'));
      resolve();
    });
  });
  return { port: (server.address() as AddressInfo).port, close: () => connections.close() };
}

function createHttpServer(limits: ConnectionLimits): Server {
  const server = http.createServer({
    requestTimeout: limits.requestTimeoutMs,
    headersTimeout: limits.headersTimeoutMs,
    connectionsCheckingInterval: limits.connectionsCheckingIntervalMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    maxHeaderSize: HTTP_LIMITS.maxHeaderBytes,
    // A second Authorization is not passed over: it makes the first one wrong.
    joinDuplicateHeaders: true,
    // Checked in admission below, so that the refusal has our shape.
    requireHostHeader: false,
  });
  server.maxRequestsPerSocket = HTTP_LIMITS.maxRequestsPerSocket;
  server.maxHeadersCount = 0;
  return server;
}

/** Where the middleware leaves the exchange of a request. */
interface Carrier extends IncomingMessage {
  exchange: Exchange;
}

function createApp(options: GatewayOptions, observer: Observer, surface: Surface): RequestListener {
  const { config, services, clock, log } = options;
  const { site, rateLimit, unprovenBodies } = surface;
  const responder = new Responder(site);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  // One proxy: the address that it saw. Trusting the whole list would let a caller choose his own.
  if (config.http.trustProxy) app.set('trust proxy', 1);
  const address = (exchange: Exchange): string => networkOf((exchange.req as express.Request).ip ?? 'unknown');

  const unproven = (exchange: Exchange): UnprovenBody => unprovenBodies.open(address(exchange));

  const door = onDemand(async () => {
    const { createConnectDoor } = await import('./connect/connect.ts');
    return createConnectDoor({ services, site, responder, rateLimit, address, unproven });
  });
  const dispatch = mount({
    routes: surface.routes,
    services,
    site,
    responder,
    rateLimit,
    address,
    unproven,
    checkAnswers: options.checkAnswers ?? false,
  });
  // One middleware, not three: each costs the router as much as finding a route costs us.
  app.use((req, res, next) => {
    const exchange = new Exchange(req, res, clock, log);
    (req as unknown as Carrier).exchange = exchange;
    observer.follow(exchange);
    const fault = faultOf(req);
    if (fault !== null) {
      const { status } = fault;
      responder.error(exchange, new UsherError('BAD_REQUEST', fault.message), { browsers: false, status });
    } else if (surface.rpc && mayBeRpc(exchange)) {
      door()
        .then((answers) => {
          if (!answers(exchange)) dispatch(exchange);
        })
        .catch(next);
    } else {
      dispatch(exchange);
    }
  });
  // Express reads the target before any middleware and gives up on some; its own answer would be a page.
  const unanswered = (req: IncomingMessage, res: ServerResponse, error: unknown): void => {
    let { exchange } = req as Partial<Carrier>;
    if (exchange === undefined) {
      exchange = new Exchange(req, res, clock, log);
      observer.follow(exchange);
    }
    responder.error(exchange, error ?? nothingHere(), { browsers: true });
  };
  return (req, res) => {
    app(req as express.Request, res as express.Response, (error?: unknown) => unanswered(req, res, error));
  };
}

const RPC_PATH = `/${PermissionService.typeName}/`;

/** Connect is loaded for the first call that may be its own: most services are asked over gRPC and REST alone. */
function mayBeRpc({ req }: Exchange): boolean {
  return splitTarget(req.url ?? '')?.path.startsWith(RPC_PATH) ?? false;
}

/** What is wrong with a request before anybody asks for its path. */
function faultOf(req: IncomingMessage): { status: number; message: string } | null {
  if (req.rawHeaders.length > 2 * HTTP_LIMITS.maxHeaders) {
    return { status: 431, message: `The request has more than ${HTTP_LIMITS.maxHeaders} headers.` };
  }
  const { host, expect } = req.headers;
  if (host === undefined && req.httpVersion === '1.1') {
    return { status: 400, message: 'The request has no Host header.' };
  }
  // RFC 9112 3.2: a proxy may have gone by the one and we by the other. Several come joined, and no host name holds a comma.
  if (host?.includes(',')) return { status: 400, message: 'The request has more than one Host header.' };
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    return { status: 417, message: 'Nothing but 100-continue can be expected.' };
  }
  return null;
}
