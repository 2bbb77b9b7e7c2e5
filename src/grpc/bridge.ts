/**
 * Between grpc-js and the handlers. Everything that a handler throws or rejects with becomes a status: grpc-js would send the
 * message of a throw to the caller, and end the process on a rejection.
 */

import type { handleUnaryCall, Metadata, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { GrpcStatus, UsherError } from '../base/errors.ts';
import type { Carrier } from '../base/tracing.ts';
import { METHODS, type MethodName } from './metrics.ts';
import type { FailedStatus } from './status.ts';
import { CANCELLED, failure, OK, type Reply, type WaitingCalls } from './waiting.ts';

/**
 * Answers without waiting where it can. Throws, or rejects with, UsherError; callers see anything else as INTERNAL. Work that
 * has begun continues after the caller has left: the data it loads serves others.
 */
export type Handle = (request: Buffer) => Buffer | Promise<Buffer>;

/**
 * Whether a caller who was admitted would still be, with the same key: cheaper than comparing it again. Counts as a use of the key. Throws
 * KEY_SCOPE for a request that a narrowed key may not send: every request must be shown to it.
 */
export type Admission = (request?: Buffer) => boolean;

/** Throws UsherError UNAUTHENTICATED or KEY_SCOPE. Receives undefined for a call without a key. */
export type Authorize = (key: string | undefined) => Admission | undefined;

/**
 * A handler of grpc-js that checks the key, then calls `handle`. The key is checked here because an interceptor would cost
 * 15 % of the throughput. An immediate answer costs no await, closure or object.
 */
export function unary(
  method: MethodName,
  handle: Handle,
  authorize: Authorize,
  calls: WaitingCalls,
): handleUnaryCall<Buffer, Buffer> {
  const { metrics, log, clock, traces } = calls.options;
  const index = METHODS.indexOf(method);
  return (call, callback) => {
    let answer: Buffer | Promise<Buffer>;
    try {
      authorize(apiKey(call.metadata))?.(call.request);
      answer =
        traces === null ? handle(call.request) : traces.run(index, carrierOf(call.metadata), handle, call.request);
    } catch (error) {
      const span = traces === null ? null : traces.answered();
      const status = failure(error, index, requestIdOf(call.metadata), log, span);
      metrics.answered(index, status.code);
      if (traces !== null) traces.end(span, status.code);
      callback(status);
      return;
    }
    if (answer instanceof Promise) {
      const waiting = calls.wait(index, new CallbackReply(call, callback), answer);
      const leave = () => {
        const late = Number(call.getDeadline()) <= clock.now();
        waiting.leave(late ? GrpcStatus.DEADLINE_EXCEEDED : CANCELLED);
      };
      // Also emitted after the end of every call, where it no longer matters.
      call.once('cancelled', leave);
      if (call.cancelled) leave();
    } else {
      if (traces !== null) traces.end(traces.answered(), OK);
      metrics.answered(index, OK);
      callback(null, answer);
    }
  };
}

/** The one key of a call, undefined for none. Two are refused: which of them counts must not be ambiguous. */
export function apiKey(metadata: Metadata): string | undefined {
  const values = metadata.get('x-internal-api-key');
  if (values.length === 0) return undefined;
  const value = values[0];
  // HTTP/2 joins two headers by a comma, which no key contains.
  if (values.length > 1 || typeof value !== 'string' || value.includes(',')) {
    throw severalKeys();
  }
  return value;
}

export function severalKeys(): UsherError {
  return new UsherError('UNAUTHENTICATED', 'The call has several x-internal-api-key headers; send one.');
}

export function requestIdOf(metadata: Metadata): string | undefined {
  const given = metadata.get('x-request-id')[0];
  return typeof given === 'string' ? given : undefined;
}

/** What a caller says of its trace. Of two headers neither counts; several of `tracestate` are one list. */
export function carrierOf(metadata: Metadata): Carrier {
  const [traceparent, second] = metadata.get('traceparent');
  if (typeof traceparent !== 'string' || second !== undefined) return {};
  return { traceparent, tracestate: metadata.get('tracestate').join(',') };
}

/** Ends a call of grpc-js. */
export class CallbackReply implements Reply {
  readonly #call: ServerUnaryCall<Buffer, Buffer>;
  readonly #callback: sendUnaryData<Buffer>;

  constructor(call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) {
    this.#call = call;
    this.#callback = callback;
  }

  get requestId(): string | undefined {
    return requestIdOf(this.#call.metadata);
  }

  answer(message: Buffer): void {
    this.#callback(null, message);
  }

  fail(status: FailedStatus): void {
    this.#callback(status);
  }
}
