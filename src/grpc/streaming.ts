/** Between grpc-js and the methods that answer with a stream. */

import type { handleServerStreamingCall, ServerWritableStream } from '@grpc/grpc-js';
import type { Span } from '@opentelemetry/api';
import { GrpcStatus } from '../base/errors.ts';
import { type Admission, type Authorize, apiKey, carrierOf, requestIdOf } from './bridge.ts';
import { endCall } from './call-traces.ts';
import { METHODS, type MethodName } from './metrics.ts';
import { CANCELLED, failure, OK, type WaitingOptions } from './waiting.ts';

/** What a handler answers: messages, one at a time, until the reader has left. */
export interface MessageStream extends AsyncIterable<Buffer> {
  /** Aborted when it has ended by itself. */
  readonly ended: AbortSignal;
  /** The reader has left. */
  end(): void;
}

/** Throws UsherError; its stream may reject with one. */
export type OpenStream = (request: Buffer, admission: Admission | undefined) => MessageStream;

/** A handler of grpc-js that checks the key, then writes what `open` gives, each message once the one before was taken. */
export function serverStreaming(
  method: MethodName,
  open: OpenStream,
  authorize: Authorize,
  { metrics, log, clock, traces }: WaitingOptions,
): handleServerStreamingCall<Buffer, Buffer> {
  const index = METHODS.indexOf(method);
  return (call) => {
    const since = clock.monotonic();
    let span: Span | null = null;
    const end = (status: number): void => {
      metrics.waited(index, status, clock.monotonic() - since);
      endCall(span, status);
    };
    const fail = (error: unknown): void => {
      const status = failure(error, index, requestIdOf(call.metadata), log, span);
      end(status.code);
      call.emit('error', status);
    };
    let stream: MessageStream;
    try {
      const admission = authorize(apiKey(call.metadata));
      admission?.(call.request);
      if (traces !== null) span = traces.stream(index, carrierOf(call.metadata));
      stream = open(call.request, admission);
    } catch (error) {
      fail(error);
      return;
    }
    // Also emitted after the end of every call, where it no longer matters.
    call.once('cancelled', () => stream.end());
    if (call.cancelled) stream.end();
    void write(call, stream).then(() => {
      if (call.cancelled) {
        end(Number(call.getDeadline()) <= clock.now() ? GrpcStatus.DEADLINE_EXCEEDED : CANCELLED);
        return;
      }
      end(OK);
      call.end();
    }, fail);
  };
}

async function write(call: ServerWritableStream<Buffer, Buffer>, stream: MessageStream): Promise<void> {
  for await (const message of stream) {
    await new Promise<void>((resolve) => {
      const taken = (): void => {
        stream.ended.removeEventListener('abort', taken);
        resolve();
      };
      // grpc-js does not answer for what it writes to a call that was canceled.
      stream.ended.addEventListener('abort', taken, { once: true });
      call.write(message, taken);
    });
  }
}
