/**
 * The streams of a connection. A caller is admitted by the headers, before a byte of a message is kept. The front answers a stream
 * when everything about it is usual: known headers, one whole message, nothing compressed. Every other one is passed on to grpc-js
 * once its message is whole.
 */

import { Admitting } from './admitting.ts';
import { Code } from './codes.ts';
import { Collecting } from './collecting.ts';
import { ErrorCode, INITIAL_WINDOW, MAX_WINDOW, NOTHING, rstStreamFrame } from './frames.ts';
import type { Caller, Head } from './head.ts';
import type { ReadBlock } from './head-reader.ts';
import type { Host } from './host.ts';
import { type HeaderList, sizeOfList } from './hpack.ts';
import { Late } from './late.ts';
import { isMessage, PREFIX } from './message.ts';
import { OpenStreams } from './open-streams.ts';
import { areTrailers, contentLengthOf, Verdict } from './other-calls.ts';
import { Passing } from './passing.ts';
import { RecentIds } from './recent-ids.ts';
import { RefusedCall } from './refused-call.ts';
import { NOBODY, Refusing } from './refusing.ts';
import type { Callers, Carrier, Status } from './service.ts';
import { isLate, NO_HEADERS, Phase, Stream } from './stream.ts';
import { StreamReply } from './stream-reply.ts';

const { OK } = Code;
/** Open streams of a connection, as grpc-js has them. */
export const MAX_STREAMS = 256;
/** In bytes read: what grpc-js does with a call, twenty times what the front does. */
const PASS_COST = 1024;
/** What a call keeps at grpc-js, beside its headers. */
const PASSED_WEIGHT = 8192;

export class Streams implements Callers {
  readonly #host: Host;
  readonly #open = new OpenStreams();
  readonly #collecting: Collecting;
  readonly #refusing: Refusing;
  readonly #admitting: Admitting;
  readonly #late: Late;
  passing: Passing;
  readonly #reset = new RecentIds();
  /** Reset by the client. */
  readonly #left = new RecentIds();
  /** What open calls of methods that are open to everybody keep. */
  #weight = 0;

