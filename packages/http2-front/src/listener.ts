/** The listening socket of the front, and the life of its connections: arrival, age, keepalive, idleness, drain. */

import { createServer, type Server as NetServer, type Socket } from 'node:net';
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type TLSSocket,
  type TlsOptions,
  Server as TlsServer,
} from 'node:tls';
import { Connection } from './connection.ts';
import type { Clock, ListenAddress, Slot } from './service.ts';
import type { FrontService } from './shared.ts';

/** Milliseconds. */
export interface FrontTimes {
  /** From a connection's first byte to the client's SETTINGS. */
  readonly arrivalMs: number;
  /** A connection's age, ± 10 %, then the grace period for its last calls. */
  readonly connectionAgeMs: number;
  readonly connectionGraceMs: number;
  /** Without a call: of those on which a right key was shown, and of the others. */
  readonly connectionIdleMs: number;
  readonly guestIdleMs: number;
  /** From the headers of a call to the last byte of its message. */
  readonly messageMs: number;
  /** Between pings, if nothing else was received. */
  readonly keepaliveMs: number;
}

/** For the answer to a ping, as grpc-js has it. */
const KEEPALIVE_TIMEOUT_MS = 20_000;
/** How long new calls are taken after the announcement of the end, where the client does not answer. */
const ANNOUNCED_MS = 1000;
/** How long a client may take to close its side. */
const LINGER_MS = 1000;
const MAX_LOOK_MS = 1000;

/** One connection and its times, in monotonic milliseconds. */
interface Lived {
  readonly connection: Connection;
  readonly since: number;
  /** When its end is announced. */
  readonly oldAt: number;
  pingedAt: number;
  announcedAt: number;
  endedAt: number;
}

export class FrontListener {
  /** One an address. */
  readonly #servers: NetServer[] = [];
  readonly #tls: TlsOptions | undefined;
  readonly #service: FrontService;
  readonly #clock: Clock;
  readonly #times: FrontTimes;
  readonly #lives = new Set<Lived>();
  /** Sockets whose TLS handshake is not finished, by their client: node:tls ends a handshake that takes too long, not its socket. */
  readonly #shaking = new Map<string, { socket: Socket; slot: Slot; since: number }>();
  readonly #lookMs: number;
  #cancelLook: (() => void) | undefined;
  #draining = false;
  #emptied: (() => void) | undefined;

  constructor(service: FrontService, times: FrontTimes, clock: Clock, tls: TlsOptions | undefined) {
    this.#service = service;
    this.#times = times;
    this.#clock = clock;
    const shortest = Math.min(...Object.values(times));
    this.#lookMs = Math.max(10, Math.min(MAX_LOOK_MS, shortest / 4));
    this.#tls = tls;
  }

  /** Listens at each address, at the same port. Returns the last. Rejects as `listenAt` of the service does. */
  async listen(addresses: readonly ListenAddress[]): Promise<ListenAddress> {
    let bound: ListenAddress | undefined;
    for (const address of addresses) {
      const server = this.#createServer();
      this.#servers.push(server);
      const wanted =
        'port' in address && bound !== undefined && 'port' in bound ? { ...address, port: bound.port } : address;
      bound = await this.#service.listenAt(server, wanted);
      // A connection that could not be accepted, for want of file descriptors: there will be others.
      server.on('error', (error) =>
        this.#service.calls.options.log.warn({ err: error }, 'gRPC connection not accepted'),
      );
    }
    if (bound === undefined) throw new Error('a listener needs an address');
    this.#look();
    return bound;
  }

