/** One request and its answer, with what every part of the machinery needs of them. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { UsherError } from '../../base/errors.ts';
import { type Logger, requestId } from '../../base/telemetry.ts';

/** The caller closed the connection before the answer: there is nobody to tell. */
export class CallerGone extends Error {
  constructor() {
    super('the caller closed the connection');
    this.name = 'CallerGone';
  }
}

export class Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  readonly startedAt: number;
  readonly log: Logger;
  readonly #clock: Clock;
  #abort: AbortController | null = null;
  /** Why nobody waits for the work any more, once its time is up. */
  #late: UsherError | null = null;
  /** The pattern that the path matched, for log and metrics; never the path, which holds addresses. */
  pattern = 'unmatched';
  /** Logged at `debug` while it succeeds. */
  quiet = false;
  /** `user` or `key:<name>`, for the log. */
  caller: string | null = null;

  constructor(req: IncomingMessage, res: ServerResponse, clock: Clock, log: Logger) {
    this.req = req;
    this.res = res;
    this.#clock = clock;
    this.log = log;
    this.startedAt = clock.monotonic();
    this.requestId = requestId(this.header('x-request-id'));
  }

  /** A request header as one string. node:http joins repeated ones with a comma, so a doubled credential fits nothing. */
  header(name: string): string | undefined {
    const value = this.req.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /**
   * Aborted when the caller is gone or the deadline has passed, also where that was before anybody asked for it. Made when first
   * asked for: most checks never do.
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
   * The work's result within `ms`; past that 503, and the signal is aborted. What the work does later is only logged. Of what
   * `changes` something nobody can say by then whether it did.
   */
  within<T>(ms: number, work: Promise<T>, changes = false): Promise<T> {
    return new Promise((resolve, reject) => {
      let late = false;
      const cancel = this.#clock.after(ms, () => {
        late = true;
        const error = changes
          ? new UsherError('OUTCOME_UNKNOWN', 'This took too long here: ask whether the change was made.')
          : new UsherError('DEADLINE_EXCEEDED', 'This took too long here and was given up; try again later.');
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
          if (late) this.log.warn({ requestId: this.requestId, err: error }, 'failed after its deadline');
          reject(error);
        },
      );
    });
  }
}
