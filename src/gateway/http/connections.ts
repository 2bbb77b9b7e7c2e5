/**
 * The connections of a listener, from the first byte to the last. Nobody holds one for longer than a named limit: neither a
 * client that stops in the middle of a request, nor one that does not read its answer, nor one whose body was refused.
 */

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { type Logger, requestId } from '../../base/telemetry.ts';
import { HTTP_LIMITS, isTooFine } from '../route/limits.ts';
import { announcesBody } from './receive.ts';
import { rawErrorResponse } from './respond.ts';

/** What may be shortened in tests. */
export type ConnectionLimits = { readonly [Limit in keyof typeof HTTP_LIMITS]: number };

/** The newest request of a connection. */
interface Latest {
  req: IncomingMessage;
  res: ServerResponse;
  /** An answer before it was still being made: what is written to the socket now would stand in its place. */
  queued: boolean;
}

interface ConnectionsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly limits: ConnectionLimits;
}

const PARSER_FAULTS: Readonly<Record<string, { status: number; message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: `The headers are larger than ${HTTP_LIMITS.maxHeaderBytes} bytes.` },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time.' },
};

export class Connections {
  readonly #server: Server;
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Latest | null>();
  /** Connections that were told what is wrong and are about to end. */
  readonly #refused = new WeakSet<Socket>();

  constructor(server: Server, options: ConnectionsOptions) {
    this.#server = server;
    this.#options = options;
    server.on('connection', (socket: Socket) => {
      this.#open.set(socket, null);
      socket.once('close', () => this.#open.delete(socket));
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#refuse(error, socket));
    // Also what ends a connection that was kept alive: whoever listens to the event has to do it.
    server.setTimeout(options.limits.stalledMs, (socket) => this.#onSilence(socket));
  }

  /** Hands requests to the application, and sees to what becomes of their connections. */
  serve(app: RequestListener): void {
    const { log, limits } = this.#options;
    const answer = cutFloods((req, res) => this.#follow(app, req, res), { log, pipelined: limits.pipelined });
    this.#server.on('request', answer);
    const onExpectation: RequestListener = (req, res) => {
      // A caller that gets no 100 need not send the body, and then nobody can tell where its next request begins.
      res.shouldKeepAlive = false;
      answer(req, res);
    };
    this.#server.on('checkContinue', onExpectation);
    this.#server.on('checkExpectation', onExpectation);
  }

  /**
   * Accepts nothing more and ends every connection: the idle ones now, those whose request has not arrived after a moment, and
   * those whose answer is being made or read when it is finished, at the latest after `drainMs`.
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

  #sweep(elapsedMs: number): void {
    const { limits } = this.#options;
    this.#server.closeIdleConnections();
    for (const [socket, latest] of this.#open) {
      // node:http does not count connections that never sent a byte among the idle.
      const isUnused = socket.bytesRead === 0;
      const isArriving = latest === null || latest.res.writableFinished || !latest.req.complete;
      if (isUnused || elapsedMs >= limits.drainMs || (isArriving && elapsedMs >= limits.drainArrivalMs)) {
        socket.destroy();
      } else if (latest?.res.writableEnded) {
        // Somebody reads slowly, or not at all: the first may finish.
        if (socket.timeout !== limits.drainArrivalMs) socket.setTimeout(limits.drainArrivalMs);
      }
    }
  }

  #follow(app: RequestListener, req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req;
    const before = this.#open.get(socket);
    if (before === undefined || before === null) {
      if (before === null) this.#open.set(socket, { req, res, queued: false });
    } else {
      before.queued = !before.res.writableEnded;
      before.req = req;
      before.res = res;
    }
    if (announcesBody(req)) res.once('finish', () => this.#linger(req));
    app(req, res);
  }

  /**
   * An answer was given before the body was read to its end. What is left of it is passed over for a moment, so that its sender
   * can read the answer and the next request begins where it should; then the connection is cut.
   */
  #linger(req: IncomingMessage): void {
    if (req.complete) return;
    const { socket } = req;
    let pieces = 0;
    let bytes = 0;
    req.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (isTooFine(++pieces, bytes)) socket.destroy();
    });
    req.resume();
    const cancel = this.#options.clock.after(this.#options.limits.lingerMs, () => {
      if (!req.complete) socket.destroy();
    });
    req.once('close', cancel);
  }

  /** Nothing was sent or read for long. Requests that do not arrive have times of their own (408). */
  #onSilence(socket: Socket): void {
    const latest = this.#open.get(socket);
    const isIdle = latest === undefined || latest === null || latest.res.writableFinished;
    if (isIdle || socket.writableLength > 0) socket.destroy();
    else socket.setTimeout(this.#options.limits.stalledMs);
  }

  /** Answers what the parser refused, in our shape, and ends the connection: where the next request begins is unknown. */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    // What a refused client goes on sending is refused again with each piece.
    if (this.#refused.has(socket)) return;
    this.#refused.add(socket);
    const { clock, log, limits } = this.#options;
    const id = requestId(undefined);
    const { status, message } = PARSER_FAULTS[error.code ?? ''] ?? {
      status: 400,
      message: 'This is not well-formed HTTP.',
    };
    log.info({ requestId: id, status, code: error.code }, 'request refused by the parser');
    if (!socket.writable || error.code === 'ECONNRESET' || this.#isAnswering(socket)) {
      socket.destroy();
      return;
    }
    // `end` alone closes our side; a client that keeps its own open would hold the connection for ever.
    socket.end(rawErrorResponse(status, message, id));
    const cancel = clock.after(limits.refusedMs, () => socket.destroy());
    socket.once('close', cancel);
  }

  /** Whether an answer to an earlier request has begun or is to come: another one in its place would be taken for it. */
  #isAnswering(socket: Socket): boolean {
    const latest = this.#open.get(socket);
    if (latest === undefined || latest === null || latest.res.writableEnded) return false;
    return latest.queued || latest.res.headersSent || latest.req.complete;
  }
}

/**
 * node:http hands over all requests that stand in one piece of a connection, a thousand of them and more, before it looks at any
 * other connection. A connection that sends so many at once is cut.
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
    log.info({ requests: inARow }, 'a connection with too many requests at once was cut');
    req.socket.destroy();
  };
}