  /** Connections from now on get these certificates. */
  renew(context: SecureContextOptions): void {
    for (const server of this.#servers) if (server instanceof TlsServer) server.setSecureContext(context);
  }

  #createServer(): NetServer {
    // A client may end its side and wait for answers.
    const shared = { allowHalfOpen: true, noDelay: true };
    if (this.#tls === undefined) {
      return createServer(shared, (socket) => {
        const slot = this.#enter(socket);
        if (slot !== null) this.#accept(socket, slot);
      });
    }
    const options = {
      ...shared,
      ...this.#tls,
      ALPNProtocols: ['h2'],
    };
    const server = createTlsServer(options, (socket) => this.#acceptTls(socket));
    server.on('connection', (socket: Socket) => {
      const slot = this.#enter(socket);
      if (slot === null) return;
      const client = clientOf(socket);
      this.#shaking.set(client, { socket, slot, since: this.#clock.monotonic() });
      socket.once('close', () => {
        if (this.#shaking.get(client)?.socket === socket) this.#shaking.delete(client);
      });
    });
    return server;
  }

  /** Takes no new connection, and ends each with its last call. Resolves when the last one is closed. */
  drain(): Promise<void> {
    this.#draining = true;
    for (const server of this.#servers) if (server.listening) server.close();
    const now = this.#clock.monotonic();
    for (const life of this.#lives) {
      if (!life.connection.arrived) life.connection.destroy();
      else this.#announce(life, now);
    }
    for (const { socket } of this.#shaking.values()) socket.destroy();
    if (this.#lives.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#emptied = resolve;
    });
  }

  /** Cuts all remaining connections. */
  destroy(): void {
    this.#cancelLook?.();
    for (const { connection } of this.#lives) connection.destroy();
    for (const { socket } of this.#shaking.values()) socket.destroy();
  }

  #acceptTls(socket: TLSSocket): void {
    const shaken = this.#shaking.get(clientOf(socket));
    this.#shaking.delete(clientOf(socket));
    // Connections over a socket file all have the same name here: then it is not known whose place it was.
    if (socket.alpnProtocol === 'h2') this.#accept(socket, shaken?.slot);
    else socket.destroy();
  }

  /** Null for a connection that finds no room, which is closed. */
  #enter(socket: Socket): Slot | null {
    const { remoteAddress } = socket;
    const address = remoteAddress === undefined ? null : this.#service.networkOf(remoteAddress);
    const slot = this.#service.slots.enter(address, () => socket.destroy());
    if (slot === null) socket.destroy();
    else socket.once('close', () => slot.leave());
    return slot;
  }

  #accept(socket: Socket, slot: Slot | undefined): void {
    if (this.#draining) {
      socket.destroy();
      return;
    }
    const now = this.#clock.monotonic();
    const life: Lived = {
      connection: new Connection({
        socket,
        service: this.#service,
        clock: this.#clock,
        proved: () => slot?.prove(),
        closed: () => this.#closed(life),
      }),
      since: now,
      oldAt: now + this.#times.connectionAgeMs * (0.9 + 0.2 * this.#clock.random()),
      pingedAt: now,
      announcedAt: Number.POSITIVE_INFINITY,
      endedAt: Number.POSITIVE_INFINITY,
    };
    this.#lives.add(life);
  }

  #closed(life: Lived): void {
    this.#lives.delete(life);
    if (this.#lives.size === 0) this.#emptied?.();
  }

  #look(): void {
    const now = this.#clock.monotonic();
    for (const life of this.#lives) this.#lookAt(life, now);
    for (const { socket, since } of this.#shaking.values()) {
      if (now - since > this.#times.arrivalMs) socket.destroy();
    }
    this.#cancelLook = this.#clock.after(this.#lookMs, () => this.#look());
  }

  #lookAt(life: Lived, now: number): void {
    const { connection } = life;
    const { arrivalMs, connectionGraceMs, messageMs, keepaliveMs } = this.#times;
    if (connection.isEnded) {
      if (life.endedAt === Number.POSITIVE_INFINITY) life.endedAt = now;
      else if (now - life.endedAt > LINGER_MS) connection.destroy();
      return;
    }
    if (!connection.arrived) {
      if (now - life.since > arrivalMs) connection.destroy();
      return;
    }
    connection.endUnfinished(now, messageMs);
    if (connection.isEnded) return;
    if (this.#isIdleGuest(connection, now)) {
      this.#service.refused.count('idle');
      connection.refuseNew();
      return;
    }
    const { connectionIdleMs } = this.#times;
    if (now >= life.announcedAt) {
      const announced = now - life.announcedAt;
      if (announced > connectionGraceMs && !this.#draining) connection.destroy();
      else if (announced > ANNOUNCED_MS) connection.refuseNew();
    } else if (now >= life.oldAt || (!connection.isBusy && now - connection.idleSince > connectionIdleMs)) {
      this.#announce(life, now);
    }
    if (now - life.pingedAt < (connection.heard ? keepaliveMs : Math.min(keepaliveMs, KEEPALIVE_TIMEOUT_MS))) return;
    if (!connection.heard) connection.destroy();
    else {
      connection.ping();
      life.pingedAt = now;
    }
  }

  #isIdleGuest({ isProven, isBusy, idleSince }: Connection, now: number): boolean {
    return !isProven && !isBusy && now - idleSince > this.#times.guestIdleMs;
  }

  #announce(life: Lived, now: number): void {
    life.announcedAt = Math.min(life.announcedAt, now);
    life.connection.announceEnd();
  }
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
