/** Streams that grpc-js answers: what the client sends of them goes there, and what it sends back goes to the client. */

import type { Behind } from './behind.ts';
import { Flag, Frame, INITIAL_WINDOW, MAX_PAYLOAD, rstStreamFrame, windowUpdateFrame } from './frames.ts';
import { headersFrames } from './headers-frames.ts';
import type { Outbound } from './outbound.ts';
import { RepeatedHeaders } from './repeated-headers.ts';
import { NO_HEADERS, type Passed, Phase, type Stream } from './stream.ts';

/** Nothing of a piece is left. */
const DONE = -1;

/** The connection, as its passed streams need it. */
export interface PassingHost {
  readonly outbound: Outbound;
  /** Made when it is first needed. */
  behind(): Behind;
  /** The server has ended the stream. */
  finish(stream: Stream): void;
  /** grpc-js has reset the stream. Throws ConnectionFault when that happens too often. */
  resetBehind(stream: Stream, errorCode: number): void;
  /** The client may send as much again on a stream of several messages. */
  grantAgain(stream: Stream, bytes: number): void;
}

export class Passing {
  readonly #host: PassingHost;
  /** By their number behind the front, until the client has left. */
  readonly #passed = new Map<number, Stream>();
  readonly #headers = new RepeatedHeaders();
  /** What grpc-js has room for: over all streams, and for each from its beginning. */
  #window = INITIAL_WINDOW;
  #initialWindow = INITIAL_WINDOW;
  /** Streams whose messages wait for room. */
  readonly #waiting = new Set<Stream>();

  constructor(host: PassingHost) {
    this.#host = host;
  }

  /** Passes a stream on, with what was received of it. */
  pass(stream: Stream): void {
    const behind = this.#host.behind();
    const { list, body, bodyLength, clientEnded } = stream;
    const id = behind.open();
    stream.phase = Phase.PASSED;
    stream.passed = { id, window: this.#initialWindow, inbox: [] };
    this.#passed.set(id, stream);
    this.#writeHeaders(id, this.#headers.encode(list), clientEnded && body === null);
    stream.list = NO_HEADERS;
    if (stream.extraWindow > 0) behind.write(windowUpdateFrame(id, stream.extraWindow));
    // From here on grpc-js keeps the window of the stream.
    stream.extraWindow = Number.POSITIVE_INFINITY;
    if (body === null) return;
    stream.body = null;
    stream.bodyLength = 0;
    this.#give(stream, body, 0, bodyLength, clientEnded, true);
  }

  /** Bytes of a client, which lie there only during the call. */
  data(stream: Stream, bytes: Buffer, start: number, end: number, endStream: boolean): void {
    this.#give(stream, bytes, start, end, endStream, false);
  }

  /** @param isKept whether the bytes stay as they are */
  #give(stream: Stream, bytes: Buffer, start: number, end: number, endStream: boolean, isKept: boolean): void {
    const { inbox } = stream.passed as Passed;
    const at = inbox.length > 0 ? start : this.#write(stream, bytes, start, end, endStream);
    if (at === DONE) return;
    const rest = bytes.subarray(at, end);
    inbox.push({ bytes: isKept ? rest : Buffer.from(rest), endStream });
    this.#waiting.add(stream);
  }

  /** Writes what grpc-js has room for. Returns where the rest begins, or DONE. */
  #write(stream: Stream, bytes: Buffer, start: number, end: number, endStream: boolean): number {
    const passed = stream.passed as Passed;
    const behind = this.#host.behind();
    let at = start;
    do {
      const size = Math.min(end - at, MAX_PAYLOAD, this.#window, passed.window);
      if (size <= 0 && at < end) break;
      const flags = endStream && at + size === end ? Flag.END_STREAM : Flag.NONE;
      behind.writeFrame(Frame.DATA, flags, passed.id, bytes, at, at + size);
      this.#window -= size;
      passed.window -= size;
      at += size;
    } while (at < end);
    if (stream.entrance?.many === true && at > start) this.#host.grantAgain(stream, at - start);
    return at < end ? at : DONE;
  }

  /** Hands over what waited, as far as there is room now. */
  #pump(stream: Stream): void {
    const { inbox } = stream.passed as Passed;
    for (let piece = inbox[0]; piece !== undefined; piece = inbox[0]) {
      const { bytes, endStream } = piece;
      const at = this.#write(stream, bytes, 0, bytes.length, endStream);
      if (at !== DONE) {
        inbox[0] = { bytes: bytes.subarray(at), endStream };
        return;
      }
      inbox.shift();
    }
    this.#waiting.delete(stream);
  }

  #writeHeaders(id: number, block: Buffer, ends: boolean): void {
    const flags = ends ? Flag.END_STREAM : Flag.NONE;
    const { length } = block;
    const behind = this.#host.behind();
    if (length > MAX_PAYLOAD) behind.write(headersFrames(id, block, flags));
    else behind.writeFrame(Frame.HEADERS, flags | Flag.END_HEADERS, id, block, 0, length);
  }

  /** The stream is reset, by the client or from here. */
  reset(stream: Stream, errorCode: number): void {
    this.#host.behind().write(rstStreamFrame((stream.passed as Passed).id, errorCode));
  }

  grant(stream: Stream, increment: number): void {
    this.#host.behind().write(windowUpdateFrame((stream.passed as Passed).id, increment));
  }

  /** The stream is closed; `dropped` bytes of its answer were never sent. */
  close(stream: Stream, dropped: number): void {
    this.#passed.delete((stream.passed as Passed).id);
    this.#waiting.delete(stream);
    if (dropped > 0) this.#host.behind().credit(dropped);
  }

  onHeaders(behindId: number, bytes: Buffer, start: number, end: number, endStream: boolean): void {
    const stream = this.#passed.get(behindId);
    if (stream === undefined) return;
    this.#host.outbound.headers(stream, bytes, endStream, start, end);
    if (endStream) this.#ends(stream);
  }

  onData(behindId: number, bytes: Buffer, start: number, end: number, endStream: boolean): void {
    const stream = this.#passed.get(behindId);
    if (stream === undefined) this.#host.behind().credit(end - start);
    else {
      this.#host.outbound.data(stream, bytes, endStream, start, end);
      if (endStream) this.#ends(stream);
    }
  }

  onReset(behindId: number, errorCode: number): void {
    const stream = this.#passed.get(behindId);
    if (stream !== undefined) this.#host.resetBehind(stream, errorCode);
  }

  /** What grpc-js has room for on each stream, as its SETTINGS say (RFC 9113 section 6.9.2). */
  onInitialWindow(size: number): void {
    for (const { passed } of this.#passed.values()) (passed as Passed).window += size - this.#initialWindow;
    this.#initialWindow = size;
    for (const stream of this.#waiting) this.#pump(stream);
  }

  /** grpc-js has read what it was given; it grants nothing to the client, whose windows are the front's. */
  onWindowUpdate(behindId: number, increment: number): void {
    if (behindId === 0) {
      this.#window += increment;
      for (const stream of this.#waiting) this.#pump(stream);
      return;
    }
    const stream = this.#passed.get(behindId);
    if (stream === undefined) return;
    (stream.passed as Passed).window += increment;
    if (this.#waiting.has(stream)) this.#pump(stream);
  }

  #ends(stream: Stream): void {
    stream.serverEnded = true;
    this.#host.finish(stream);
  }
}
