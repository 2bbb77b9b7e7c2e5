/** What is sent to a client: gathered during a turn of the event loop and written at its end, within the client's windows. */

import type { Duplex } from 'node:stream';
import type { FailedStatus } from '../status.ts';
import {
  ConnectionFault,
  ErrorCode,
  Flag,
  FRAME_HEADER,
  Frame,
  frame,
  INITIAL_WINDOW,
  MAX_PAYLOAD,
  putFrameHeader,
  putStreamId,
  windowUpdateFrame,
} from './frames.ts';
import { encodeHeaders } from './hpack.ts';
import { PREFIX } from './message.ts';
import type { Pending, Stream } from './stream.ts';

/** The headers of every answer, as grpc-js sends them, and the end of one that succeeded. */
const HEAD = headersFrames(
  0,
  encodeHeaders(
    [':status', 'content-type', 'grpc-accept-encoding', 'grpc-encoding'],
    ['200', 'application/grpc+proto', 'identity,deflate,gzip', 'identity'],
  ),
  Flag.NONE,
);
const TAIL = headersFrames(0, encodeHeaders(['grpc-status', 'grpc-message'], ['0', 'OK']), Flag.END_STREAM);

/** What is gathered before it is written, at least; a turn that sends more writes several times. */
const LEAST = 1024;
const MOST = 32_768;
/** Credit for the whole connection is sent in portions of at least this size. */
const CREDIT = 8192;
/** Answers that wait for a client's window, a connection: the same as `grpc-node.max_session_memory`. */
const MAX_WAITING = 16 * 1024 * 1024;

export class Outbound {
  readonly #socket: Duplex;
  readonly #finished: (stream: Stream) => void;
  readonly #sent: (stream: Stream, bytes: number) => void;
  /** Made anew for each write, since the socket may keep it for as long as the client does not read. */
  #gathered: Buffer = NOTHING;
  #length = 0;
  /** What the next turn will probably send: what the last one did. */
  #expected = LEAST;
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
  /** Streams whose outbox is not empty, in the order in which they get room. */
  readonly #blocked = new Set<Stream>();
  #waitingBytes = 0;

  /**
   * @param finished is told when the last frame of a blocked stream was sent
   * @param sent is told of each piece of a blocked stream's data
   */
  constructor(socket: Duplex, finished: (stream: Stream) => void, sent: (stream: Stream, bytes: number) => void) {
    this.#socket = socket;
    this.#finished = finished;
    this.#sent = sent;
  }

  /** Whether the client reads more slowly than it is answered. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Whole frames that need no window. */
  frames(bytes: Buffer, start = 0, end: number = bytes.length): void {
    const at = this.#reserve(end - start);
    bytes.copy(this.#gathered, at, start, end);
  }

  /** The answer of a call that succeeded. Returns whether it was sent whole; else `finished` is called later. */
  answer(stream: Stream, message: Buffer): boolean {
    const size = PREFIX + message.length;
    if (size > this.window || size > this.initialWindow + stream.extraWindow || size > MAX_PAYLOAD) {
      this.#answerLater(stream, message);
      return stream.outbox === null;
    }
    this.window -= size;
    const { id } = stream;
    const start = this.#reserve(HEAD.length + FRAME_HEADER + size + TAIL.length);
    const bytes = this.#gathered;
    bytes.set(HEAD, start);
    putStreamId(bytes, start, id);
    let at = start + HEAD.length;
    putFrameHeader(bytes, at, size, Frame.DATA, Flag.NONE, id);
    at = putPrefix(bytes, at + FRAME_HEADER, message.length);
    bytes.set(message, at);
    at += message.length;
    bytes.set(TAIL, at);
    putStreamId(bytes, at, id);
    return true;
  }

  #answerLater(stream: Stream, message: Buffer): void {
    const bytes = Buffer.allocUnsafe(PREFIX + message.length);
    putPrefix(bytes, 0, message.length);
    bytes.set(message, PREFIX);
    const [head, tail] = [Buffer.from(HEAD), Buffer.from(TAIL)];
    putStreamId(head, 0, stream.id);
    putStreamId(tail, 0, stream.id);
    this.frames(head);
    this.data(stream, bytes, false);
    this.inOrder(stream, tail);
  }

