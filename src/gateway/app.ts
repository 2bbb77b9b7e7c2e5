/** The gateway: an Express application, its middleware in their order, on each of its listeners. */

import type { RequestListener } from 'node:http';
import express from 'express';
import type { Clock } from '../base/clock.ts';
import { ConnectionSlots, slotLimits } from '../base/connection-slots.ts';
import { lazy } from '../base/lazy.ts';
import { cannotListen, type ListenAddress, reachableText } from '../base/listening.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Certificates } from '../base/tls.ts';
import type { Config } from '../config/config.ts';
import { SURFACES, type Surface } from '../config/listeners.ts';
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
    PanelConfig & {
      readonly http: Omit<Config['http'], 'tls' | 'serves' | 'maxConnections'> &
        Partial<Pick<Config['http'], 'serves'>>;
    };
  /** Of the first listener; the first one for operators is cleartext always. */
  readonly tls?: Certificates | undefined;
  readonly further?: readonly FurtherDoor[];
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
  /** The connections that its listeners may have together, those for operators aside; tests have room for as many as they like. */
  readonly slots?: ConnectionSlots;
  /** For tests: shorter times than in HTTP_LIMITS. */
  readonly limits?: Partial<ConnectionLimits>;
  readonly unproven?: UnprovenLimits;
}

/** A listener beside the first ones: an address of `listeners`. */
export interface FurtherDoor {
  readonly for: 'http' | 'ops';
  readonly at: ListenAddress;
  readonly tls: Certificates | undefined;
  readonly serves: readonly Surface[];
  readonly trustProxy: boolean;
  /** Its place in the configuration. */
  readonly key: string;
}

/** What a start opened. A port is null where there is no such listener. */
export interface Opened {
  readonly port: number | null;
  readonly opsPort: number | null;
  /** The URLs of further listeners, or `unix:/path`, in their order. */
  readonly further: readonly string[];
}

export interface Gateway {
  /** Listens; rejects when an address is taken. */
  start(): Promise<Opened>;
  /** Bytes held for unfinished bodies of callers without credentials. */
  readonly unprovenBytes: number;
  /** New connections get these certificates, where there are some; new requests these origins. */
  reload(next: {
    readonly tls: Certificates | undefined;
    readonly corsOrigins: readonly string[];
    /** Of the further listeners, in their order. */
    readonly further?: readonly (Certificates | undefined)[];
  }): void;
  /** From now on each answer is the last of its connection; requests and connections are still taken. */
  announceEnd(): void;
  /** Accepts nothing new, lets requests in flight finish within a bounded time, then cuts them. */
  close(): Promise<void>;
}

/** The routes and middleware of one listener. */
interface Shown {
  readonly routes: readonly Route[];
  readonly serves: (route: Route) => boolean;
  readonly rateLimit: RateLimit | null;
  readonly trustProxy: boolean;
  /** Null where there are no RPCs. */
  readonly mountRpcs: typeof mountRpcs | null;
  /** Null where there are no pages. */
  readonly mountPanel: typeof mountPanel | null;
  readonly leadToMailbox: typeof leadToMailbox | null;
}

const everyRoute = (): boolean => true;

const FOR_OPERATORS: Shown = {
  routes: opsRoutes,
  serves: everyRoute,
  rateLimit: null,
  trustProxy: false,
  mountRpcs: null,
  mountPanel: null,
  leadToMailbox: null,
};

/** Connections, where nobody says how many there may be; and those of operators, whose probes must always find one. */
const ENOUGH = 100_000;
const FOR_PROBES = 32;

interface Door {
  readonly at: ListenAddress;
  readonly tls?: Certificates | undefined;
}

