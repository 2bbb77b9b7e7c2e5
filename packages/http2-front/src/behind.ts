/**
 * grpc-js behind the front: a connection of its own for each client that needs it, over a duplex in memory. Its frames are read
 * here and handed over; the front writes those of the streams that it passes on.
 */

import { Duplex } from 'node:stream';
import { FrameReader } from './frame-reader.ts';
import {
  Flag,
  FRAME_HEADER,
  Frame,
  PREFACE,
  putFrameHeader,
  SETTINGS_ACK,
  Setting,
  settingsFrame,
  windowUpdateFrame,
} from './frames.ts';
import { Gathered } from './gathered.ts';
import { type ClientSettings, readSettings } from './settings.ts';

/** What grpc-js sends, for the client. Streams have the numbers that `open` gave them. The bytes lie there only during the call. */
export interface BehindEvents {
  /** A whole block of headers, which needs no dynamic table. */
  onHeaders(streamId: number, bytes: Buffer, start: number, end: number, endStream: boolean): void;
  onData(streamId: number, bytes: Buffer, start: number, end: number, endStream: boolean): void;
  onReset(streamId: number, errorCode: number): void;
  /** 0 is the connection. */
  onWindowUpdate(streamId: number, increment: number): void;
  /** Room for each stream from its beginning. */
  onInitialWindow(size: number): void;
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
  readonly #received: (chunks: readonly Buffer[], done: () => void) => void;

  constructor(addresses: Addresses, received: (chunks: readonly Buffer[], done: () => void) => void) {
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
    this.#received([chunk], done);
  }

  /** node:http2 writes the pieces of many frames at once. */
  override _writev(pieces: readonly { chunk: Buffer }[], done: () => void): void {
    this.#received(
      pieces.map(({ chunk }) => chunk),
      done,
    );
  }

  override _final(done: () => void): void {
    done();
    this.destroy();
  }
}

/** Its headers are forwarded as they are, so it must not use a table: the client's belongs to the front's own answers. */
const NO_TABLE = [Setting.HEADER_TABLE_SIZE, 0] as const;

/**
 * Credit for the connection is sent in portions of at least this size. What is held back is far less than the window, so grpc-js
 * can always send.
 */
const CREDIT = 8192;

interface OpenHeaders {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly pieces: Buffer[];
}

export class Behind {
  readonly #inside: Inside;
  readonly #events: BehindEvents;
  readonly #reader: FrameReader;
  /** Frames of the client, pushed together: node:http2 reads each chunk at a cost of its own. */
  readonly #gathered: Gathered;
  #scheduled = false;
  readonly #flushLater = () => {
    this.#scheduled = false;
    this.flush();
  };
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
      this.#onFrame(type, flags, id, bytes, start, end);
    });
    this.#gathered = new Gathered((bytes) => {
      if (!this.#ended && !this.#inside.destroyed) this.#inside.push(bytes);
    });
    this.#inside = new Inside(addresses, (chunks, done) => {
      for (const chunk of chunks) this.#reader.read(chunk);
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

  /** Whole frames of the client. */
  write(frames: Buffer): void {
    const at = this.#reserve(frames.length);
    frames.copy(this.#gathered.bytes, at);
  }

  /** A frame of the bytes between two places. */
  writeFrame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const at = this.#reserve(FRAME_HEADER + end - start);
    putFrameHeader(this.#gathered.bytes, at, end - start, type, flags, streamId);
    bytes.copy(this.#gathered.bytes, at + FRAME_HEADER, start, end);
  }

  #reserve(count: number): number {
    if (!this.#scheduled) {
      this.#scheduled = true;
      process.nextTick(this.#flushLater);
    }
    return this.#gathered.reserve(count);
  }

  /** Hands over what was written. Called at the end of each read; outside of one it happens by itself, at the end of the turn. */
  flush(): void {
    this.#gathered.send();
  }

  /** The client's SETTINGS_INITIAL_WINDOW_SIZE has changed. */
  setInitialWindow(size: number): void {
    this.write(settingsFrame([[Setting.INITIAL_WINDOW_SIZE, size]]));
  }

  /** Grants as much more for the connection: the client has taken it, or will never need it. */
  credit(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit < CREDIT) return;
    this.write(windowUpdateFrame(0, this.#credit));
    this.#credit = 0;
  }

  /** The client reads again. */
  resume(): void {
    const done = this.#waiting;
    this.#waiting = undefined;
    done?.();
  }

  /**
   * Ends the connection. Not at once: node:http2 announces streams in the next tick, and grpc-js would answer one that no longer
   * exists, which throws where nobody catches it. And not by an end of its data: node:http2 then shuts its side while
   * it writes, writes again, and its stream fails an assertion where nobody catches that. What was not handed over is dropped.
   */
  end(): void {
    this.#ended = true;
    this.#reader.stop();
    setImmediate(() => this.#inside.destroy());
  }

  #onFrame(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    switch (type) {
      case Frame.HEADERS:
      case Frame.CONTINUATION:
        this.#onHeaders(type, flags, streamId, bytes, start, end);
        return;
      case Frame.DATA:
        this.#events.onData(streamId, bytes, start, end, (flags & Flag.END_STREAM) !== 0);
        return;
      case Frame.RST_STREAM:
        this.#events.onReset(streamId, bytes.readUInt32BE(start));
        return;
      case Frame.WINDOW_UPDATE:
        this.#events.onWindowUpdate(streamId, bytes.readUInt32BE(start));
        return;
      case Frame.SETTINGS:
        if ((flags & Flag.ACK) !== 0) return;
        this.write(SETTINGS_ACK);
        this.#onSettings(readSettings(bytes.subarray(start, end)));
        return;
      case Frame.PING:
        if ((flags & Flag.ACK) === 0) this.writeFrame(Frame.PING, Flag.ACK, 0, bytes, start, end);
        return;
      case Frame.GOAWAY:
        this.#events.onGoaway(bytes.readUInt32BE(start + 4));
        return;
      default:
        // Nothing else is of use to the client: ALTSVC and ORIGIN belong to browsers, and there is no PRIORITY of a server.
        return;
    }
  }

  #onSettings({ initialWindow }: ClientSettings): void {
    if (initialWindow !== undefined) this.#events.onInitialWindow(initialWindow);
  }

  #onHeaders(type: number, flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    const isWhole = (flags & Flag.END_HEADERS) !== 0;
    if (type === Frame.HEADERS) {
      const endStream = (flags & Flag.END_STREAM) !== 0;
      const first = start + tableSizeBytes(bytes, start, end);
      if (isWhole) this.#events.onHeaders(streamId, bytes, first, end, endStream);
      else this.#headers = { streamId, endStream, pieces: [Buffer.from(bytes.subarray(first, end))] };
      return;
    }
    const { pieces, endStream } = this.#headers as OpenHeaders;
    pieces.push(Buffer.from(bytes.subarray(start, end)));
    if (!isWhole) return;
    this.#headers = null;
    const block = Buffer.concat(pieces);
    this.#events.onHeaders(streamId, block, 0, block.length, endStream);
  }
}

/** How long the announcement at the beginning of a block is that the table is empty: it would empty the client's. */
function tableSizeBytes(bytes: Buffer, start: number, end: number): number {
  return start < end && ((bytes[start] as number) & 0xe0) === 0x20 ? 1 : 0;
}
