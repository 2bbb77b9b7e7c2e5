/**
 * The streams of a connection. The front answers a stream when everything about it is usual: known headers, one whole message,
 * nothing compressed. Every other one is passed on to grpc-js, with all that was received of it.
 */

import { Metadata } from '@grpc/grpc-js';
import { GrpcStatus } from '../../base/errors.ts';
import type { Carrier } from '../../base/tracing.ts';
import type { Callers } from '../call-traces.ts';
import type { FailedStatus } from '../status.ts';
import { CANCELLED, failure, OK } from '../waiting.ts';
import type { Behind } from './behind.ts';
import { ErrorCode, INITIAL_WINDOW, MAX_WINDOW, rstStreamFrame } from './frames.ts';
import type { Head } from './head.ts';
import type { ReadBlock } from './head-reader.ts';
import { encodeHeaders, type HeaderList } from './hpack.ts';
import { isMessage, mayBecomeMessage, PREFIX } from './message.ts';
import { OpenStreams } from './open-streams.ts';
import { contentLengthOf, pathOf, Verdict } from './other-calls.ts';
import type { Outbound } from './outbound.ts';
import { Passing } from './passing.ts';
import { RecentIds } from './recent-ids.ts';
import type { FrontService } from './service.ts';
import { isLate, Phase, Stream } from './stream.ts';
import { StreamReply } from './stream-reply.ts';

/** Open streams of a connection, as grpc-js has them. */
export const MAX_STREAMS = 256;
/** In bytes read: what grpc-js does with a call, twenty times what the front does. */
const PASS_COST = 1024;
/** Bytes of incomplete messages, for a connection; half of its window, so that a client can always complete one. */
const MAX_HELD = 32_768;
const NO_METADATA = new Metadata();
/** For people who ask the port with a browser or curl. */
const NOT_GRPC_TEXT = Buffer.from('This port speaks gRPC: send application/grpc. REST is at the port of http.port.\n');
const NOT_GRPC_HEADERS = encodeHeaders([':status', 'content-type'], ['415', 'text/plain; charset=utf-8']);

/** The connection, as its streams need it. */
export interface Host {
  readonly service: FrontService;
  readonly outbound: Outbound;
  /** Made when it is first needed. */
  behind(): Behind;
  /** Something costs as much as reading that many bytes. */
  spend(bytes: number): void;
  /** Runs what happens outside of a read; a fault of it ends the connection. */
  guard(work: () => void): void;
  /** Monotonic milliseconds. */
  now(): number;
  /** A stream was reset from here. Throws ConnectionFault when that happens too often. */
  countReset(): void;
  /** The last stream has ended. */
  idle(): void;
  /** A stream with a deadline was opened. */
  watchDeadline(deadline: number): void;
}

export class Streams implements Callers {
  readonly #host: Host;
  readonly #open = new OpenStreams();
  readonly passing: Passing;
  readonly #reset = new RecentIds();
  /** Reset by the client. */
  readonly #left = new RecentIds();
  /** Bytes of incomplete messages, for which the client gets no credit yet. */
  #held = 0;

  constructor(host: Host) {
    this.#host = host;
    this.passing = new Passing({
      outbound: host.outbound,
      behind: () => host.behind(),
      finish: (stream) => this.#finish(stream),
      resetBehind: (stream, errorCode) => this.#endByReset(stream, errorCode),
    });
  }

  get size(): number {
    return this.#open.size;
  }

  get(id: number): Stream | undefined {
    return this.#open.get(id);
  }

  /** Whether frames of this closed stream may still be on their way. */
  wasReset(id: number): boolean {
    return this.#reset.has(id);
  }

  /** Whether the client has reset it. What it sends of it all the same ends the stream alone (RFC 9113 section 5.1). */
  wasLeft(id: number): boolean {
    return this.#left.has(id);
  }

  /** Says once that a stream which the client has left is closed. */
  tellClosed(id: number): void {
    this.#sendReset(id, ErrorCode.STREAM_CLOSED);
  }