/** The REST, Connect and gRPC-Web door, and the operators' one where it is configured. */
export function createGateway(options: GatewayOptions): Gateway {
  const { config, services, clock, log, further = [] } = options;
  const observer = createObserver(services.registry, clock);
  const unproven = new UnprovenBodies(options.unproven);
  const limits = { ...HTTP_LIMITS, ...options.limits };
  const slots = options.slots ?? new ConnectionSlots(slotLimits(ENOUGH), () => undefined);
  const slotsOfOperators = new ConnectionSlots(slotLimits(FOR_PROBES), () => undefined);
  /** The first one, if there is one, then the operators'; then the further ones. */
  const listeners: Listener[] = [];
  const furtherListeners: Listener[] = [];

  const corsOrigins = new CorsOrigins(config.cors.origins, config.production);
  /** Of the first listener, for all: a page has one address. */
  let origin: string | null = config.publicUrl === null ? null : new URL(config.publicUrl).origin;

  const open = async ({ at, tls }: Door, shown: Shown): Promise<Listener> => {
    const { trustProxy } = shown;
    const own = shown === FOR_OPERATORS ? slotsOfOperators : slots;
    return await listen({ at, tls, clock, log, limits, slots: own, trustProxy }, (port) => {
      origin ??= `${options.tls === undefined ? 'http' : 'https'}://localhost:${port}`;
      return createApp(options, observer, unproven, shown, { origin, corsOrigins });
    });
  };

  /** What gateway listeners show. Not for the operators' ones: a process without the gateway does not need the features. */
  const surfaces = lazy(async () => {
    const { surfacesOf } = await import('./surfaces.ts');
    const routes = options.routes ?? (await import('./routes.ts')).gatewayRoutes(config);
    const rpcs = await import('./connect/router.ts');
    const panel = await import('./panel/router.ts');
    // One count for all listeners: a caller gains nothing by a second address.
    const rateLimit = createRateLimit(config.http.rateLimit);
    return (serves: readonly Surface[], trustProxy: boolean): Shown => {
      const has = (surface: Surface): boolean => serves.includes(surface);
      return {
        routes,
        serves: SURFACES.every(has) ? everyRoute : (route) => surfacesOf(route).some(has),
        rateLimit,
        trustProxy,
        mountRpcs: has('backends') ? rpcs.mountRpcs : null,
        mountPanel: has('panel') ? panel.mountPanel : null,
        leadToMailbox: has('panel') ? panel.leadToMailbox : null,
      };
    };
  });

  const openFurther = async (door: FurtherDoor): Promise<string> => {
    const shown = door.for === 'ops' ? FOR_OPERATORS : (await surfaces())(door.serves, door.trustProxy);
    const listener = await open(door, shown).catch((error: unknown) => {
      throw cannotListen(error, door.at, door.key);
    });
    furtherListeners.push(listener);
    if ('path' in listener.at) return reachableText(listener.at);
    return `${door.tls === undefined ? 'http' : 'https'}://${reachableText(listener.at)}`;
  };

  const openFirst = async (door: Door, shown: Shown): Promise<number> => {
    const listener = await open(door, shown);
    listeners.push(listener);
    return listener.port;
  };

  return {
    async start() {
      const { http, ops } = config;
      const isOpsOnly = options.opsOnly === true;
      const first = { at: { host: http.host, port: http.port }, tls: options.tls };
      const port = isOpsOnly
        ? null
        : await openFirst(first, (await surfaces())(http.serves ?? SURFACES, http.trustProxy));
      const opsPort = ops === null ? null : await openFirst({ at: ops }, FOR_OPERATORS);
      const opened: string[] = [];
      for (const door of further) opened.push(await openFurther(door));
      return { port, opsPort, further: opened };
    },
    reload: (next) => {
      corsOrigins.replace(next.corsOrigins);
      if (next.tls !== undefined) for (const listener of listeners) listener.renew(next.tls);
      for (const [index, tls] of (next.further ?? []).entries()) {
        if (tls !== undefined) furtherListeners[index]?.renew(tls);
      }
    },
    get unprovenBytes() {
      return unproven.held;
    },
    announceEnd: () => {
      for (const listener of [...listeners, ...furtherListeners]) listener.announceEnd();
    },
    close: async () => {
      const open = [...listeners.splice(0), ...furtherListeners.splice(0)];
      await Promise.all(open.map((listener) => listener.close()));
    },
  };
}

function createApp(
  options: GatewayOptions,
  observer: Observer,
  unproven: UnprovenBodies,
  shown: Shown,
  site: Site,
): RequestListener {
  const { config, services, clock, log, version, checkAnswers = false } = options;
  const { routes, serves, rateLimit } = shown;

  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('query parser', (search: string | null) => parseQuery(search ?? ''));
  // One proxy: the address that it saw. Trusting the whole list would let a caller choose their own.
  if (shown.trustProxy) app.set('trust proxy', 1);

  app.use(openExchange({ clock, log, follow: observer.follow })); // request id, log line, metrics
  app.use(secureAnswers(site));
  app.use(refuseMalformed); // headers, Host, Expect
  shown.leadToMailbox?.(app, { config, services }); // browsers that ask for mail
  mountRoutes(app, { routes, serves, services, site, rateLimit, unproven, checkAnswers }); // REST
  shown.mountRpcs?.(app, { services, site, rateLimit, unproven }); // Connect and gRPC-Web
  shown.mountPanel?.(app, { config, services, site, version, now: () => clock.monotonic() }); // the panel, and the page at /
  app.use(
    refusePath(
      site,
      routes.filter(serves).map(({ path }) => path),
    ),
  ); // 404
  app.use(answerError);
  return app;
}
