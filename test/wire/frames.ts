/** Frames of HTTP/2 (RFC 9113 section 4) as bytes, valid or not, and how they are read. */

export const Frame = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const Flag = { NONE: 0, ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

export const Setting = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

export const ErrorCode = { NO_ERROR: 0x0, PROTOCOL_ERROR: 0x1, REFUSED_STREAM: 0x7, CANCEL: 0x8 } as const;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
export const NOTHING: Buffer = Buffer.alloc(0);
/** The largest payload without other SETTINGS, and the largest window there is. */
export const MAX_PAYLOAD = 16_384;
export const MAX_WINDOW = 2 ** 31 - 1;
const HEADER = 9;

/** `length` may lie about the payload. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = NOTHING,
  length = payload.length,
): Buffer {
  const head = Buffer.alloc(HEADER);
  head.writeUIntBE(length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function settings(...entries: readonly (readonly [id: number, value: number])[]): Buffer {
  return frame(
    Frame.SETTINGS,
    Flag.NONE,
    0,
    Buffer.concat(entries.flatMap(([id, value]) => [Buffer.from([id >> 8, id & 0xff]), uint32(value)])),
  );
}

export function windowUpdate(stream: number, increment: number): Buffer {
  return frame(Frame.WINDOW_UPDATE, Flag.NONE, stream, uint32(increment));
}

export function reset(stream: number, code: number = ErrorCode.CANCEL): Buffer {
  return frame(Frame.RST_STREAM, Flag.NONE, stream, uint32(code));
}

export function ping(payload: Buffer = Buffer.alloc(8), flags: number = Flag.NONE): Buffer {
  return frame(Frame.PING, flags, 0, payload);
}

/** A payload as a padded frame has it. */
export function padded(payload: Buffer, padding: number): Buffer {
  return Buffer.concat([Buffer.from([padding]), payload, Buffer.alloc(padding)]);
}

/** What HEADERS carries before its block with the flag PRIORITY, and PRIORITY alone. */
export function priority(dependency: number, weight: number, exclusive = false): Buffer {
  return Buffer.concat([uint32(exclusive ? (dependency | 0x80000000) >>> 0 : dependency), Buffer.from([weight])]);
}

export interface ReadFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Cuts what arrives into frames. */
export class FrameReader {
  #held: Buffer = NOTHING;

  read(chunk: Buffer, received: (frame: ReadFrame) => void): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = 0;
    while (bytes.length - at >= HEADER) {
      const end = at + HEADER + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      received({
        type: bytes.readUInt8(at + 3),
        flags: bytes.readUInt8(at + 4),
        stream: bytes.readUInt32BE(at + 5) & MAX_WINDOW,
        payload: bytes.subarray(at + HEADER, end),
      });
      at = end;
    }
    this.#held = bytes.subarray(at);
  }
}

/** One gRPC message as it goes over the wire. */
export function message(bytes: Uint8Array, flag = 0, length = bytes.length): Buffer {
  return Buffer.concat([Buffer.from([flag]), uint32(length), bytes]);
}