  open(id: number, { head, verdict, list }: ReadBlock, endStream: boolean): void {
    const timeoutMs = head === null ? Number.POSITIVE_INFINITY : head.timeoutMs;
    // The clock is read only where a deadline counts from it.
    const deadline = timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : this.#host.now() + timeoutMs;
    const stream = new Stream(id, head, list, deadline);
    this.#open.add(stream);
    stream.clientEnded = endStream;
    if (verdict === Verdict.NOT_GRPC) this.#openOther(stream);
    else if (verdict === Verdict.UNIMPLEMENTED) this.#failUnimplemented(stream);
    // A call without a message is for grpc-js to refuse.
    else if (head === null || endStream) this.#pass(stream);
    // Also of a call whose message never comes. Nearly always a timer for an earlier deadline is there already.
    else if (deadline !== Number.POSITIVE_INFINITY) this.#host.watchDeadline(deadline);
  }

  #openOther(stream: Stream): void {
    stream.expected = contentLengthOf(stream.list);
    const cannotCount = stream.expected < 0 || stream.expected > INITIAL_WINDOW || stream.clientEnded;
    if (cannotCount) this.#answerOther(stream);
    else stream.phase = Phase.COUNTING;
  }

  /** A body must be as long as its call declared (RFC 9113 section 8.1.1). */
  #count(stream: Stream, length: number): void {
    stream.expected -= length;
    if (stream.expected < 0 || (stream.clientEnded && stream.expected > 0)) {
      this.reset(stream, ErrorCode.PROTOCOL_ERROR);
    } else if (stream.clientEnded) this.#answerOther(stream);
  }

  #answerOther(stream: Stream): void {
    const { outbound } = this.#host;
    outbound.headers(stream, NOT_GRPC_HEADERS, false);
    outbound.data(stream, NOT_GRPC_TEXT, true);
    this.#answered(stream);
  }

  #failUnimplemented(stream: Stream): void {
    const details = `The server does not implement the method ${pathOf(stream.list)}`;
    const status = { code: GrpcStatus.UNIMPLEMENTED, details, metadata: NO_METADATA };
    this.#host.outbound.fail(stream, status);
    this.#answered(stream);
  }

  /** Every frame of the answer is sent, or waits for room. */
  #answered(stream: Stream): void {
    stream.phase = Phase.ANSWERED;
    stream.serverEnded = true;
    this.#finish(stream);
  }

  /** Trailers of the client, which no client of a unary method sends. */
  trailers(stream: Stream, list: HeaderList): void {
    if (stream.phase === Phase.COLLECTING) this.#pass(stream);
    stream.clientEnded = true;
    if (stream.phase !== Phase.PASSED) {
      if (stream.phase === Phase.COUNTING) this.#count(stream, 0);
      else this.#finish(stream);
      return;
    }
    this.passing.trailers(stream, list);
    this.#finish(stream);
  }

  /** Data of an open stream that the client has not ended; `length` is that of the whole payload, with padding. */
  data(stream: Stream, bytes: Buffer, start: number, end: number, length: number, endStream: boolean): void {
    stream.clientEnded = endStream;
    if (stream.phase === Phase.PASSED) {
      this.passing.data(stream, bytes, start, end, endStream);
      // Padding is not passed on, so grpc-js never grants it again.
      this.#host.outbound.credit(length - (end - start));
      this.#finish(stream);
      return;
    }
    stream.receiveWindow -= length;
    if (stream.receiveWindow < 0 || stream.phase !== Phase.COLLECTING) {
      this.#host.outbound.credit(length);
      if (stream.receiveWindow < 0) this.reset(stream, ErrorCode.FLOW_CONTROL_ERROR);
      else if (stream.phase === Phase.COUNTING) this.#count(stream, end - start);
      else this.#finish(stream);
      return;
    }
    // The usual case: the message lies whole in the chunk that was read.
    if (endStream && stream.body === null && isMessage(bytes, start, end)) {
      this.#host.outbound.credit(length);
      this.#answer(stream, bytes.subarray(start + PREFIX, end));
      return;
    }
    this.#host.outbound.credit(length - (end - start));
    this.#collect(stream, bytes, start, end);
    if (endStream) this.#complete(stream);
    else if (!mayBecomeMessage(stream)) this.#pass(stream);
    else if (this.#held > MAX_HELD) this.#passLargest();
  }

  #collect(stream: Stream, bytes: Buffer, start: number, end: number): void {
    const length = end - start;
    const body = stream.body ?? Buffer.allocUnsafe(Math.max(length, PREFIX));
    const needed = stream.bodyLength + length;
    if (needed > body.length) {
      stream.body = Buffer.allocUnsafe(Math.max(needed, 2 * body.length));
      body.copy(stream.body, 0, 0, stream.bodyLength);
    } else stream.body = body;
    bytes.copy(stream.body, stream.bodyLength, start, end);
    stream.bodyLength = needed;
    this.#held += length;
  }

  #complete(stream: Stream): void {
    const body = (stream.body as Buffer).subarray(0, stream.bodyLength);
    if (!isMessage(body, 0, body.length)) {
      this.#pass(stream);
      return;
    }
    this.#release(stream);
    this.#answer(stream, body.subarray(PREFIX));
  }

  /** The client gets credit for a message that is read, or dropped. */
  #release(stream: Stream): void {
    this.#held -= stream.bodyLength;
    this.#host.outbound.credit(stream.bodyLength);
    stream.body = null;
    stream.bodyLength = 0;
  }

  /** What an open call of the front says of its trace. */
  carrierOf(id: number): Carrier {
    return (this.get(id) as Stream).head as Head;
  }

  #answer(stream: Stream, message: Buffer): void {
    const { service, outbound } = this.#host;
    const head = stream.head as Head;
    const { method, caller } = head;
    const { index, handle } = method;
    const { metrics, log, traces } = service.calls.options;
    let answer: Buffer | Promise<Buffer>;
    try {
      // The caller is of these very headers, and so of this method.
      if (caller.admission?.() !== true) caller.admission = method.authorize(caller.key);
      if (traces !== null) traces.begins(index, this, stream.id, head.traceparent);
      answer = handle(message);
    } catch (error) {
      const span = traces === null ? null : traces.answered();
      const status = failure(error, index, caller.requestId, log, span);
      metrics.answered(index, status.code);
      if (traces !== null) traces.end(span, status.code);
      outbound.fail(stream, status);
      this.#close(stream);
      return;
    }
    stream.phase = Phase.ANSWERING;
    if (answer instanceof Promise) {
      stream.waiting = service.calls.wait(index, new StreamReply(this, stream), answer);
      return;
    }
    if (traces !== null) traces.end(traces.answered(), OK);
    metrics.answered(index, OK);
    if (outbound.answer(stream, answer)) this.#close(stream);
  }

  /** The answer of a call that waited. */
  answerLate(stream: Stream, message: Buffer): void {
    stream.waiting = null;
    this.#host.guard(() => {
      if (this.#host.outbound.answer(stream, message)) this.#close(stream);
    });
  }

  failLate(stream: Stream, status: FailedStatus): void {
    stream.waiting = null;
    this.#host.guard(() => {
      this.#host.outbound.fail(stream, status);
      this.#close(stream);
    });
  }

  /** The last frame of an answer that had to wait for room was sent. */
  sent(stream: Stream): void {
    if (stream.phase === Phase.ANSWERING) this.#close(stream);
    else this.#finish(stream);
  }

  /** Ends calls whose deadline has passed. Returns the next deadline. */
  endLate(now: number): number {
    let next = Number.POSITIVE_INFINITY;
    for (const stream of this.#open.values()) {
      if (stream.phase >= Phase.PASSED || stream.outbox !== null) continue;
      if (stream.deadline > now) next = Math.min(next, stream.deadline);
      else this.#endAtDeadline(stream);
    }
    return next;
  }

  #endAtDeadline(stream: Stream): void {
    const { service, outbound } = this.#host;
    const { index } = (stream.head as Head).method;
    if (stream.waiting === null) service.calls.options.metrics.answered(index, GrpcStatus.DEADLINE_EXCEEDED);
    else stream.waiting.leave(GrpcStatus.DEADLINE_EXCEEDED);
    stream.waiting = null;
    outbound.fail(stream, {
      code: GrpcStatus.DEADLINE_EXCEEDED,
      details: 'Deadline exceeded',
      metadata: NO_METADATA,
    });
    this.#answered(stream);
  }

  /** The client grants more on a stream that is answered here. */
  grant(stream: Stream, increment: number): void {
    stream.extraWindow += increment;
    if (stream.extraWindow + this.#host.outbound.initialWindow > MAX_WINDOW) {
      this.reset(stream, ErrorCode.FLOW_CONTROL_ERROR);
    }
  }

  /** Whether a new initial window keeps the windows of all streams within the limit of the protocol. */
  allowInitialWindow(size: number): boolean {
    for (const { phase, extraWindow } of this.#open.values()) {
      if (phase !== Phase.PASSED && extraWindow + size > MAX_WINDOW) return false;
    }
    return true;
  }

  /** The client has reset the stream. */
  resetByClient(stream: Stream, errorCode: number, now: number): void {
    if (stream.phase === Phase.PASSED) this.passing.reset(stream, errorCode);
    stream.waiting?.leave(isLate(stream, now) ? GrpcStatus.DEADLINE_EXCEEDED : CANCELLED);
    this.#left.add(stream.id);
    this.#close(stream);
  }

  /** Resets a stream from here. */
  reset(stream: Stream, errorCode: number): void {
    if (stream.phase === Phase.PASSED) this.passing.reset(stream, errorCode);
    stream.waiting?.leave(CANCELLED);
    this.#endByReset(stream, errorCode);
  }

  /** Refuses a stream that was never opened here. */
  refuse(id: number, errorCode: number): void {
    this.#sendReset(id, errorCode);
    this.#host.countReset();
  }

  #sendReset(id: number, errorCode: number): void {
    this.#host.outbound.frames(rstStreamFrame(id, errorCode));
    this.#reset.add(id);
  }

  /** The connection has ended. */
  endAll(): void {
    for (const stream of this.#open.values()) stream.waiting?.leave(CANCELLED);
    this.#open.clear();
  }

  #passLargest(): void {
    let largest: Stream | undefined;
    for (const stream of this.#open.values()) {
      if (stream.body !== null && stream.bodyLength > (largest?.bodyLength ?? 0)) largest = stream;
    }
    if (largest !== undefined) this.#pass(largest);
  }

  /** It was received within the client's window and not granted again: grpc-js does that now. */
  #pass(stream: Stream): void {
    this.#host.spend(PASS_COST);
    this.#held -= stream.bodyLength;
    this.passing.pass(stream);
  }

  #endByReset(stream: Stream, errorCode: number): void {
    this.#sendReset(stream.id, errorCode);
    this.#close(stream);
    if (errorCode !== ErrorCode.NO_ERROR) this.#host.countReset();
  }

  #finish(stream: Stream): void {
    if (stream.clientEnded && stream.serverEnded && stream.outbox === null) this.#close(stream);
  }

  #close(stream: Stream): void {
    if (!this.#open.delete(stream)) return;
    if (stream.bodyLength > 0) this.#release(stream);
    const dropped = stream.outbox === null ? 0 : this.#host.outbound.drop(stream);
    if (stream.phase === Phase.PASSED) this.passing.close(stream, dropped);
    if (this.#open.size === 0) this.#host.idle();
  }
}
