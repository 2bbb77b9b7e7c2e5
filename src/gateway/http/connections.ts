/**
 * The connections of a listener, from the first byte to the last. No client holds one for longer than a named limit: neither a
 * client that stops in the middle of a request, nor one that does not read its answer, nor one whose body was refused.
 */

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { Clock } from '../../base/clock.ts';
import type { ConnectionSlots, Slot } from '../../base/connection-slots.ts';
import { networkOf } from '../../base/ip-address.ts';
import { type Logger, requestId } from '../../base/telemetry.ts';
import { type ErrorBody, JSON_TYPE } from '../route/envelopes.ts';
import { HTTP_LIMITS, isTooFine } from '../route/limits.ts';
import { SECURITY_HEADERS } from '../route/security-headers.ts';
import { readNoMore } from './reading.ts';

// Not imported: see http/listener.ts.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** The limits that tests shorten. */
export type ConnectionLimits = { readonly [Limit in keyof typeof HTTP_LIMITS]: number };

/** The newest request of a connection. */
interface Latest {
  req: IncomingMessage;
  res: ServerResponse;
  /** An earlier answer was unfinished: bytes written to the socket now would be taken for it. */
  queued: boolean;
}

interface ConnectionsOptions {
  readonly slots: ConnectionSlots;
  /** Whether connections come from a proxy. */
  readonly trustProxy: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: ConnectionLimits;
}

/** The places of open connections. */
const SLOTS = new WeakMap<Socket, Slot>();

/** Somebody has shown a right on the connection: it has to give way to nobody. */
export function proveConnection(socket: Socket): void {
  SLOTS.get(socket)?.prove();
}

const PARSER_FAULTS: Readonly<Record<string, { status: number; message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: `The headers are larger than ${HTTP_LIMITS.maxHeaderBytes} bytes.` },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time.' },
};

export class Connections {
  readonly #server: Server;
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Latest | null>();
  /** Connections whose TLS handshake is not finished, by their client. */
  readonly #shaking = new Map<string, Socket>();
  /** Connections that got an error from the parser and are about to close. */
  readonly #refused = new WeakSet<Socket>();
  #isEnding = false;