  constructor(host: Host) {
    this.#host = host;
    this.passing = this.#makePassing();
    const { service, outbound, unfinished } = host;
    // Nothing more of it is read: its client may stop sending (RFC 9113, 8.1). A stranger's keeps its place, so that they come no quicker.
    const refused = (stream: Stream): void =>
      this.#answered(stream, host.room === Number.POSITIVE_INFINITY ? Phase.REFUSED : Phase.ANSWERED);
    const answered = (stream: Stream): void => this.#answered(stream, Phase.ANSWERED);
    this.#refusing = new Refusing({ service, outbound, spend: (bytes) => host.spend(bytes), refused, answered });
    this.#admitting = new Admitting(host, this.#refusing);
    this.#late = new Late({
      service,
      outbound,
      refused,
      refuse: (stream, error) => this.#refusing.refuse(stream, error, stream.head?.caller ?? NOBODY),
      reset: (stream, errorCode) => this.reset(stream, errorCode),
    });
    this.#collecting = new Collecting({
      outbound,
      unfinished,
      mostBytes: service.mostBytes,
      complete: (stream) => this.#complete(stream),
      pass: (stream) => this.#pass(stream),
      passMore: (stream, bytes, end) => {
        host.spend(PASS_COST);
        this.passing.data(stream, bytes, 0, end, stream.clientEnded);
      },
    });
  }

  #makePassing(): Passing {
    const host = this.#host;
    return new Passing({
      outbound: host.outbound,
      behind: () => host.behind(),
      finish: (stream) => this.#finish(stream),
      resetBehind: (stream, errorCode) => this.#endByReset(stream, errorCode),
      grantAgain: (stream, bytes) => this.#collecting.grantMore(stream, bytes),
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Bytes of memory, about, for a caller that has shown no right. */
  get weight(): number {
    return this.#weight + this.#host.unfinished.held;
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

  open(id: number, { head, verdict, passed, list }: ReadBlock, endStream: boolean): void {
    const timeoutMs = head === null ? Number.POSITIVE_INFINITY : head.timeoutMs;
    // The clock is read only where a deadline counts from it.
    const deadline = timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : this.#host.now() + timeoutMs;
    const entrance = head === null ? (passed?.entrance ?? null) : head.method;
    const stream = new Stream(id, head, entrance, list, deadline);
    this.#open.add(stream);
    stream.clientEnded = endStream;
    if (entrance === null) {
      this.#openOther(stream, verdict);
      return;
    }
    if (entrance.authorize === null) {
      if (!this.#weigh(stream)) return;
    } else if (!this.#admitting.admits(stream, entrance.authorize, (head ?? passed)?.caller as Caller)) return;
    stream.expected = head === null ? contentLengthOf(list) : head.contentLength;
    if (endStream && stream.expected > 0) this.reset(stream, ErrorCode.PROTOCOL_ERROR);
    // A call without a message is for grpc-js to refuse.
    else if (endStream) this.#pass(stream);
    // Also of a call whose message never comes. Nearly always a timer for an earlier deadline is there already.
    else if (deadline !== Number.POSITIVE_INFINITY) this.#host.watchDeadline(deadline);
  }

  /** A call of a method that is open to everybody. */
  #weigh(stream: Stream): boolean {
    const weight = PASSED_WEIGHT + sizeOfList(stream.list);
    if (weight > this.#host.room) {
      this.#refuseBytes(stream, new RefusedCall('open calls'));
      return false;
    }
    stream.weight = weight;
    this.#weight += weight;
    return true;
  }

  /** One that no method answers. */
  #openOther(stream: Stream, verdict: Verdict): void {
    if (verdict === Verdict.UNREADABLE) this.#refusing.unreadable(stream);
    else if (verdict === Verdict.UNIMPLEMENTED) this.#refusing.unimplemented(stream);
    else {
      stream.expected = contentLengthOf(stream.list);
      const cannotCount = stream.expected < 0 || stream.expected > INITIAL_WINDOW || stream.clientEnded;
      if (cannotCount) this.#refusing.notGrpc(stream);
      else {
        stream.phase = Phase.COUNTING;
        stream.list = NO_HEADERS;
      }
    }
  }

  #refuseBytes(stream: Stream, error: RefusedCall): void {
    this.#host.service.refused.count('bytes');
    // What grpc-js has begun to answer has its headers already.
    if (stream.phase === Phase.PASSED) this.reset(stream, ErrorCode.ENHANCE_YOUR_CALM);
    else if (error.reason === 'too long') this.#refusing.tooLong(stream, error.message);
    else this.#refusing.refuse(stream, error, stream.head?.caller ?? NOBODY);
  }

  /** Every frame of the answer is sent, or waits for room. */
  #answered(stream: Stream, phase: typeof Phase.ANSWERED | typeof Phase.REFUSED): void {
    stream.phase = phase;
    stream.serverEnded = true;
    stream.expected = -1;
    stream.list = NO_HEADERS;
    this.#collecting.release(stream);
    this.#finish(stream);
  }

  /** Trailers of the client, which no client of a unary method sends. */
  trailers(stream: Stream, list: HeaderList): void {
    if (areTrailers(list)) this.data(stream, NOTHING, 0, 0, 0, true);
    else this.reset(stream, ErrorCode.PROTOCOL_ERROR);
  }

  /** Data of an open stream that the client has not ended; `length` is that of the whole payload, with padding. */
  data(stream: Stream, bytes: Buffer, start: number, end: number, length: number, endStream: boolean): void {
    this.#host.outbound.credit(length);
    stream.clientEnded = endStream;
    stream.receiveWindow -= length;
    if (stream.receiveWindow < 0) {
      this.reset(stream, ErrorCode.FLOW_CONTROL_ERROR);
      return;
    }
    if (stream.expected >= 0 && !this.#isExpected(stream, end - start)) return;
    if (stream.phase === Phase.COLLECTING) {
      // The usual case: the message lies whole in the chunk that was read.
      if (endStream && stream.body === null && stream.head !== null && isMessage(bytes, start, end)) {
        this.#answer(stream, bytes.subarray(start + PREFIX, end));
      } else this.#collect(stream, bytes, start, end);
    } else if (stream.phase === Phase.PASSED) {
      if (stream.entrance?.many === true) this.#collect(stream, bytes, start, end);
      else this.passing.data(stream, bytes, start, end, endStream);
      this.#finish(stream);
    } else if (stream.phase === Phase.COUNTING && endStream) this.#refusing.notGrpc(stream);
    else this.#finish(stream);
  }

  /** A body must be as long as its call declared (RFC 9113 section 8.1.1). */
  #isExpected(stream: Stream, length: number): boolean {
    stream.expected -= length;
    if (stream.expected === 0 || (stream.expected > 0 && !stream.clientEnded)) return true;
    this.reset(stream, ErrorCode.PROTOCOL_ERROR);
    return false;
  }

  #collect(stream: Stream, bytes: Buffer, start: number, end: number): void {
    try {
      this.#collecting.collect(stream, bytes, start, end);
    } catch (error) {
      if (!(error instanceof RefusedCall)) throw error;
      this.#refuseBytes(stream, error);
    }
  }

  #complete(stream: Stream): void {
    const body = (stream.body ?? NOTHING).subarray(0, stream.bodyLength);
    if (stream.head === null || !isMessage(body, 0, body.length)) {
      this.#pass(stream);
      return;
    }
    this.#collecting.release(stream);
    this.#answer(stream, body.subarray(PREFIX));
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
    const { metrics, traces } = service.calls.options;
    let answer: Buffer | Promise<Buffer>;
    try {
      // The message may have come long after the headers: the key may be gone. A narrowed one is compared with the message.
      if (caller.admission?.(message) !== true) {
        if (!this.#admitting.admits(stream, method.authorize, caller)) return;
        caller.admission?.(message);
      }
      if (traces !== null) traces.begins(index, this, stream.id, head.traceparent);
      answer = handle(message);
    } catch (error) {
      const span = traces === null ? null : traces.answered();
      const status = service.errors.failure(error, index, caller.requestId, span);
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

  failLate(stream: Stream, status: Status): void {
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
    return this.#late.endLate(this.#open.values(), now);
  }

  /** Ends what has waited for the rest of a message for longer than `most` milliseconds. */
  endUnfinished(now: number, most: number): void {
    this.#late.endUnfinished(this.#open.values(), now, most);
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
    stream.waiting?.leave(isLate(stream, now) ? Code.DEADLINE_EXCEEDED : Code.CANCELLED);
    this.#left.add(stream.id);
    this.#close(stream);
  }

  /** Resets a stream from here. */
  reset(stream: Stream, errorCode: number): void {
    if (stream.phase === Phase.PASSED) this.passing.reset(stream, errorCode);
    stream.waiting?.leave(Code.CANCELLED);
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
    for (const stream of this.#open.values()) stream.waiting?.leave(Code.CANCELLED);
    this.#open.clear();
  }

  /** grpc-js has closed its connection: the calls that it had are over, and the next one gets another. */
  abandon(): void {
    for (const stream of this.#open.values()) {
      if (stream.phase === Phase.PASSED) this.#endByReset(stream, ErrorCode.INTERNAL_ERROR);
    }
    this.passing = this.#makePassing();
  }

  #pass(stream: Stream): void {
    this.#host.spend(PASS_COST);
    if (stream.body !== null) this.#host.unfinished.take(-stream.body.length);
    this.passing.pass(stream);
  }

  #endByReset(stream: Stream, errorCode: number): void {
    this.#sendReset(stream.id, errorCode);
    this.#close(stream);
    if (errorCode !== ErrorCode.NO_ERROR) this.#host.countReset();
  }

  #finish(stream: Stream): void {
    if (!stream.serverEnded || stream.outbox !== null) return;
    if (stream.clientEnded) this.#close(stream);
    else if (stream.phase === Phase.REFUSED && this.get(stream.id) === stream) {
      this.#endByReset(stream, ErrorCode.NO_ERROR);
    }
  }

  #close(stream: Stream): void {
    if (!this.#open.delete(stream)) return;
    if (stream.body !== null) this.#collecting.release(stream);
    this.#weight -= stream.weight;
    const dropped = stream.outbox === null ? 0 : this.#host.outbound.drop(stream);
    if (stream.passed !== null) this.passing.close(stream, dropped);
    if (this.#open.size === 0) this.#host.idle();
  }
}
