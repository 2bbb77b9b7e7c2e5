/** Header blocks of a client: HEADERS with padding and priority, and the CONTINUATION frames that follow. */

import { ConnectionFault, ErrorCode, Flag } from './frames.ts';

/** Compressed bytes of a block, and the frames after the first: against CONTINUATION floods (CVE-2024-27316 and its like). */
const MAX_BLOCK = 65_536;
const MAX_CONTINUATIONS = 8;

export interface HeaderBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  /** Whether its stream was said to depend on itself, which is an error of the stream (RFC 7540 section 5.3.1). */
  readonly dependsOnItself: boolean;
  bytes: Buffer;
  start: number;
  end: number;
}

/** Gathers blocks. One that is complete in its HEADERS frame lies in the chunk that was read. */
export class HeaderBlocks {
  #open: (HeaderBlock & { pieces: Buffer[]; length: number; since: number }) | null = null;

  /** The stream whose CONTINUATION must come next, or 0. */
  get expects(): number {
    return this.#open?.streamId ?? 0;
  }

  /** Bytes of a block that is not complete. */
  get held(): number {
    return this.#open?.length ?? 0;
  }

  /** Whether, since an earlier look, the same block has not been completed for longer than `most` milliseconds. */
  isStuck(now: number, most: number): boolean {
    const open = this.#open;
    if (open === null) return false;
    if (open.since === 0) open.since = now;
    return now - open.since > most;
  }

  /** A HEADERS frame. Returns the block once it is complete. Throws ConnectionFault. */
  headers(flags: number, streamId: number, bytes: Buffer, first: number, last: number): HeaderBlock | null {
    let [start, end] = [first, last];
    if ((flags & Flag.PADDED) !== 0) {
      end -= start < end ? (bytes[start] as number) : 0;
      start++;
    }
    let dependsOnItself = false;
    if ((flags & Flag.PRIORITY) !== 0) {
      dependsOnItself = end - start >= 5 && (bytes.readUInt32BE(start) & 0x7fffffff) === streamId;
      start += 5;
    }
    if (start > end) throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'HEADERS that end within their padding');
    const endStream = (flags & Flag.END_STREAM) !== 0;
    const block = { streamId, endStream, dependsOnItself, bytes, start, end };
    if ((flags & Flag.END_HEADERS) !== 0) return block;
    this.#open = { ...block, pieces: [Buffer.from(bytes.subarray(start, end))], length: end - start, since: 0 };
    return null;
  }

  /** A CONTINUATION frame, which must be the one expected. */
  continuation(flags: number, streamId: number, payload: Buffer): HeaderBlock | null {
    const open = this.#open;
    if (open === null || open.streamId !== streamId) {
      throw new ConnectionFault(ErrorCode.PROTOCOL_ERROR, 'CONTINUATION without HEADERS');
    }
    open.pieces.push(Buffer.from(payload));
    open.length += payload.length;
    if (open.length > MAX_BLOCK || open.pieces.length > MAX_CONTINUATIONS + 1) {
      throw new ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, 'a header block that does not end');
    }
    if ((flags & Flag.END_HEADERS) === 0) return null;
    this.#open = null;
    const bytes = Buffer.concat(open.pieces, open.length);
    return { ...open, bytes, start: 0, end: bytes.length };
  }
}
