/** What a client sends, in portions: no connection holds the event loop while others wait. */

import { FrameReader, type OnFrame } from './frame-reader.ts';
import { FRAME_HEADER, NOTHING } from './frames.ts';
import { Preface } from './preface.ts';
import type { ClientSocket } from './service.ts';

/**
 * Bytes of frames that are read of one connection in one turn of the event loop: some 500 checks, or half a millisecond of whatever
 * costs most. node:net alone reads up to 32 times 64 kB of a connection in a turn.
 */
export const TURN_BYTES = 32_768;

/** The connection. */
export interface InboundHost {
  readonly onFrame: OnFrame;
  /** Frames are read between these two. */
  onReadBegin(): void;
  onReadEnd(): void;
  /** What reading a frame has thrown. */
  onFault(error: unknown): void;
  /** The socket takes bytes again. */
  onDrain(): void;
  /** Whether the client reads more slowly than it is answered: nothing is read then. */
  isFull(): boolean;
  /** The client has ended its side, and all that it sent was read. */
  onEnd(): void;
}

export class Inbound {
  readonly #socket: ClientSocket;
  readonly #host: InboundHost;
  readonly #preface = new Preface();
  readonly #reader: FrameReader;
  readonly #portion: number;
  /** What may still be read in this turn. Below zero, it is taken from the portions of the next ones. */
  #left: number;
  #isRenewing = false;
  /** The rest of a chunk. The socket is paused meanwhile, so what comes behind it waits there, or at the client. */
  #held: Buffer = NOTHING;
  #clientEnded = false;
  #stopped = false;

  constructor(socket: ClientSocket, portion: number, host: InboundHost) {
    this.#socket = socket;
    this.#host = host;
    this.#portion = portion;
    this.#left = portion;
    this.#reader = new FrameReader((type, flags, id, bytes, start, end) => {
      this.spend(FRAME_HEADER + end - start);
      host.onFrame(type, flags, id, bytes, start, end);
    });
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('drain', () => {
      host.onDrain();
      this.#goOn();
    });
    // A paused socket without bytes of its own still tells of the end.
    socket.once('end', () => {
      this.#clientEnded = true;
      if (this.#held.length === 0) host.onEnd();
    });
  }

  /** Something costs as much as reading that many bytes. */
  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left <= this.#portion / 2 && !this.#isRenewing) this.#renewLater();
    if (this.#left <= 0) this.#reader.pause();
  }

  /** Nothing is read after this; what still comes is dropped. */
  stop(): void {
    this.#stopped = true;
    this.#reader.stop();
    this.#held = NOTHING;
  }

  get #mustWait(): boolean {
    return this.#stopped || this.#left <= 0 || this.#host.isFull();
  }

  #read(bytes: Buffer): void {
    if (this.#stopped) return;
    this.#host.onReadBegin();
    try {
      this.#held = this.#reader.read(this.#preface.isRead ? bytes : this.#preface.read(bytes));
    } catch (error) {
      this.#host.onFault(error);
    }
    this.#host.onReadEnd();
    if (this.#mustWait && !this.#stopped) this.#socket.pause();
  }

  #renewLater(): void {
    this.#isRenewing = true;
    setImmediate(() => this.#renew());
  }

  #renew(): void {
    this.#isRenewing = false;
    this.#left = Math.min(this.#portion, this.#left + this.#portion);
    if (this.#left <= 0) this.#renewLater();
    else this.#goOn();
  }

  /** Reads on, unless something is in the way that calls this when it is gone. */
  #goOn(): void {
    if (this.#mustWait) return;
    if (this.#held.length > 0) this.#read(this.#held);
    if (this.#clientEnded && this.#held.length === 0) this.#host.onEnd();
    else if (!this.#mustWait) this.#socket.resume();
  }
}
