/** Streams that grpc-js answers: what the client sends of them goes there, and what it sends back goes to the client. */

import type { Behind } from './behind.ts';
import { Flag, Frame, MAX_PAYLOAD, rstStreamFrame, windowUpdateFrame } from './frames.ts';
import { headersFrames } from './headers-frames.ts';
import { encodeHeaders, type HeaderList } from './hpack.ts';
import type { Outbound } from './outbound.ts';
import { RepeatedHeaders } from './repeated-headers.ts';
import { Phase, type Stream } from './stream.ts';

/** The connection, as its passed streams need it. */
export interface PassingHost {
  readonly outbound: Outbound;
  /** Made when it is first needed. */
  behind(): Behind;
  /** The server has ended the stream. */
  finish(stream: Stream): void;
  /** grpc-js has reset the stream. Throws ConnectionFault when that happens too often. */
  resetBehind(stream: Stream, errorCode: number): void;
}

export class Passing {
  readonly #host: PassingHost;
  /** By their number behind the front, until the client has left. */
  readonly #passed = new Map<number, Stream>();
  readonly #headers = new RepeatedHeaders();

  constructor(host: PassingHost) {
    this.#host = host;
  }

  /** Passes a stream on, with what was received of it. */
  pass(stream: Stream): void {
    const behind = this.#host.behind();
    const { list, body, bodyLength, clientEnded } = stream;
    const id = behind.open();
    stream.phase = Phase.PASSED;
    stream.behindId = id;
    this.#passed.set(id, stream);
    const ends = clientEnded && body === null;
    this.#writeHeaders(id, this.#headers.encode(list), ends);
    if (stream.extraWindow > 0) behind.write(windowUpdateFrame(id, stream.extraWindow));
    // From here on grpc-js keeps the window of the stream.
    stream.extraWindow = Number.POSITIVE_INFINITY;
    if (body === null) return;
    stream.body = null;
    stream.bodyLength = 0;
    for (let at = 0; at < bodyLength || at === 0; at += MAX_PAYLOAD) {
      const end = Math.min(bodyLength, at + MAX_PAYLOAD);
      this.data(stream, body, at, end, clientEnded && end === bodyLength);
    }
  }

  data(stream: Stream, bytes: Buffer, start: number, end: number, endStream: boolean): void {
    const flags = endStream ? Flag.END_STREAM : Flag.NONE;
    this.#host.behind().writeFrame(Frame.DATA, flags, stream.behindId, bytes, start, end);
  }

  trailers(stream: Stream, { names, values }: HeaderList): void {
    this.#writeHeaders(stream.behindId, encodeHeaders(names, values), true);
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
    this.#host.behind().write(rstStreamFrame(stream.behindId, errorCode));
  }

  grant(stream: Stream, increment: number): void {
    this.#host.behind().write(windowUpdateFrame(stream.behindId, increment));
  }

  /** The stream is closed; `dropped` bytes of its answer were never sent. */
  close(stream: Stream, dropped: number): void {
    this.#passed.delete(stream.behindId);
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

  onWindowUpdate(behindId: number, increment: number): void {
    const stream = this.#passed.get(behindId);
    if (behindId === 0) this.#host.outbound.grant(increment);
    else if (stream !== undefined) this.#host.outbound.frames(windowUpdateFrame(stream.id, increment));
  }

  #ends(stream: Stream): void {
    stream.serverEnded = true;
    this.#host.finish(stream);
  }
}
