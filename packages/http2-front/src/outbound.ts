/** What is sent to a client: gathered during a turn of the event loop and written at its end, within the client's windows. */

import type { Duplex } from 'node:stream';
import { type AnswerFrames, FIRST, PLAIN_HEADERS, PLAIN_TRAILERS, REPEATED } from './answer-frames.ts';
import {
  ConnectionFault,
  ErrorCode,
  Flag,
  FRAME_HEADER,
  Frame,
  INITIAL_WINDOW,
  MAX_PAYLOAD,
  MAX_WINDOW,
  putFrameHeader,
  putStreamId,
  windowUpdateFrame,
} from './frames.ts';
import { Gathered } from './gathered.ts';
import { headersFrames } from './headers-frames.ts';
import { EMPTY_TABLE, encodeHeaders } from './hpack.ts';
import { PREFIX } from './message.ts';
import type { Status } from './service.ts';
import type { Pending, Stream } from './stream.ts';

/** Credit for the whole connection is sent in portions of at least this size. */
const CREDIT = 8192;
/** Answers that wait for a client's window, a connection: the same as `grpc-node.max_session_memory`. */
const MAX_WAITING = 16 * 1024 * 1024;
const NONE: readonly Stream[] = [];

export class Outbound {
  readonly #socket: Duplex;
  readonly #finished: (stream: Stream) => void;
  readonly #sent: (stream: Stream, bytes: number) => void;
  readonly #gathered: Gathered;
  /** During a read, whose end flushes. */
  #reading = false;
  #scheduled = false;
  readonly #flushLater = () => {
    this.#scheduled = false;
    this.flush();
  };
  /** What the client has granted: for the connection, and for each stream from its beginning. */
  window = INITIAL_WINDOW;
  initialWindow = INITIAL_WINDOW;
  /** What the client may still send on the connection. */
  receiveWindow = INITIAL_WINDOW;
  /** Received and read, but not granted again. */
  #uncredited = 0;
  /** Null for a client whose table is smaller than usual. */
  #answerFrames: AnswerFrames | null = FIRST;
  /** Streams whose outbox is not empty, in the order in which they get room. */
  readonly #blocked = new Set<Stream>();
  #waitingBytes = 0;

  /**
   * @param finished is told when the last frame of a blocked stream was sent
   * @param sent is told of each piece of a blocked stream's data
   */
  constructor(socket: Duplex, finished: (stream: Stream) => void, sent: (stream: Stream, bytes: number) => void) {
    this.#socket = socket;
    this.#gathered = new Gathered((bytes) => {
      if (socket.writable) socket.write(bytes);
    });
    this.#finished = finished;
    this.#sent = sent;
  }

  /** Whether the client reads more slowly than it is answered. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Bytes that wait for a client which does not read them, or grants no window. */
  get held(): number {
    return this.#waitingBytes + this.#socket.writableLength;
  }

  /** The client has made its table of headers smaller: every block says from now on that the table is empty (RFC 7541 section 4.2). */
  forgetTable(): void {
    this.#answerFrames = null;
  }

  /** Whole frames that need no window. */
  frames(bytes: Buffer, start = 0, end: number = bytes.length): void {
    const at = this.#reserve(end - start);
    bytes.copy(this.#gathered.bytes, at, start, end);
  }

  /** The answer of a call that succeeded. Returns whether it was sent whole; else `finished` is called later. */
  answer(stream: Stream, message: Buffer): boolean {
    const size = PREFIX + message.length;
    const frames = this.#answerFrames;
    if (size > this.#room(stream) || frames === null) {
      this.#answerInPieces(stream, message);
      return stream.outbox === null;
    }
    this.window -= size;
    const { id } = stream;
    const { head, tail } = frames;
    if (frames === FIRST) this.#answerFrames = REPEATED;
    const start = this.#reserve(head.length + FRAME_HEADER + size + tail.length);
    const { bytes } = this.#gathered;
    bytes.set(head, start);
    putStreamId(bytes, start, id);
    let at = start + head.length;
    putFrameHeader(bytes, at, size, Frame.DATA, Flag.NONE, id);
    at = putPrefix(bytes, at + FRAME_HEADER, message.length);
    bytes.set(message, at);
    at += message.length;
    bytes.set(tail, at);
    putStreamId(bytes, at, id);
    return true;
  }

  #answerInPieces(stream: Stream, message: Buffer): void {
    const bytes = Buffer.allocUnsafe(PREFIX + message.length);
    putPrefix(bytes, 0, message.length);
    bytes.set(message, PREFIX);
    this.headers(stream, PLAIN_HEADERS, false);
    this.data(stream, bytes, false);
    this.headers(stream, PLAIN_TRAILERS, true);
  }

  /** The end of a call that failed, in one block of headers. */
  fail(stream: Stream, { code, details, metadata }: Status): void {
    const names = [':status', 'grpc-status', 'grpc-message', 'content-type'];
    const values = ['200', String(code), encodeURI(details), 'application/grpc+proto'];
    for (const [name, value] of Object.entries(metadata.toHttp2Headers())) {
      for (const one of Array.isArray(value) ? value : [value]) {
        names.push(name);
        values.push(String(one));
      }
    }
    this.headers(stream, encodeHeaders(names, values), true);
  }

  /** A block of headers that uses no table, behind the data of its stream that still waits. */
  headers(stream: Stream, block: Buffer, endStream: boolean, start = 0, end: number = block.length): void {
    if (stream.outbox === null) this.#putHeaders(stream.id, block, endStream, start, end);
    else this.#queue(stream, { bytes: Buffer.from(block.subarray(start, end)), isData: false, endStream });
  }

  #putHeaders(streamId: number, bytes: Buffer, endStream: boolean, start: number, end: number): void {
    const flags = endStream ? Flag.END_STREAM : Flag.NONE;
    if (this.#answerFrames === null || end - start > MAX_PAYLOAD) {
      const block = bytes.subarray(start, end);
      const whole = this.#answerFrames === null ? Buffer.concat([EMPTY_TABLE, block]) : block;
      this.frames(headersFrames(streamId, whole, flags));
    } else this.#putFrame(Frame.HEADERS, flags | Flag.END_HEADERS, streamId, bytes, start, end);
  }

  #putFrame(type: number, flags: number, streamId: number, payload: Buffer, start: number, end: number): void {
    const at = this.#reserve(FRAME_HEADER + end - start);
    const { bytes } = this.#gathered;
    putFrameHeader(bytes, at, end - start, type, flags, streamId);
    payload.copy(bytes, at + FRAME_HEADER, start, end);
  }

  /** Data of a stream, as far as there is room, the rest when there is: then it is copied. */
  data(stream: Stream, bytes: Buffer, endStream: boolean, start = 0, end: number = bytes.length): void {
    if (stream.outbox !== null || end - start > this.#room(stream)) {
      this.#queue(stream, { bytes: Buffer.from(bytes.subarray(start, end)), isData: true, endStream });
    } else this.#putData(stream, bytes, start, end, endStream);
  }

  /** How much data of a stream may be sent in a frame. */
  #room({ extraWindow }: Stream): number {
    return Math.min(this.window, this.initialWindow + extraWindow, MAX_PAYLOAD);
  }

  #putData(stream: Stream, bytes: Buffer, start: number, end: number, endStream: boolean): void {
    this.#putFrame(Frame.DATA, endStream ? Flag.END_STREAM : Flag.NONE, stream.id, bytes, start, end);
    this.window -= end - start;
    stream.extraWindow -= end - start;
    this.#sent(stream, end - start);
  }

  #queue(stream: Stream, pending: Pending): void {
    // One answer alone may be larger: facts are, and grpc-js lets it be.
    if (this.#waitingBytes > MAX_WAITING) {
      throw new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, 'too many answers wait for the window of the client');
    }
    this.#waitingBytes += pending.bytes.length;
    if (stream.outbox === null) {
      stream.outbox = [pending];
      this.#pump(stream);
    } else stream.outbox.push(pending);
  }

  /** Drops what a stream still had to send. */
  drop(stream: Stream): number {
    let dropped = 0;
    for (const { bytes, isData } of stream.outbox ?? []) {
      this.#waitingBytes -= bytes.length;
      if (isData) dropped += bytes.length;
    }
    stream.outbox = null;
    this.#blocked.delete(stream);
    return dropped;
  }

  /** The client has granted more for the connection. Returns at how many waiting streams it had to look. Throws ConnectionFault. */
  grow(increment: number): number {
    if (increment === 0) throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'WINDOW_UPDATE of nothing');
    this.window += increment;
    if (this.window > MAX_WINDOW) {
      throw new ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, 'a window above 2^31 - 1');
    }
    return this.pumpAll();
  }

  /** Sends what waited, after a window has grown. Returns at how many streams it had to look. */
  pumpAll(): number {
    // A copy: a stream that is still without room goes to the end of the set, and would be met again.
    const waiting = this.#blocked.size === 0 ? NONE : Array.from(this.#blocked);
    for (const stream of waiting) {
      if (this.window === 0) break;
      this.#pump(stream);
      if (stream.outbox === null) this.#finished(stream);
    }
    return waiting.length;
  }

  #pump(stream: Stream): void {
    const outbox = stream.outbox as Pending[];
    while (outbox.length > 0) {
      const pending = outbox[0] as Pending;
      const { bytes, endStream } = pending;
      if (!pending.isData) this.#putHeaders(stream.id, bytes, endStream, 0, bytes.length);
      else if (!this.#pumpData(stream, pending)) {
        // Behind the others that wait, so that each gets its turn.
        this.#blocked.delete(stream);
        this.#blocked.add(stream);
        return;
      }
      this.#waitingBytes -= pending.bytes.length;
      outbox.shift();
    }
    this.#blocked.delete(stream);
    stream.outbox = null;
  }

  /** Returns whether all of it was sent. */
  #pumpData(stream: Stream, pending: Pending): boolean {
    for (;;) {
      const { bytes } = pending;
      const size = Math.min(bytes.length, this.#room(stream));
      const isLast = size === bytes.length;
      if (size <= 0 && !isLast) return false;
      this.#putData(stream, bytes, 0, size, isLast && pending.endStream);
      if (isLast) return true;
      this.#waitingBytes -= size;
      pending.bytes = bytes.subarray(size);
    }
  }

  /** Grants the client as many bytes more for the whole connection, now or with others. */
  credit(bytes: number): void {
    this.#uncredited += bytes;
    if (this.#uncredited >= CREDIT) this.#schedule();
  }

  /** Grants the client as many bytes more for the whole connection, now. */
  grant(bytes: number): void {
    this.receiveWindow += bytes;
    this.frames(windowUpdateFrame(0, bytes));
  }

  #reserve(bytes: number): number {
    this.#schedule();
    return this.#gathered.reserve(bytes);
  }

  #schedule(): void {
    if (this.#scheduled || this.#reading) return;
    this.#scheduled = true;
    process.nextTick(this.#flushLater);
  }

  /** A read begins: what it makes to be sent is written by the `flush` at its end. */
  beginRead(): void {
    this.#reading = true;
  }

  /** Writes what was gathered. Called at the end of each read; outside of one it happens by itself, at the end of the turn. */
  flush(): void {
    if (this.#uncredited >= CREDIT) {
      this.grant(this.#uncredited);
      this.#uncredited = 0;
    }
    this.#reading = false;
    this.#gathered.send();
  }
}

function putPrefix(bytes: Buffer, at: number, length: number): number {
  bytes[at] = 0;
  return bytes.writeUInt32BE(length, at + 1);
}
