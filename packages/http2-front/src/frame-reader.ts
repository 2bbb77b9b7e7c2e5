/** Cuts the bytes of a connection into HTTP/2 frames. */

import { ConnectionFault, ErrorCode, FRAME_HEADER, MAX_PAYLOAD, NOTHING } from './frames.ts';

/** What becomes of a frame. The payload lies in `bytes` from `start` to `end`, and only during the call. */
export type OnFrame = (
  type: number,
  flags: number,
  streamId: number,
  bytes: Buffer,
  start: number,
  end: number,
) => void;

/**
 * A frame that lies whole in a chunk is read where it is. One that is spread over chunks is gathered in a buffer of its size,
 * so that it costs its length however small the chunks are.
 */
export class FrameReader {
  readonly #onFrame: OnFrame;
  /** The beginning of a frame whose rest has not arrived; its header first, which tells how long the whole is. */
  #gathered: Buffer | null = null;
  #length = 0;
  #paused = false;
  #stopped = false;

  constructor(onFrame: OnFrame) {
    this.#onFrame = onFrame;
  }

  /** Bytes that are kept of a frame whose rest has not arrived. */
  get held(): number {
    return this.#gathered?.length ?? 0;
  }

  /** Nothing is read after this, not even what remains of the chunk being read. */
  stop(): void {
    this.#stopped = true;
    this.#gathered = null;
  }

  /** No further frame of the chunk is read. */
  pause(): void {
    this.#paused = true;
  }

  /**
   * Returns what a pause has left of the chunk: the next to be read. Throws ConnectionFault FRAME_SIZE_ERROR for a frame above the
   * limit, before its payload is kept; and what `onFrame` throws.
   */
  read(chunk: Buffer): Buffer {
    this.#paused = false;
    let at = 0;
    while (this.#gathered !== null && at < chunk.length) at = this.#gather(chunk, at);
    while (!this.#stopped && at < chunk.length) {
      if (this.#paused) return chunk.subarray(at);
      const left = chunk.length - at;
      const end = left < FRAME_HEADER ? Number.POSITIVE_INFINITY : at + FRAME_HEADER + lengthAt(chunk, at);
      if (end > chunk.length) {
        this.#begin(chunk, at, end - at);
        break;
      }
      this.#deliver(chunk, at, end);
      at = end;
    }
    return NOTHING;
  }

  /** `size` is that of the whole frame, or infinite as long as its header is incomplete. */
  #begin(chunk: Buffer, at: number, size: number): void {
    const gathered = Buffer.allocUnsafe(size === Number.POSITIVE_INFINITY ? FRAME_HEADER : size);
    this.#length = chunk.copy(gathered, 0, at);
    this.#gathered = gathered;
  }

  /** Returns the place in the chunk up to which it took. */
  #gather(chunk: Buffer, at: number): number {
    const gathered = this.#gathered as Buffer;
    const taken = chunk.copy(gathered, this.#length, at, Math.min(chunk.length, at + gathered.length - this.#length));
    this.#length += taken;
    if (this.#length < gathered.length) return at + taken;
    const size = FRAME_HEADER + lengthAt(gathered, 0);
    if (gathered.length < size) {
      this.#gathered = Buffer.allocUnsafe(size);
      gathered.copy(this.#gathered);
      return at + taken;
    }
    this.#gathered = null;
    this.#deliver(gathered, 0, size);
    return at + taken;
  }

  #deliver(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + 3] as number;
    const flags = bytes[at + 4] as number;
    // The first bit is reserved and means nothing.
    const streamId =
      (((bytes[at + 5] as number) & 0x7f) << 24) |
      ((bytes[at + 6] as number) << 16) |
      ((bytes[at + 7] as number) << 8) |
      (bytes[at + 8] as number);
    this.#onFrame(type, flags, streamId, bytes, at + FRAME_HEADER, end);
  }
}

function lengthAt(bytes: Buffer, at: number): number {
  const length = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
  if (length > MAX_PAYLOAD) {
    throw new ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, `a frame of ${length} bytes; at most ${MAX_PAYLOAD}`);
  }
  return length;
}