  /** The end of a call that failed, in one block of headers. */
  fail(streamId: number, { code, details, metadata }: FailedStatus): void {
    const names = [':status', 'grpc-status', 'grpc-message', 'content-type'];
    const values = ['200', String(code), encodeURI(details), 'application/grpc+proto'];
    for (const [name, value] of Object.entries(metadata.toHttp2Headers())) {
      for (const one of Array.isArray(value) ? value : [value]) {
        names.push(name);
        values.push(String(one));
      }
    }
    this.frames(headersFrames(streamId, encodeHeaders(names, values), Flag.END_STREAM));
  }

  /** Data of a stream, as far as there is room, the rest when there is. The bytes are kept until then. */
  data(stream: Stream, bytes: Buffer, endStream: boolean): void {
    this.#queue(stream, { bytes, isData: true, endStream });
  }

  /** Whole frames of a stream, behind its data that still waits. */
  inOrder(stream: Stream, bytes: Buffer): void {
    if (stream.outbox === null) this.frames(bytes);
    else this.#queue(stream, { bytes, isData: false, endStream: false });
  }

  #queue(stream: Stream, pending: Pending): void {
    this.#waitingBytes += pending.bytes.length;
    if (stream.outbox === null) {
      stream.outbox = [pending];
      this.#pump(stream);
    } else stream.outbox.push(pending);
    if (this.#waitingBytes > MAX_WAITING) {
      throw new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, 'too many answers wait for the window of the client');
    }
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

  /** Sends what waited, after a window has grown. */
  pumpAll(): void {
    if (this.#blocked.size === 0) return;
    // A copy: a stream that is still without room goes to the end of the set, and would be met again.
    for (const stream of Array.from(this.#blocked)) {
      if (this.window === 0) return;
      this.#pump(stream);
      if (stream.outbox === null) this.#finished(stream);
    }
  }

  #pump(stream: Stream): void {
    const outbox = stream.outbox as Pending[];
    while (outbox.length > 0) {
      const pending = outbox[0] as Pending;
      if (!pending.isData) this.frames(pending.bytes);
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
      const size = Math.min(bytes.length, MAX_PAYLOAD, this.window, this.initialWindow + stream.extraWindow);
      const isLast = size === bytes.length;
      if (size <= 0 && !isLast) return false;
      const at = this.#reserve(FRAME_HEADER + size);
      const flags = isLast && pending.endStream ? Flag.END_STREAM : Flag.NONE;
      putFrameHeader(this.#gathered, at, size, Frame.DATA, flags, stream.id);
      bytes.copy(this.#gathered, at + FRAME_HEADER, 0, size);
      this.window -= size;
      stream.extraWindow -= size;
      this.#sent(stream, size);
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
    if (this.#length + bytes > this.#gathered.length) {
      this.#write();
      this.#gathered = Buffer.allocUnsafe(Math.max(bytes, this.#expected));
    }
    this.#schedule();
    const at = this.#length;
    this.#length += bytes;
    return at;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.#flushLater);
  }

  /** Writes what was gathered. Called at the end of each turn, also by itself. */
  flush(): void {
    if (this.#uncredited >= CREDIT) {
      this.grant(this.#uncredited);
      this.#uncredited = 0;
    }
    this.#write();
  }

  #write(): void {
    if (this.#length === 0) return;
    const bytes = this.#gathered.subarray(0, this.#length);
    this.#expected = Math.min(MOST, Math.max(LEAST, this.#length + (this.#length >>> 2)));
    this.#gathered = NOTHING;
    this.#length = 0;
    if (this.#socket.writable) this.#socket.write(bytes);
  }
}

const NOTHING = Buffer.alloc(0);

function putPrefix(bytes: Buffer, at: number, length: number): number {
  bytes[at] = 0;
  return bytes.writeUInt32BE(length, at + 1);
}

/** A header block as HEADERS and, where it is long, CONTINUATION frames. */
export function headersFrames(streamId: number, block: Buffer, flags: number): Buffer {
  if (block.length <= MAX_PAYLOAD) return frame(Frame.HEADERS, flags | Flag.END_HEADERS, streamId, block);
  const frames: Buffer[] = [];
  for (let at = 0; at < block.length; at += MAX_PAYLOAD) {
    const isLast = at + MAX_PAYLOAD >= block.length;
    const type = at === 0 ? Frame.HEADERS : Frame.CONTINUATION;
    const own = (at === 0 ? flags : 0) | (isLast ? Flag.END_HEADERS : 0);
    frames.push(frame(type, own, streamId, block.subarray(at, at + MAX_PAYLOAD)));
  }
  return Buffer.concat(frames);
}
