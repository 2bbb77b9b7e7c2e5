/** HTTP/2 frames (RFC 9113): their numbers, their limits, and the small ones as bytes. */

export const Frame = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const Flag = { NONE: 0, END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

/** RFC 9113 section 7. */
export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  ENHANCE_YOUR_CALM: 0xb,
} as const;

export const Setting = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const;

/** The first bytes of every client (RFC 9113 section 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

export const NOTHING: Buffer = Buffer.alloc(0);

/** Bytes of a frame's header. */
export const FRAME_HEADER = 9;
/** The largest payload that either side sends here: the protocol's initial value. */
export const MAX_PAYLOAD = 16_384;
/** The initial window of a connection, and of a stream until SETTINGS say otherwise. */
export const INITIAL_WINDOW = 65_535;
export const MAX_WINDOW = 2 ** 31 - 1;
export const MAX_STREAM_ID = 2 ** 31 - 1;

/** A fault for which the whole connection ends (RFC 9113 section 5.4.1). */
export class ConnectionFault extends Error {
  override readonly name = 'ConnectionFault';
  readonly errorCode: number;

  constructor(errorCode: number, message: string) {
    super(message);
    this.errorCode = errorCode;
  }
}

/** Writes a frame's header at a place of `bytes`, which must have room for it. */
export function putFrameHeader(
  bytes: Buffer,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): void {
  bytes[at] = length >>> 16;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length;
  bytes[at + 3] = type;
  bytes[at + 4] = flags;
  putStreamId(bytes, at, streamId);
}

/** Changes only the stream of a frame whose header begins at `at`. */
export function putStreamId(bytes: Buffer, at: number, streamId: number): void {
  bytes[at + 5] = streamId >>> 24;
  bytes[at + 6] = streamId >>> 16;
  bytes[at + 7] = streamId >>> 8;
  bytes[at + 8] = streamId;
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER + payload.length);
  putFrameHeader(bytes, 0, payload.length, type, flags, streamId);
  bytes.set(payload, FRAME_HEADER);
  return bytes;
}

export function settingsFrame(settings: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(6 * settings.length);
  settings.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  });
  return frame(Frame.SETTINGS, Flag.NONE, 0, payload);
}

export const SETTINGS_ACK: Buffer = frame(Frame.SETTINGS, Flag.ACK, 0, Buffer.alloc(0));

export function rstStreamFrame(streamId: number, errorCode: number): Buffer {
  return frame(Frame.RST_STREAM, Flag.NONE, streamId, uint32(errorCode));
}

export function windowUpdateFrame(streamId: number, increment: number): Buffer {
  return frame(Frame.WINDOW_UPDATE, Flag.NONE, streamId, uint32(increment));
}

export function goawayFrame(lastStreamId: number, errorCode: number): Buffer {
  return frame(Frame.GOAWAY, Flag.NONE, 0, Buffer.concat([uint32(lastStreamId), uint32(errorCode)]));
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
