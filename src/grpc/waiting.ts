/**
 * Calls that wait for their answer, whatever transport they came by. Everything that a handler throws or rejects with becomes
 * a status here.
 */

import type { Clock } from '../base/clock.ts';
import { toUsherError, UsherError } from '../base/errors.ts';
import { type Logger, requestId } from '../base/telemetry.ts';
import { type Span, sampledTrace, traceFields } from '../base/tracing.ts';
import { FactsService } from '../gen/usher/facts/v1/facts_pb.ts';
import { MAX_FACTS } from '../rpc/facts.ts';
import { type CallTraces, endCall } from './call-traces.ts';
import { type GrpcMetrics, METHODS } from './metrics.ts';
import { type FailedStatus, PassedOn, toStatus } from './status.ts';

/** Bytes of a gRPC message but for the answers of FactsService, in both directions (docs/reference/http.md#limits). */
export const MAX_MESSAGE = 1024 * 1024;

const FACTS: ReadonlySet<string> = new Set(FactsService.methods.map(({ name }) => name));

export const OK = 0;
export const CANCELLED = 1;

export interface WaitingOptions {
  readonly log: Logger;
  readonly metrics: GrpcMetrics;
  readonly clock: Clock;
  /** The longest a call may wait, whatever its own deadline (docs/reference/http.md#limits: 10 s). */
  readonly deadlineMs: number;
  /** Null where nothing is traced. */
  readonly traces: CallTraces | null;
}

/** The transport's side of a call that waits. Either is called at most once. */
export interface Reply {
  /** The caller's `x-request-id`, as sent. */
  readonly requestId: string | undefined;
  answer(message: Buffer): void;
  fail(status: FailedStatus): void;
}

/** A call that waits for its answer. It ends once: by the answer, an error, its caller, or its deadline. */
export class WaitingCall {
  readonly #method: number;
  readonly #reply: Reply;
  readonly #calls: WaitingCalls;
  readonly #span: Span | null;
  /** Monotonic milliseconds. */
  readonly since: number;
  #open = true;

  constructor(method: number, reply: Reply, calls: WaitingCalls, span: Span | null) {
    this.#method = method;
    this.#reply = reply;
    this.#calls = calls;
    this.#span = span;
    this.since = calls.options.clock.monotonic();
  }

  /** How large its answer may be. */
  get mostBytes(): number {
    return FACTS.has(METHODS[this.#method] as string) ? MAX_FACTS : MAX_MESSAGE;
  }

  answer(answer: Buffer): void {
    if (this.#end(OK)) this.#send(() => this.#reply.answer(answer));
  }

  fail(error: unknown): void {
    if (!this.#open) return;
    const status = failure(error, this.#method, this.#reply.requestId, this.#calls.options.log, this.#span);
    if (this.#end(status.code)) this.#send(() => this.#reply.fail(status));
  }

  /** The caller hung up, or its deadline passed; the transport has ended the call already. */
  leave(status: number): void {
    this.#end(status);
  }

  #end(status: number): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#calls.ended(this, this.#method, status, sampledTrace(this.#span));
    endCall(this.#span, status);
    return true;
  }

  /** A rejection here would end the process, so a throw of the transport is only logged. */
  #send(send: () => void): void {
    try {
      send();
    } catch (error) {
      this.#calls.options.log.error({ err: error, method: METHODS[this.#method] }, 'gRPC answer not sent');
    }
  }
}

/** The waiting calls of a listener. All have the same limit, so one timer, for the oldest, serves them all. */
export class WaitingCalls {
  readonly options: WaitingOptions;
  /** In the order of their start. */
  readonly #waiting = new Set<WaitingCall>();
  #armed = false;

  constructor(options: WaitingOptions) {
    this.options = options;
  }

  /** `method` is its place in METHODS. The call ends by `work`, unless something else ends it before, and its span with it. */
  wait(method: number, reply: Reply, work: Promise<Buffer>): WaitingCall {
    const call = new WaitingCall(method, reply, this, this.options.traces?.waits() ?? null);
    this.#waiting.add(call);
    if (!this.#armed) this.#arm(this.options.deadlineMs);
    void settle(call, work);
    return call;
  }

  ended(call: WaitingCall, method: number, status: number, trace?: string): void {
    this.#waiting.delete(call);
    const { metrics, clock } = this.options;
    metrics.waited(method, status, clock.monotonic() - call.since, trace);
  }

  #arm(ms: number): void {
    this.#armed = true;
    this.options.clock.after(ms, () => {
      this.#armed = false;
      this.#endLate();
    });
  }

  #endLate(): void {
    const now = this.options.clock.monotonic();
    for (const call of this.#waiting) {
      const left = call.since + this.options.deadlineMs - now;
      if (left > 0) {
        this.#arm(Math.ceil(left));
        return;
      }
      call.fail(new UsherError('DEADLINE_EXCEEDED', 'The call took too long; try again.'));
      this.#waiting.delete(call);
    }
  }
}

/** Throws PAYLOAD_TOO_LARGE. For answers that waited, and for those at once that may be as long as an application is large. */
export function checkSize(answer: Buffer, most: number): void {
  if (answer.length <= most) return;
  throw new UsherError(
    'PAYLOAD_TOO_LARGE',
    `The answer is larger than ${most} bytes; split the question into several BulkCheck calls.`,
  );
}

/** Never rejects. */
async function settle(call: WaitingCall, work: Promise<Buffer>): Promise<void> {
  try {
    const answer = await work;
    checkSize(answer, call.mostBytes);
    call.answer(answer);
  } catch (error) {
    call.fail(error);
  }
}

/**
 * The status for a thrown value. Logs it for the operator; the caller never sees a cause.
 *
 * @param given the caller's `x-request-id`
 */
export function failure(
  thrown: unknown,
  method: number,
  given: string | undefined,
  log: Logger,
  span: Span | null = null,
): FailedStatus {
  if (thrown instanceof PassedOn) return thrown.status;
  const id = requestId(given);
  const error = toUsherError(thrown);
  const line = { err: thrown, method: METHODS[method], requestId: id, ...traceFields(span) };
  if (error.code === 'INTERNAL') log.error(line, 'gRPC call failed');
  else if (error.code === 'UNAVAILABLE' || error.code === 'DEADLINE_EXCEEDED') log.warn(line, 'gRPC call not answered');
  else log.debug({ method: line.method, requestId: id, code: error.code, reason: error.reason }, 'gRPC call refused');
  return toStatus(error, id);
}
