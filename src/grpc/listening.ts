/** The two ways in which the gRPC port is kept: by grpc-js itself, or by the front with grpc-js behind it. */

import { lookup } from 'node:dns/promises';
import type { Server as TlsServer } from 'node:tls';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import { FrontListener, type FrontTimes } from '#http2-front/listener';
import type { FrontMethods } from '#http2-front/service';
import { frontService } from '#http2-front/shared';
import type { Clock } from '../base/clock.ts';
import type { ConnectionSlots } from '../base/connection-slots.ts';
import { UsherError } from '../base/errors.ts';
import { cannotListen as cannotListenAt, type ListenAddress } from '../base/listening.ts';
import { type Certificates, checkCertificates, secureContextOf, tlsOptionsOf } from '../base/tls.ts';
import type { GrpcConnections } from './connections.ts';
import { frontHost } from './front-host.ts';
import type { Guesses } from './guesses.ts';
import { freeClosedStreams, listenersOf } from './http2-streams.ts';
import type { GrpcRefused } from './refused.ts';
import type { Entrances } from './served-methods.ts';
import type { WaitingCalls } from './waiting.ts';

export interface GrpcListener {
  /** Returns the port. Rejects with UsherError UNAVAILABLE. */
  listen(host: string, port: number): Promise<number>;
  /** Listens at the further doors as well; answers their addresses. Rejects with UsherError UNAVAILABLE. */
  listenFurther(): Promise<readonly ListenAddress[]>;
  /** New connections get these certificates. For listeners that were made with some. */
  renew(tls: Certificates | undefined, further: readonly (Certificates | undefined)[]): void;
  /** Waits for calls in flight, at most `boundMs`. Leaves no socket open. */
  end(boundMs: number): Promise<void>;
}

interface DirectParts {
  readonly slots: ConnectionSlots;
  readonly refused: GrpcRefused;
  readonly times: FrontTimes;
  readonly clock: Clock;
  readonly tls: Certificates | undefined;
}

export function listenDirectly(
  server: Server,
  connections: GrpcConnections,
  { clock, tls }: Pick<DirectParts, 'clock' | 'tls'>,
): GrpcListener {
  return {
    async listen(host, port) {
      const bound = await bind(server, host, port, tls);
      for (const listening of listenersOf(server)) connections.watch(listening);
      return bound;
    },
    listenFurther: () => Promise.resolve([]),
    renew(tls) {
      if (tls === undefined) return;
      for (const listening of listenersOf(server))
        (listening as unknown as TlsServer).setSecureContext(secureContextOf(tls));
    },
    async end(boundMs) {
      const ended = within(boundMs, clock, shutDown(server));
      connections.endArriving();
      if (!(await ended)) server.forceShutdown();
      connections.destroy();
    },
  };
}

/** A listener beside the first: an address of `listeners`. */
export interface GrpcDoor {
  readonly at: ListenAddress;
  readonly tls: Certificates | undefined;
  /** Its place in the configuration. */
  readonly key: string;
}

interface FrontParts extends DirectParts {
  readonly further: readonly GrpcDoor[];
  /** Those that the front answers. */
  readonly methods: FrontMethods;
  /** All methods. */
  readonly served: Entrances;
  readonly calls: WaitingCalls;
  readonly guesses: Guesses | null;
}

export function listenBehindFront(server: Server, parts: FrontParts): GrpcListener {
  const { methods, served, calls, guesses, slots, refused, times, clock, tls, further } = parts;
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  freeClosedStreams(server);
  const inject = injector.injectConnection.bind(injector);
  const service = frontService({
    ...frontHost(calls),
    methods,
    served,
    inject,
    slots,
    guesses,
    refused,
  });
  const make = (certificates: Certificates | undefined) =>
    new FrontListener(service, times, clock, certificates && checkedOptions(certificates));
  const first = make(tls);
  const others = further.map((door) => ({ door, front: make(door.tls) }));
  const fronts = [first, ...others.map(({ front }) => front)];
  return {
    async listen(host, port) {
      try {
        const at = await first.listen((await addressesOf(host)).map((address) => ({ host: address, port })));
        return 'port' in at ? at.port : port;
      } catch (error) {
        throw cannotListen(error as Error, host, port);
      }
    },
    async listenFurther() {
      const opened: ListenAddress[] = [];
      for (const { door, front } of others) {
        try {
          const at = await front.listen(await everyAddressOf(door.at));
          opened.push('port' in at && 'port' in door.at ? { ...door.at, port: at.port } : at);
        } catch (error) {
          throw cannotListenAt(error, door.at, door.key);
        }
      }
      return opened;
    },
    renew(certificates, renewed) {
      for (const [index, next] of [certificates, ...renewed].entries()) {
        if (next !== undefined) fronts[index]?.renew(secureContextOf(next));
      }
    },
    async end(boundMs) {
      await within(boundMs, clock, Promise.all(fronts.map((front) => front.drain())));
      for (const front of fronts) front.destroy();
      // Nothing is left behind the fronts but what it was cut off from.
      server.forceShutdown();
    },
  };
}

async function everyAddressOf(at: ListenAddress): Promise<ListenAddress[]> {
  return 'path' in at ? [at] : (await addressesOf(at.host)).map((host) => ({ ...at, host }));
}

function checkedOptions(tls: Certificates) {
  checkCertificates(tls);
  return tlsOptionsOf(tls);
}

/** All addresses of a name, as grpc-js listens to them. */
async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true });
  return found.map(({ address }) => address);
}

function bind(server: Server, host: string, port: number, tls: Certificates | undefined): Promise<number> {
  const credentials = tls === undefined ? ServerCredentials.createInsecure() : secure(tls);
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, bound) => {
      if (error === null) {
        freeClosedStreams(server);
        resolve(bound);
      } else reject(cannotListen(error, host, port));
    });
  });
}

function secure(tls: Certificates): ServerCredentials {
  checkCertificates(tls);
  const { cert, key, clientCa } = tls;
  const authority = clientCa === undefined ? null : Buffer.from(clientCa);
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  return ServerCredentials.createSsl(authority, [pair], clientCa !== undefined);
}

function cannotListen(error: Error, host: string, port: number): UsherError {
  return new UsherError('UNAVAILABLE', `gRPC: ${listenProblem(error.message, host, port)}`, { cause: error });
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

function shutDown(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.tryShutdown(() => resolve());
  });
}

/** Whether the work was done in time. */
async function within(ms: number, clock: Clock, work: Promise<unknown>): Promise<boolean> {
  let cancel = () => {};
  const late = new Promise<boolean>((resolve) => {
    cancel = clock.after(ms, () => resolve(false));
  });
  const done = await Promise.race([work.then(() => true), late]);
  cancel();
  return done;
}
