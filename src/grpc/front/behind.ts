/**
 * grpc-js behind the front: a connection of its own for each client that needs it, over a duplex in memory. Its frames are read
 * here and handed over; the front writes those of the streams that it passes on.
 */

import { Duplex } from 'node:stream';
import { FrameReader } from './frame-reader.ts';
import { Flag, Frame, frame, PREFACE, SETTINGS_ACK, Setting, settingsFrame, windowUpdateFrame } from './frames.ts';

/** What grpc-js sends, for the client. Streams have the numbers that `open` gave them. */
export interface BehindEvents {
  /** A whole block of headers, which needs no dynamic table. */
  onHeaders(streamId: number, block: Buffer, endStream: boolean): void;
  onData(streamId: number, bytes: Buffer, endStream: boolean): void;
  onReset(streamId: number, errorCode: number): void;
  /** 0 is the connection. */
  onWindowUpdate(streamId: number, increment: number): void;
  /** It has ended the connection; NO_ERROR where it merely takes no new streams. */
  onGoaway(errorCode: number): void;
  onClose(): void;
  /** Whether the client reads more slowly than it is answered; grpc-js waits until `resume`. */
  isFull(): boolean;
}

/** The addresses of the client's socket, which grpc-js tells its handlers. */
export interface Addresses {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/** The socket that grpc-js takes for the client's. */
class Inside extends Duplex {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  readonly #received: (chunk: Buffer, done: () => void) => void;

  constructor(addresses: Addresses, received: (chunk: Buffer, done: () => void) => void) {
    super();
    this.remoteAddress = addresses.remoteAddress;
    this.remotePort = addresses.remotePort;
    this.localAddress = addresses.localAddress;
    this.localPort = addresses.localPort;
    this.#received = received;
  }

  override _read(): void {
    // Everything is pushed as it arrives: the windows of grpc-js's own streams bound it.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#received(chunk, done);
  }

  override _final(done: () => void): void {
    done();
    this.destroy();
  }
}

/** Its headers are forwarded as they are, so it must not use a table: the client's belongs to the front's own answers. */
const NO_TABLE = [Setting.HEADER_TABLE_SIZE, 0] as const;

interface OpenHeaders {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly pieces: Buffer[];
}

export class Behind {
  readonly #inside: Inside;
  readonly #events: BehindEvents;
  readonly #reader: FrameReader;
  #waiting: (() => void) | undefined;
  /** Headers whose CONTINUATION frames have not all come. */
  #headers: OpenHeaders | null = null;
  #credit = 0;
  #lastStream = -1;
  #ended = false;

  /** @param inject hands a connection over to grpc-js */
  constructor(inject: (connection: Duplex) => void, addresses: Addresses, initialWindow: number, events: BehindEvents) {
    this.#events = events;
    this.#reader = new FrameReader((type, flags, id, bytes, start, end) => {
      this.#onFrame(type, flags, id, bytes.subarray(start, end));
    });
    this.#inside = new Inside(addresses, (chunk, done) => {
      this.#reader.read(chunk);
      this.#sendCredit();
      if (events.isFull()) this.#waiting = done;
      else done();
    });
    // grpc-js ends sessions by errors of its own; what matters of them comes as frames, and by the close.
    this.#inside.on('error', () => {});
    this.#inside.once('close', () => events.onClose());
    inject(this.#inside);
    this.write(PREFACE);
    this.write(settingsFrame([NO_TABLE, [Setting.INITIAL_WINDOW_SIZE, initialWindow]]));
  }

  /** The number of a new stream. Not the client's: streams come here in another order than the client opened them. */
  open(): number {
    this.#lastStream += 2;
    return this.#lastStream;
  }

  /** Whole frames of the client. The bytes are kept. */
  write(frames: Buffer): void {
    if (!this.#ended && !this.#inside.destroyed) this.#inside.push(frames);
  }

  /** The client's SETTINGS_INITIAL_WINDOW_SIZE has changed. */
  setInitialWindow(size: number): void {
    this.write(settingsFrame([[Setting.INITIAL_WINDOW_SIZE, size]]));
  }

  /** Grants as much more for the connection: the client has taken it, or will never need it. */
  credit(bytes: number): void {
    if (this.#credit === 0) process.nextTick(() => this.#sendCredit());
    this.#credit += bytes;
  }

  /** The client reads again. */
  resume(): void {
    const done = this.#waiting;
    this.#waiting = undefined;
    done?.();
  }

  /**
   * Ends the connection as a client does that hangs up. Not at once: node:http2 announces streams in the next tick, and grpc-js
   * would answer one that no longer exists, which throws where nobody catches it.
   */
  end(): void {
    this.#ended = true;
    this.#reader.stop();
    this.#inside.push(null);
    setImmediate(() => this.#inside.destroy());
  }

  #sendCredit(): void {
    if (this.#credit === 0) return;
    this.write(windowUpdateFrame(0, this.#credit));
    this.#credit = 0;
  }

  #onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    switch (type) {
      case Frame.HEADERS:
      case Frame.CONTINUATION:
        this.#onHeaders(type, flags, streamId, payload);
        return;
      case Frame.DATA:
        this.#events.onData(streamId, Buffer.from(payload), (flags & Flag.END_STREAM) !== 0);
        return;
      case Frame.RST_STREAM:
        this.#events.onReset(streamId, payload.readUInt32BE());
        return;
      case Frame.WINDOW_UPDATE:
        this.#events.onWindowUpdate(streamId, payload.readUInt32BE());
        return;
      case Frame.SETTINGS:
        if ((flags & Flag.ACK) === 0) this.write(SETTINGS_ACK);
        return;
      case Frame.PING:
        if ((flags & Flag.ACK) === 0) this.write(frame(Frame.PING, Flag.ACK, 0, payload));
        return;
      case Frame.GOAWAY:
        this.#events.onGoaway(payload.readUInt32BE(4));
        return;
      default:
        // Nothing else is of use to the client: ALTSVC and ORIGIN belong to browsers, and there is no PRIORITY of a server.
        return;
    }
  }

  #onHeaders(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === Frame.HEADERS) {
      this.#headers = { streamId, endStream: (flags & Flag.END_STREAM) !== 0, pieces: [] };
    }
    const { pieces, endStream } = this.#headers as OpenHeaders;
    pieces.push(pieces.length === 0 ? withoutTableSize(payload) : payload);
    if ((flags & Flag.END_HEADERS) === 0) return;
    this.#headers = null;
    this.#events.onHeaders(streamId, Buffer.concat(pieces), endStream);
  }
}

/** Without the announcement that the table is empty, which would empty the client's. */
function withoutTableSize(block: Buffer): Buffer {
  return ((block[0] ?? 0) & 0xe0) === 0x20 ? block.subarray(1) : block;
}
