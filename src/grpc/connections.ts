/**
 * The sockets of the gRPC listener where grpc-js has the port. grpc-js knows only sessions: a client that stops in the middle of
 * a TLS handshake or of the HTTP/2 preface has no session yet, so grpc-js never closes its socket, and the socket keeps the process
 * alive. Nor does it know which connections have shown a right.
 */

import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { GUEST_BYTES } from '#http2-front/guests';
import type { Clock } from '../base/clock.ts';
import type { ConnectionSlots, Slot } from '../base/connection-slots.ts';
import { networkOf } from '../base/ip-address.ts';
import type { ConnectionGuesses, Guesses } from './guesses.ts';
import { type GrpcRefused, REFUSED } from './refused.ts';

interface SocketTimes {
  /** Until handshake, preface and the client's first SETTINGS have arrived. */
  readonly arrivalMs: number;
  /** Without a call, where no right key was ever shown. */
  readonly guestIdleMs: number;
}

export interface GrpcConnectionsParts {
  readonly clock: Clock;
  readonly times: SocketTimes;
  readonly slots: ConnectionSlots;
  readonly refused: GrpcRefused;
  /** Null where wrong keys are not limited. */
  readonly guesses: Guesses | null;
}

/** A client as its socket and the sessions and calls over it name it: the only thing that they share. */
export interface Client {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

/** A connection. */
interface Held {
  readonly socket: Socket;
  readonly slot: Slot;
  isProven: boolean;
  calls: number;
  readonly guesses: ConnectionGuesses | null;
  /** Monotonic milliseconds since which no call is open. */
  idleSince: number;
}

/** Between looks at connections on which no right was shown: what they send is not seen but by its number of bytes. */
const LOOK_MS = 50;

export class GrpcConnections {
  readonly #parts: GrpcConnectionsParts;
  readonly #open = new Map<string, Held>();
  /** Those without a working session, with what cancels their time. */
  readonly #arriving = new Map<Held, () => void>();
  #isLooking = false;

  constructor(parts: GrpcConnectionsParts) {
    this.#parts = parts;
  }

  /** Follows the sockets that the listener accepts from now on. */
  watch(server: Http2Server): void {
    // Before TLS: a handshake that never ends must be cut as well.
    server.on('connection', (socket: Socket) => this.#accept(socket));
    server.on('session', (session: ServerHttp2Session) => {
      const client = nameOf(session.socket);
      session.once('remoteSettings', () => this.#arrive(this.#open.get(client)));
    });
  }

  /** A call has begun. Returns what tells of its end. */
  begin(client: Client): () => void {
    const held = this.#open.get(nameOf(client));
    if (held === undefined) return () => undefined;
    held.calls++;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      if (--held.calls === 0) held.idleSince = this.#parts.clock.monotonic();
    };
  }

  /** Null where wrong keys are not limited. */
  guessesOf(client: Client): ConnectionGuesses | null {
    return this.#open.get(nameOf(client))?.guesses ?? null;
  }

  /** A right key was shown. */
  prove(client: Client): void {
    const held = this.#open.get(nameOf(client));
    if (held === undefined || held.isProven) return;
    held.isProven = true;
    held.slot.prove();
  }

  /** Cuts the connections whose session is not established yet. */
  endArriving(): void {
    for (const { socket } of this.#arriving.keys()) socket.destroy();
  }

  /** Cuts all remaining connections. */
  destroy(): void {
    for (const { socket } of this.#open.values()) socket.destroy();
  }

  #accept(socket: Socket): void {
    const { clock, times, slots, guesses } = this.#parts;
    const client = nameOf(socket);
    const { remoteAddress } = socket;
    const slot = slots.enter(remoteAddress === undefined ? null : networkOf(remoteAddress), () => socket.destroy());
    if (slot === null) {
      socket.destroy();
      return;
    }
    const held: Held = {
      socket,
      slot,
      isProven: false,
      calls: 0,
      guesses: guesses?.open() ?? null,
      idleSince: clock.monotonic(),
    };
    this.#arriving.set(
      held,
      clock.after(times.arrivalMs, () => socket.destroy()),
    );
    this.#open.set(client, held);
    socket.once('close', () => {
      this.#arrive(held);
      slot.leave();
      if (this.#open.get(client) === held) this.#open.delete(client);
    });
    if (!this.#isLooking) this.#lookLater();
  }

  #arrive(held: Held | undefined): void {
    if (held === undefined) return;
    this.#arriving.get(held)?.();
    this.#arriving.delete(held);
  }

  #lookLater(): void {
    this.#isLooking = true;
    this.#parts.clock.after(LOOK_MS, () => {
      this.#isLooking = false;
      this.#look();
    });
  }

  #look(): void {
    const { clock, times, refused } = this.#parts;
    const now = clock.monotonic();
    const guests = [...this.#open.values()].filter(({ isProven }) => !isProven);
    let bytes = 0;
    for (const { socket, calls, idleSince } of guests) {
      bytes += socket.bytesRead;
      const isIdle = calls === 0 && now - idleSince > times.guestIdleMs;
      if (!isIdle && socket.bytesRead <= GUEST_BYTES.connection) continue;
      refused.count(isIdle ? REFUSED.IDLE : REFUSED.KEPT);
      socket.destroy();
    }
    if (bytes > GUEST_BYTES.all) this.#endHeaviest(guests);
    if (guests.length > 0) this.#lookLater();
  }

  #endHeaviest(guests: readonly Held[]): void {
    const heaviest = guests.reduce((a, b) => (b.socket.bytesRead > a.socket.bytesRead ? b : a));
    this.#parts.refused.count(REFUSED.KEPT);
    heaviest.socket.destroy();
  }
}

function nameOf({ remoteAddress, remotePort }: Client): string {
  return `${remoteAddress} ${remotePort}`;
}
