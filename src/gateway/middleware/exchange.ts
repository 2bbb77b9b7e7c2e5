/** One request and its answer, with the state that the gateway keeps beside Express's own. */

import type { Request, RequestHandler, Response } from 'express';
import type { Clock } from '../../base/clock.ts';
import { type Issue, UsherError } from '../../base/errors.ts';
import { networkOf } from '../../base/ip-address.ts';
import { type Logger, requestId, visibleRequestId } from '../../base/telemetry.ts';
import type { Span } from '../../base/tracing.ts';
import { proveConnection } from '../http/connections.ts';
import type { Route } from '../route/route.ts';
import { goOnTraced } from './trace.ts';

declare global {
  namespace Express {
    interface Locals {
      exchange: Exchange;
    }
  }
}

/** The caller closed the connection before the answer. */
export class CallerGone extends Error {
  constructor() {
    super('the caller closed the connection');
    this.name = 'CallerGone';
  }
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

export class Exchange {
  readonly req: Request;
  readonly res: Response;
  #requestId: string;
  readonly startedAt: number;
  readonly log: Logger;
  readonly #clock: Clock;
  #abort: AbortController | null = null;
  /** Set once the deadline has passed and the work's result is no longer awaited. */
  #late: UsherError | null = null;
  /** The matched route; null for none. */
  route: Route | null = null;
  /** The pattern of a door beside the routes, such as the panel's; null for routes. */
  door: string | null = null;
  /** The parameters of the path, decoded but not yet checked, on an object without a prototype. */
  params: Readonly<Record<string, string>> = NO_PARAMS;
  /** Faults of the parameters, found before any schema. */
  paramIssues: readonly Issue[] = [];
  /** The caller that the route's guard identified. */
  caller: unknown = null;
  /** The author's own words on why, of an administrative write. */
  reason: string | undefined = undefined;
  /** `user` or `key:<name>`, for the log. */
  callerName: string | null = null;
  #failLate: ((error: UsherError) => boolean) | null = null;
  /** Logged at `debug` while it succeeds. */
  quiet = false;
  /** Null where nothing is traced. */
  span: Span | null = null;

  constructor(req: Request, res: Response, clock: Clock, log: Logger) {
    this.req = req;
    this.res = res;
    this.#clock = clock;
    this.log = log;
    this.startedAt = clock.monotonic();
    this.#requestId = requestId(req.get('x-request-id'));
  }

  get requestId(): string {
    return this.#requestId;
  }

  /** Takes the caller's id where it is visible ASCII, also one that other surfaces would not repeat. */
  keepRequestId(): void {
    this.#requestId = visibleRequestId(this.req.get('x-request-id'), this.#requestId);
    this.res.setHeader('x-request-id', this.#requestId);
  }

  /** The pattern that the path matched, for log and metrics; never the path, which holds addresses. */
  get pattern(): string {
    if (this.door !== null) return this.door;
    return (this.req.route as { path: string } | undefined)?.path ?? 'unmatched';
  }

  /** The address that a request came from, as far as proxies are trusted; of IPv6 the network. */
  get address(): string {
    return networkOf(this.req.ip ?? 'unknown');
  }

  /** `write` writes an error as the end of an answer that has begun, and returns false where it cannot. */
  onLateFailure(write: (error: UsherError) => boolean): void {
    this.#failLate = write;
  }

  /** Whether the error became the end of an answer that had begun. */
  failLate(error: UsherError): boolean {
    return this.#failLate?.(error) ?? false;
  }

  nameCaller(actor: string | null): void {
    if (actor !== null) proveConnection(this.req.socket);
    this.callerName = actor?.startsWith('user:') ? 'user' : actor;
  }

  /**
   * Aborted when the caller is gone or the deadline has passed, even before this getter was first called. Created when first
   * read: most checks never read it.
   */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      const abort = new AbortController();
      this.#abort = abort;
      const leave = (): void => {
        if (!this.res.writableFinished) abort.abort(new CallerGone());
      };
      if (this.#late !== null) abort.abort(this.#late);
      else if (this.gone) leave();
      else this.res.once('close', leave);
    }
    return this.#abort.signal;
  }

  get gone(): boolean {
    return this.res.destroyed;
  }

  /**
   * The work's result within `ms`; after that 503, and the signal is aborted. A later failure of the work is only logged. With
   * `changes` the 503 is OUTCOME_UNKNOWN, because the write may still commit.
   */
  within<T>(ms: number, work: Promise<T>, changes = false): Promise<T> {
    return new Promise((resolve, reject) => {
      let late = false;
      const cancel = this.#clock.after(ms, () => {
        late = true;
        const error = changes
          ? new UsherError('OUTCOME_UNKNOWN', 'The request took too long; read whether the change was made.')
          : new UsherError('DEADLINE_EXCEEDED', 'The request took too long and was canceled; try again later.');
        this.#late = error;
        this.#abort?.abort(error);
        reject(error);
      });
      work.then(
        (value) => {
          cancel();
          resolve(value);
        },
        (error: unknown) => {
          cancel();
          if (late) this.log.warn({ requestId: this.requestId, err: error }, 'request failed after its deadline');
          reject(error);
        },
      );
    });
  }
}

interface ExchangeOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with every exchange when it begins. */
  readonly follow: (exchange: Exchange) => void;
}

/** Opens the exchange of a request: its id, its time, its line in the log. */
export function openExchange({ clock, log, follow }: ExchangeOptions): RequestHandler {
  return (req, res, next) => {
    const exchange = new Exchange(req, res, clock, log);
    res.locals.exchange = exchange;
    res.setHeader('x-request-id', exchange.requestId);
    follow(exchange);
    goOnTraced(exchange, next);
  };
}

/** For the paths of routes that keep any visible request id: their 405 carries it too. */
export const keepRequestId: RequestHandler = (_req, res, next) => {
  res.locals.exchange.keepRequestId();
  next();
};
