/**
 * The sockets of the gRPC listener. grpc-js knows only sessions: a client that stops in the middle of a TLS handshake or of the
 * HTTP/2 preface has no session yet, so grpc-js never closes its socket, and the socket keeps the process alive.
 */

import type { Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';

interface SocketTimes {
  /** Until handshake, preface and the client's first SETTINGS have arrived. */
  readonly arrivalMs: number;
}

export class GrpcConnections {
  readonly #clock: Clock;
  readonly #times: SocketTimes;
  readonly #open = new Set<Socket>();
  /** Sockets without a working session, by their client's address, the only thing that a session tells of its socket. */
  readonly #arriving = new Map<string, { socket: Socket; cancel: () => void }>();

  constructor(clock: Clock, times: SocketTimes) {
    this.#clock = clock;
    this.#times = times;
  }

  /** Follows the sockets that the listener accepts from now on. */
  watch(server: Http2Server): void {
    // Before TLS: a handshake that never ends must be cut as well.
    server.on('connection', (socket: Socket) => this.#accept(socket));
    server.on('session', (session: ServerHttp2Session) => {
      const client = clientOf(session.socket);
      session.once('remoteSettings', () => this.#arrive(client));
    });
  }

  /** Cuts the connections whose session is not established yet. */
  endArriving(): void {
    for (const { socket } of this.#arriving.values()) socket.destroy();
  }

  /** Cuts all remaining connections. */
  destroy(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #accept(socket: Socket): void {
    const client = clientOf(socket);
    this.#open.add(socket);
    const cancel = this.#clock.after(this.#times.arrivalMs, () => socket.destroy());
    this.#arriving.set(client, { socket, cancel });
    socket.once('close', () => {
      this.#open.delete(socket);
      if (this.#arriving.get(client)?.socket === socket) this.#arrive(client);
    });
  }

  #arrive(client: string): void {
    this.#arriving.get(client)?.cancel();
    this.#arriving.delete(client);
  }
}

function clientOf({
  remoteAddress,
  remotePort,
}: {
  remoteAddress?: string | undefined;
  remotePort?: number | undefined;
}) {
  return `${remoteAddress} ${remotePort}`;
}
