/** Messages that come in pieces, or that the front does not answer: they are kept until they are whole. */

import { NOTHING, windowUpdateFrame } from './frames.ts';
import { checkMessageSize, PREFIX, sizeOfFirst } from './message.ts';
import type { Outbound } from './outbound.ts';
import { Phase, type Stream } from './stream.ts';
import type { UnfinishedShare } from './unfinished.ts';

/** The first piece of a message that comes in several. */
const LEAST_BODY = 512;

export interface CollectingHost {
  readonly outbound: Outbound;
  readonly unfinished: UnfinishedShare;
  /** Of a message. */
  readonly mostBytes: number;
  /** The client has ended its side. */
  complete(stream: Stream): void;
  /** Hands the stream over to grpc-js, with its body. */
  pass(stream: Stream): void;
  /** Hands further messages over, which lie there only during the call. */
  passMore(stream: Stream, bytes: Buffer, end: number): void;
}

export class Collecting {
  readonly #host: CollectingHost;

  constructor(host: CollectingHost) {
    this.#host = host;
  }

  /** Takes data of a client. Throws RefusedCall. */
  collect(stream: Stream, bytes: Buffer, start: number, end: number): void {
    this.#keep(stream, bytes, start, end);
    if (stream.entrance?.many === true) this.#passMessages(stream);
    else if (stream.clientEnded) this.#host.complete(stream);
    // A second message is for grpc-js to refuse.
    else if (stream.bodyLength > Math.max(PREFIX, sizeOf(stream))) this.#host.pass(stream);
  }

  #keep(stream: Stream, bytes: Buffer, start: number, end: number): void {
    if (start === end) return;
    const needed = stream.bodyLength + end - start;
    const room = stream.body?.length ?? 0;
    if (needed > room) {
      const more = Math.max(needed, 2 * room, LEAST_BODY);
      this.#host.unfinished.take(more - room);
      const body = Buffer.allocUnsafeSlow(more);
      stream.body?.copy(body, 0, 0, stream.bodyLength);
      stream.body = body;
    }
    bytes.copy(stream.body as Buffer, stream.bodyLength, start, end);
    stream.bodyLength = needed;
    const size = sizeOf(stream);
    if (size < 0 || stream.entrance === null) return;
    checkMessageSize(size, stream.entrance, this.#host.mostBytes);
    const missing = size - needed - stream.receiveWindow;
    if (missing > 0 && !stream.clientEnded) this.grantMore(stream, missing);
  }

  /** The client may send more on a stream. */
  grantMore(stream: Stream, bytes: number): void {
    if (stream.clientEnded) return;
    stream.receiveWindow += bytes;
    this.#host.outbound.frames(windowUpdateFrame(stream.id, bytes));
  }

  /** Of a stream of several messages grpc-js gets those that are whole. */
  #passMessages(stream: Stream): void {
    const { body, bodyLength, clientEnded } = stream;
    let at = 0;
    for (let size = 0; body !== null && size >= 0 && at + size <= bodyLength; ) {
      at += size;
      size = sizeOfFirst(body, at, bodyLength);
    }
    if (clientEnded) at = bodyLength;
    else if (at === 0) return;
    const rest = (body ?? NOTHING).subarray(at, bodyLength);
    if (stream.phase === Phase.COLLECTING) {
      stream.bodyLength = at;
      this.#host.pass(stream);
    } else {
      this.release(stream);
      this.#host.passMore(stream, body ?? NOTHING, at);
    }
    this.#keep(stream, rest, 0, rest.length);
  }

  /** What was kept is no longer unfinished. */
  release(stream: Stream): void {
    if (stream.body !== null) this.#host.unfinished.take(-stream.body.length);
    stream.body = null;
    stream.bodyLength = 0;
  }
}

/** Bytes of the message that has begun, with its prefix; -1 until that is there. */
function sizeOf({ body, bodyLength }: Stream): number {
  return body === null ? -1 : sizeOfFirst(body, 0, bodyLength);
}
