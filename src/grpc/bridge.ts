/**
 * Between grpc-js and the handlers. Everything that a handler throws or rejects with becomes a status here: grpc-js would send
 * the message of a throw to the caller, and end the process on a rejection.
 */

import type { handleUnaryCall, Metadata, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { GrpcStatus, toUsherError, UsherError } from '../base/errors.ts';
import { type Logger, requestId } from '../base/telemetry.ts';
import { type GrpcMetrics, METHODS, type MethodName } from './metrics.ts';
import { toStatus } from './status.ts';

/**
 * Answers without waiting where it can. Throws, or rejects with, UsherError; callers see anything else as INTERNAL. Work that
 * has begun continues after the caller has left: the data it loads serves others.
 */
export type Handle = (request: Buffer) => Buffer | Promise<Buffer>;

export interface BridgeOptions {
  /** Throws UsherError UNAUTHENTICATED or KEY_SCOPE. Receives undefined for a call without a key. */
  readonly authorize: (key: string | undefined) => void;
  readonly log: Logger;
  readonly metrics: GrpcMetrics;
  readonly clock: Clock;
  /** The longest a call may wait, whatever its own deadline (docs/reference/http.md#limits: 10 s). */
  readonly deadlineMs: number;
}

/** Bytes of a gRPC message, in both directions (docs/reference/http.md#limits). */
export const MAX_MESSAGE = 1024 * 1024;

const OK = 0;
const CANCELLED = 1;

type Callback = sendUnaryData<Buffer>;

/**
 * A handler of grpc-js that checks the key, then calls `handle`. The key is checked here because an interceptor would cost
 * 15 % of the throughput. An immediate answer costs no await, closure or object.
 */
export function unary(method: MethodName, handle: Handle, options: BridgeOptions): handleUnaryCall<Buffer, Buffer> {
  const { authorize, metrics } = options;
  const index = METHODS.indexOf(method);
  const deadlines = new Deadlines(options);
  return (call, callback) => {
    let answer: Buffer | Promise<Buffer>;
    try {
      authorize(apiKey(call.metadata));
      answer = handle(call.request);
    } catch (error) {
      const status = failure(error, method, call.metadata, options.log);
      metrics.answered(index, status.code);
      callback(status);
      return;
    }
    if (answer instanceof Promise) {
      void wait(new Waiting(method, index, call, callback, options, deadlines), answer);
    } else {
      metrics.answered(index, OK);
      callback(null, answer);
    }
  };
}

/** The one key of a call, undefined for none. Two are refused: which of them counts must not be ambiguous. */
function apiKey(metadata: Metadata): string | undefined {
  const values = metadata.get('x-internal-api-key');
  if (values.length === 0) return undefined;
  const value = values[0];
  // HTTP/2 joins two headers by a comma, which no key contains.
  if (values.length > 1 || typeof value !== 'string' || value.includes(',')) {
    throw new UsherError('UNAUTHENTICATED', 'The call has several x-internal-api-key headers; send one.');
  }
  return value;
}

/** Never rejects. */
async function wait(waiting: Waiting, work: Promise<Buffer>): Promise<void> {
  try {
    const answer = await work;
    if (answer.length > MAX_MESSAGE) {
      throw new UsherError(
        'PAYLOAD_TOO_LARGE',
        `The answer is larger than ${MAX_MESSAGE} bytes; split the question into several BulkCheck calls.`,
      );
    }
    waiting.answer(answer);
  } catch (error) {
    waiting.fail(error);
  }
}

/** A call that waits for its answer. It ends once: by the answer, an error, its caller, or its deadline. */
class Waiting {
  readonly #method: MethodName;
  readonly #index: number;
  readonly #call: ServerUnaryCall<Buffer, Buffer>;
  readonly #callback: Callback;
  readonly #options: BridgeOptions;
  readonly #deadlines: Deadlines;
  /** Monotonic milliseconds. */
  readonly since: number;
  #open = true;

  constructor(
    method: MethodName,
    index: number,
    call: ServerUnaryCall<Buffer, Buffer>,
    callback: Callback,
    options: BridgeOptions,
    deadlines: Deadlines,
  ) {
    this.#method = method;
    this.#index = index;
    this.#call = call;
    this.#callback = callback;
    this.#options = options;
    this.#deadlines = deadlines;
    this.since = options.clock.monotonic();
    deadlines.add(this);
    // Also emitted after the end of every call, where it no longer matters.
    call.once('cancelled', () => this.#leave());
    if (call.cancelled) this.#leave();
  }

  answer(answer: Buffer): void {
    if (this.#end(OK)) this.#send(() => this.#callback(null, answer));
  }

  fail(error: unknown): void {
    if (!this.#open) return;
    const status = failure(error, this.#method, this.#call.metadata, this.#options.log);
    if (this.#end(status.code)) this.#send(() => this.#callback(status));
  }

  /** The caller hung up, or its deadline passed; grpc-js has ended the call already. */
  #leave(): void {
    const deadline = Number(this.#call.getDeadline());
    const late = deadline <= this.#options.clock.now();
    this.#end(late ? GrpcStatus.DEADLINE_EXCEEDED : CANCELLED);
  }

  #end(status: number): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#deadlines.delete(this);
    this.#options.metrics.waited(this.#index, status, this.#options.clock.monotonic() - this.since);
    return true;
  }

  /** A rejection here would end the process, so a throw of the transport is only logged. */
  #send(send: () => void): void {
    try {
      send();
    } catch (error) {
      this.#options.log.error({ err: error, method: this.#method }, 'gRPC answer not sent');
    }
  }
}

/** Ends calls that have waited too long. All have the same limit, so one timer, for the oldest, serves them all. */
class Deadlines {
  readonly #clock: Clock;
  readonly #deadlineMs: number;
  /** In the order of their start. */
  readonly #waiting = new Set<Waiting>();
  #armed = false;

  constructor({ clock, deadlineMs }: Pick<BridgeOptions, 'clock' | 'deadlineMs'>) {
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  add(waiting: Waiting): void {
    this.#waiting.add(waiting);
    if (!this.#armed) this.#arm(this.#deadlineMs);
  }

  delete(waiting: Waiting): void {
    this.#waiting.delete(waiting);
  }

  #arm(ms: number): void {
    this.#armed = true;
    this.#clock.after(ms, () => {
      this.#armed = false;
      this.#endLate();
    });
  }

  #endLate(): void {
    const now = this.#clock.monotonic();
    for (const waiting of this.#waiting) {
      const left = waiting.since + this.#deadlineMs - now;
      if (left > 0) {
        this.#arm(Math.ceil(left));
        return;
      }
      waiting.fail(new UsherError('DEADLINE_EXCEEDED', 'The call took too long; try again.'));
      this.#waiting.delete(waiting);
    }
  }
}

/** The status for a thrown value. Logs it for the operator; the caller never sees a cause. */
function failure(thrown: unknown, method: string, metadata: Metadata, log: Logger): ReturnType<typeof toStatus> {
  const given = metadata.get('x-request-id')[0];
  const id = requestId(typeof given === 'string' ? given : undefined);
  const error = toUsherError(thrown);
  const line = { err: thrown, method, requestId: id };
  if (error.code === 'INTERNAL') log.error(line, 'gRPC call failed');
  else if (error.code === 'UNAVAILABLE' || error.code === 'DEADLINE_EXCEEDED') log.warn(line, 'gRPC call not answered');
  else log.debug({ method, requestId: id, code: error.code, reason: error.reason }, 'gRPC call refused');
  return toStatus(error, id);
}
