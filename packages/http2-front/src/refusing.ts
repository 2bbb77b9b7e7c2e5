/** Calls that are refused: by their headers, before a byte of their messages is kept, or later. */

import { Code } from './codes.ts';
import type { Caller } from './head.ts';
import { encodeHeaders } from './hpack.ts';
import { pathOf } from './other-calls.ts';
import type { Outbound } from './outbound.ts';
import { RefusedCall } from './refused-call.ts';
import type { Status } from './service.ts';
import type { FrontService } from './shared.ts';
import type { Stream } from './stream.ts';

/** In bytes read: more than a refusal costs, so that those who are refused get less of a turn than those who are answered. */
const REFUSAL_COST = 1024;
export const NO_METADATA: Status['metadata'] = { toHttp2Headers: () => ({}) };
/** For people who ask the port with a browser or curl. */
const NOT_GRPC_TEXT = Buffer.from('This port speaks gRPC: send application/grpc. REST is at the port of http.port.\n');
const NOT_GRPC_HEADERS = encodeHeaders([':status', 'content-type'], ['415', 'text/plain; charset=utf-8']);

/** Of a call whose caller does not matter any more. */
export const NOBODY: Caller = {
  key: undefined,
  requestId: undefined,
  several: false,
  forwardedFor: undefined,
  admission: undefined,
};

export interface RefusingHost {
  readonly service: FrontService;
  readonly outbound: Outbound;
  /** Something costs as much as reading that many bytes. */
  spend(bytes: number): void;
  /** Every frame of the answer is sent, or waits for room. */
  answered(stream: Stream): void;
  /** The same, and nothing more of the call is wanted. */
  refused(stream: Stream): void;
}

export class Refusing {
  readonly #host: RefusingHost;

  constructor(host: RefusingHost) {
    this.#host = host;
  }

  /** A value that no HTTP has. */
  unreadable(stream: Stream): void {
    this.refuse(stream, new RefusedCall('unreadable'), NOBODY);
  }

  /** A message that is too long, as grpc-js says it. */
  tooLong(stream: Stream, details: string): void {
    this.#fail(stream, Code.RESOURCE_EXHAUSTED, details);
  }

  /** A path that no method has. */
  unimplemented(stream: Stream): void {
    const details = `The server does not implement the method ${pathOf(stream.list)}`;
    this.#fail(stream, Code.UNIMPLEMENTED, details);
  }

  /** No call of gRPC. */
  notGrpc(stream: Stream): void {
    const { outbound } = this.#host;
    this.#host.spend(REFUSAL_COST);
    outbound.headers(stream, NOT_GRPC_HEADERS, false);
    outbound.data(stream, NOT_GRPC_TEXT, true);
    this.#host.answered(stream);
  }

  #fail(stream: Stream, code: number, details: string): void {
    this.#host.spend(REFUSAL_COST);
    this.#host.outbound.fail(stream, { code, details, metadata: NO_METADATA });
    this.#host.refused(stream);
  }

  /** Ends a call that is not worked for. */
  refuse(stream: Stream, thrown: unknown, caller: Caller): void {
    const { service, outbound } = this.#host;
    const { calls, errors, refusals } = service;
    const { metrics, log } = calls.options;
    const index = stream.entrance?.index ?? -1;
    this.#host.spend(REFUSAL_COST);
    const refusal = errors.refusalOf(thrown);
    if (refusal === null) outbound.fail(stream, errors.failure(thrown, index, caller.requestId));
    else {
      if (log.isLevelEnabled('debug')) errors.failure(thrown, index, caller.requestId);
      outbound.headers(stream, refusals.blockOf(refusal, caller.requestId), true);
    }
    if (index >= 0) metrics.answered(index, refusal === null ? Code.INTERNAL : refusal.code);
    this.#host.refused(stream);
  }
}