  constructor(server: Server, options: ConnectionsOptions) {
    this.#server = server;
    this.#options = options;
    const isTls = server instanceof TlsServer;
    server.on('connection', (socket: Socket) => this.#enter(socket));
    if (isTls) server.on('connection', (socket: Socket) => this.#shake(socket));
    server.on(isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
      const slot = SLOTS.get(this.#shaking.get(clientOf(socket)) ?? socket);
      if (slot !== undefined) SLOTS.set(socket, slot);
      this.#shaking.delete(clientOf(socket));
      this.#open.set(socket, null);
      socket.once('close', () => this.#open.delete(socket));
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#refuse(error, socket));
    // Also closes connections that were kept alive: with a listener for the event, node:http does not.
    server.setTimeout(options.limits.stalledMs, (socket) => this.#onSilence(socket));
  }

  /** Passes requests to the application and manages their connections. */
  serve(app: RequestListener): void {
    const { log, limits } = this.#options;
    const answer = cutFloods((req, res) => this.#follow(app, req, res), { log, pipelined: limits.pipelined });
    this.#server.on('request', answer);
    const onExpectation: RequestListener = (req, res) => {
      // A caller that gets no 100 need not send the body, and then the start of its next request is unknown.
      res.shouldKeepAlive = false;
      answer(req, res);
    };
    this.#server.on('checkContinue', onExpectation);
    this.#server.on('checkExpectation', onExpectation);
  }

  /**
   * From now on each answer says `Connection: close`, so that clients which keep connections open look for another instance before
   * these are closed under a request.
   */
  announceEnd(): void {
    this.#isEnding = true;
  }

  /**
   * Accepts nothing new and closes every connection: idle ones now, those whose request has not arrived after a moment, and
   * those with an answer in progress when it has been read, at the latest after `drainMs`.
   */
  async close(): Promise<void> {
    const { clock, limits } = this.#options;
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    const began = clock.monotonic();
    let cancelSweep = (): void => {};
    const sweep = (): void => {
      this.#sweep(clock.monotonic() - began);
      cancelSweep = clock.after(limits.sweepMs, sweep);
    };
    sweep();
    await closed;
    cancelSweep();
  }

  /** A connection that finds no room is closed; one that has shown no right may have to give way to another. */
  #enter(socket: Socket): void {
    const { remoteAddress } = socket;
    // Connections of a proxy come from the proxy.
    const isCallers = remoteAddress !== undefined && !this.#options.trustProxy;
    const slot = this.#options.slots.enter(isCallers ? networkOf(remoteAddress) : null, () => socket.destroy());
    if (slot === null) {
      socket.destroy();
      return;
    }
    SLOTS.set(socket, slot);
    socket.once('close', () => slot.leave());
  }

  /** Nothing of a request has arrived: like a connection without one it is cut. */
  #shake(socket: Socket): void {
    const client = clientOf(socket);
    this.#shaking.set(client, socket);
    socket.once('close', () => {
      if (this.#shaking.get(client) === socket) this.#shaking.delete(client);
    });
  }

  #sweep(elapsedMs: number): void {
    const { limits } = this.#options;
    this.#server.closeIdleConnections();
    for (const socket of this.#shaking.values()) socket.destroy();
    for (const [socket, latest] of this.#open) {
      // node:http does not count connections that never sent a byte as idle.
      const isUnused = socket.bytesRead === 0;
      const isArriving = latest === null || latest.res.writableFinished || !latest.req.complete;
      if (isUnused || elapsedMs >= limits.drainMs || (isArriving && elapsedMs >= limits.drainArrivalMs)) {
        socket.destroy();
      } else if (latest?.res.writableEnded) {
        // A slow reader may finish; one that reads nothing is cut.
        if (socket.timeout !== limits.drainArrivalMs) socket.setTimeout(limits.drainArrivalMs);
      }
    }
  }

  #follow(app: RequestListener, req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    if (this.#isEnding) res.shouldKeepAlive = false;
    const before = this.#open.get(socket);
    if (before === undefined || before === null) {
      if (before === null) this.#open.set(socket, { req, res, queued: false });
    } else {
      before.queued = !before.res.writableEnded;
      before.req = req;
      before.res = res;
    }
    // First of all: node:http would have the rest of an unread body dropped where nobody can count its chunks.
    if (announcesBody(req)) res.prependOnceListener('finish', () => this.#linger(req));
    app(req, res);
  }

  /**
   * The answer was written before the body was read to its end. The rest is discarded for a moment, so that its sender
   * can read the answer and the next request begins where it should; then the connection is cut.
   */
  #linger(req: IncomingMessage): void {
    if (req.complete) return;
    const { socket } = req;
    const { clock, limits } = this.#options;
    const cutAfter = (ms: number): void => {
      const cancel = clock.after(ms, () => {
        if (!req.complete) socket.destroy();
      });
      req.once('close', cancel);
    };
    cutAfter(limits.lingerMs);
    let pieces = 0;
    let bytes = 0;
    const count = (piece: Buffer): void => {
      bytes += piece.length;
      if (!isTooFine(++pieces, bytes, HTTP_LIMITS.turnPieces)) return;
      req.off('data', count);
      readNoMore(socket);
      cutAfter(limits.refusedMs);
    };
    req.on('data', count);
    req.resume();
    // node:http takes a request for read from now on.
    req.read(0);
  }

  /** Nothing was sent or read for long. Requests that do not arrive have timeouts of their own (408). */
  #onSilence(socket: Socket): void {
    const latest = this.#open.get(socket);
    const isIdle = latest === undefined || latest === null || latest.res.writableFinished;
    if (isIdle || socket.writableLength > 0) socket.destroy();
    else socket.setTimeout(this.#options.limits.stalledMs);
  }

  /** Answers a request that the parser refused, and closes the connection: the start of the next request is unknown. */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    // Each further chunk of a refused client is refused again.
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    const { clock, log, limits } = this.#options;
    if (!this.#open.has(socket)) {
      log.debug({ code: error.code }, 'TLS handshake failed');
      socket.destroy();
      return;
    }
    if (error.code === 'ECONNRESET') {
      // No request was refused: probes of HAProxy end their connections so, several times a second.
      log.debug({ code: error.code }, 'connection reset by its client');
      socket.destroy();
      return;
    }
    const id = requestId(undefined);
    const { status, message } = PARSER_FAULTS[error.code ?? ''] ?? {
      status: 400,
      message: 'The request is not well-formed HTTP.',
    };
    log.info({ requestId: id, status, code: error.code }, 'request refused by the parser');
    if (!socket.writable || this.#isAnswering(socket)) {
      socket.destroy();
      return;
    }
    // `end` closes only this side; a client that keeps its own open would hold the connection forever.
    socket.end(rawErrorResponse(status, message, id));
    const cancel = clock.after(limits.refusedMs, () => socket.destroy());
    socket.once('close', cancel);
  }

  /** Whether an answer to an earlier request has begun or is pending: the client would take any other answer for it. */
  #isAnswering(socket: Socket): boolean {
    const latest = this.#open.get(socket);
    if (latest === undefined || latest === null || latest.res.writableEnded) return false;
    return latest.queued || latest.res.headersSent || latest.req.complete;
  }
}

/**
 * node:http handles all requests in one chunk of a connection, possibly thousands, before it reads any
 * other connection. A connection that sends more than `pipelined` at once is cut.
 */
function cutFloods(app: RequestListener, { log, pipelined }: { log: Logger; pipelined: number }): RequestListener {
  let socket: Socket | null = null;
  let inARow = 0;
  const turnIsOver = (): void => {
    socket = null;
  };
  return (req, res) => {
    if (req.socket !== socket) {
      if (socket === null) setImmediate(turnIsOver);
      socket = req.socket;
      inARow = 0;
    }
    if (++inARow <= pipelined) {
      app(req, res);
      return;
    }
    if (req.socket.destroyed) return;
    log.info({ requests: inARow }, 'connection cut: too many pipelined requests');
    req.socket.destroy();
  };
}

/** The error body for a request that node:http's parser refused, written directly to the socket. */
function rawErrorResponse(status: number, message: string, requestId: string): string {
  const body = JSON.stringify({ success: false, code: 'BAD_REQUEST', message, requestId } satisfies ErrorBody);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Bad Request'}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Whether the request announces a body. */
export function announcesBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return (length !== undefined && Number(length) !== 0) || req.headers['transfer-encoding'] !== undefined;
}
