/** The gateway: an Express application, its middleware in their order, on each of its listeners. */

import type { RequestListener } from 'node:http';
import express from 'express';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Certificates } from '../base/tls.ts';
import type { Config } from '../config/config.ts';
import type { mountRpcs } from './connect/router.ts';
import type { ConnectionLimits } from './http/connections.ts';
import { type Listener, listen } from './http/listener.ts';
import { CorsOrigins, type Site, secureAnswers } from './middleware/cors.ts';
import { answerError, refusePath } from './middleware/errors.ts';
import { openExchange } from './middleware/exchange.ts';
import { createObserver, type Observer } from './middleware/observe.ts';
import { createRateLimit, type RateLimit } from './middleware/rate-limit.ts';
import { UnprovenBodies, type UnprovenLimits } from './middleware/unproven.ts';
import { refuseMalformed } from './middleware/well-formed.ts';
import type { leadToMailbox, mountPanel } from './panel/router.ts';
import type { PanelConfig } from './panel/settings.ts';
import { parseQuery } from './route/inputs.ts';
import { HTTP_LIMITS } from './route/limits.ts';
import type { Route } from './route/route.ts';
import { mountRoutes } from './router.ts';
import { opsRoutes } from './routes/operations.ts';
import type { Services } from './services.ts';

export interface GatewayOptions {
  readonly config: Pick<Config, 'production' | 'ops' | 'cors' | 'publicUrl'> &
    PanelConfig & { readonly http: Omit<Config['http'], 'tls'> };
  /** Of the gateway; the operators' listener is cleartext always. */
  readonly tls?: Certificates | undefined;
  readonly services: Services;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of this build, for the panel. */
  readonly version: string;
  /** Opens the operators' listener alone: a process without the role `gateway` is watched there. */
  readonly opsOnly?: boolean;
  /** For tests: routes in place of the service's, and answers checked against their schemas. */
  readonly routes?: readonly Route[];
  readonly checkAnswers?: boolean;
  /** For tests: shorter times than in HTTP_LIMITS. */
  readonly limits?: Partial<ConnectionLimits>;
  readonly unproven?: UnprovenLimits;
}

export interface Gateway {
  /** Listens; rejects when a port is taken. A port is null where there is no such listener. */
  start(): Promise<{ port: number | null; opsPort: number | null }>;
  /** Bytes held for unfinished bodies of callers without credentials. */
  readonly unprovenBytes: number;
  /** New connections get these certificates, where there are some; new requests these origins. */
  reload(next: { tls: Certificates | undefined; corsOrigins: readonly string[] }): void;
  /** From now on each answer is the last of its connection; requests and connections are still taken. */
  announceEnd(): void;
  /** Accepts nothing new, lets requests in flight finish within a bounded time, then cuts them. */
  close(): Promise<void>;
}

/** The routes and middleware of one listener. */
interface Surface {
  readonly routes: readonly Route[];
  readonly rateLimit: RateLimit | null;
  /** Null where there are no RPCs. */
  readonly mountRpcs: typeof mountRpcs | null;
  /** Null where there are no pages. */
  readonly mountPanel: typeof mountPanel | null;
  readonly leadToMailbox: typeof leadToMailbox | null;
}

/** The REST, Connect and gRPC-Web door, and the operators' one where it is configured. */
export function createGateway(options: GatewayOptions): Gateway {
  const { config, services, clock, log } = options;
  const observer = createObserver(services.registry, clock);
  const unproven = new UnprovenBodies(options.unproven);
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const listeners: Listener[] = [];

  const corsOrigins = new CorsOrigins(config.cors.origins, config.production);

  const open = async (
    { host, port: wanted, tls }: { host: string; port: number; tls?: Certificates | undefined },
    surface: Surface,
  ): Promise<number> => {
    const listener = await listen({ host, port: wanted, tls, clock, log, limits }, (port) => {
      const publicUrl = config.publicUrl ?? `${options.tls === undefined ? 'http' : 'https'}://localhost:${port}`;
      return createApp(options, observer, unproven, surface, { origin: new URL(publicUrl).origin, corsOrigins });
    });
    listeners.push(listener);
    return listener.port;
  };

  const openGateway = async (): Promise<number> => {
    // Not for the operators' listener: a process without the gateway does not need the features.
    const routes = options.routes ?? (await import('./routes.ts')).gatewayRoutes(config);
    const rpcs = await import('./connect/router.ts');
    const panel = await import('./panel/router.ts');
    const surface: Surface = {
      routes,
      rateLimit: createRateLimit(config.http.rateLimit),
      mountRpcs: rpcs.mountRpcs,
      mountPanel: panel.mountPanel,
      leadToMailbox: panel.leadToMailbox,
    };
    return await open({ host: config.http.host, port: config.http.port, tls: options.tls }, surface);
  };

  return {
    async start() {
      const port = options.opsOnly === true ? null : await openGateway();
      const ops = { routes: opsRoutes, rateLimit: null, mountRpcs: null, mountPanel: null, leadToMailbox: null };
      return { port, opsPort: config.ops === null ? null : await open(config.ops, ops) };
    },
    reload: (next) => {
      corsOrigins.replace(next.corsOrigins);
      if (next.tls !== undefined) for (const listener of listeners) listener.renew(next.tls);
    },
    get unprovenBytes() {
      return unproven.held;
    },
    announceEnd: () => {
      for (const listener of listeners) listener.announceEnd();
    },
    close: async () => {
      await Promise.all(listeners.splice(0).map((listener) => listener.close()));
    },
  };
}

function createApp(
  options: GatewayOptions,
  observer: Observer,
  unproven: UnprovenBodies,
  surface: Surface,
  site: Site,
): RequestListener {
  const { config, services, clock, log, version, checkAnswers = false } = options;
  const { routes, rateLimit } = surface;

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', (search: string | null) => parseQuery(search ?? ''));
  // One proxy: the address that it saw. Trusting the whole list would let a caller choose their own.
  if (config.http.trustProxy) app.set('trust proxy', 1);

  app.use(openExchange({ clock, log, follow: observer.follow })); // request id, log line, metrics
  app.use(secureAnswers(site));
  app.use(refuseMalformed); // headers, Host, Expect
  surface.leadToMailbox?.(app, { config, services }); // browsers that ask for mail
  mountRoutes(app, { routes, services, site, rateLimit, unproven, checkAnswers }); // REST
  surface.mountRpcs?.(app, { services, site, rateLimit, unproven }); // Connect and gRPC-Web
  surface.mountPanel?.(app, { config, services, site, version, now: () => clock.monotonic() }); // the panel, and the page at /
  app.use(refusePath(site)); // 404
  app.use(answerError);
  return app;
}
