/** What a client sends, in portions: no connection holds the event loop while others wait. */

import { FrameReader, type OnFrame } from './frame-reader.ts';
import { FRAME_HEADER, NOTHING } from './frames.ts';
import { GUEST_TURN_BYTES, type Guest } from './guests.ts';
import { Preface } from './preface.ts';
import type { ClientSocket } from './shared.ts';

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
  /** A chunk waits, unread, for the turn of its connection. */
  onHeld(): void;
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
  /** Null once a right was shown on the connection. */
  #guest: Guest | null;
  #portion: number;
  readonly #usualPortion: number;
  /** What may still be read in this turn. Below zero, it is taken from the portions of the next ones. */
  #left: number;
  #isRenewing = false;
  readonly #goOnLater = () => this.#goOn();
  /** The rest of a chunk. The socket is paused meanwhile, so what comes behind it waits there, or at the client. */
  #held: Buffer = NOTHING;
  #clientEnded = false;
  #stopped = false;

  constructor(socket: ClientSocket, portion: number, guest: Guest | null, host: InboundHost) {
    this.#socket = socket;
    this.#host = host;
    this.#guest = guest;
    this.#usualPortion = portion;
    this.#portion = guest === null ? portion : Math.min(portion, GUEST_TURN_BYTES);
    this.#left = this.#portion;
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
    if (this.#guest !== null) this.#guest.spend(bytes);
    if (this.#left <= this.#portion / 2 && !this.#isRenewing) this.#renewLater();
    if (this.#left <= 0 || this.#isOver) this.#reader.pause();
  }

  /** Bytes that were received and not read. */
  get held(): number {
    return this.#held.length + this.#reader.held;
  }

  /** A right was shown: the connection gets its whole portion of a turn. */
  welcome(): void {
    this.#guest = null;
    this.#left += this.#usualPortion - this.#portion;
    this.#portion = this.#usualPortion;
  }

  /** Nothing is read after this; what still comes is dropped. */
  stop(): void {
    this.#stopped = true;
    this.#reader.stop();
    this.#held = NOTHING;
  }

  get #mustWait(): boolean {
    return this.#stopped || this.#left <= 0 || this.#host.isFull() || this.#isOver;
  }

  #read(bytes: Buffer): void {
    if (this.#stopped) return;
    if (this.#isOver) {
      this.#held = bytes;
      this.#waitForTurn();
      this.#host.onHeld();
      return;
    }
    this.#host.onReadBegin();
    try {
      this.#held = this.#reader.read(this.#preface.isRead ? bytes : this.#preface.read(bytes));
    } catch (error) {
      this.#host.onFault(error);
    }
    this.#host.onReadEnd();
    if (this.#stopped) return;
    if (this.#isOver) this.#waitForTurn();
    else if (this.#mustWait) this.#socket.pause();
    // It waited for its turn as a guest, and has shown a right by the frame that took the last of it.
    else if (this.#held.length > 0) this.#read(this.#held);
  }

  /** Whether all guests have had their part of this turn. */
  get #isOver(): boolean {
    return this.#guest?.mustWait === true;
  }

  #waitForTurn(): void {
    this.#socket.pause();
    this.#guest?.wait(this.#goOnLater);
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
    if (this.#isOver && !this.#stopped) this.#guest?.wait(this.#goOnLater);
    if (this.#mustWait) return;
    if (this.#held.length > 0) this.#read(this.#held);
    if (this.#clientEnded && this.#held.length === 0) this.#host.onEnd();
    else if (!this.#mustWait) this.#socket.resume();
  }
}
