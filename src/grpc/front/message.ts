/** Messages of gRPC in the data of a stream: a flag, four bytes of length, the message. */

import type { Stream } from './stream.ts';

/** The flag of compression and the length. */
export const PREFIX = 5;
/** Longer requests are passed on: the windows of grpc-js's streams then bound what is kept of them. */
const MAX_COLLECTED = 16_384;

/** Whether the bytes are exactly one message that is not compressed. */
export function isMessage(bytes: Buffer, start: number, end: number): boolean {
  return end - start >= PREFIX && bytes[start] === 0 && bytes.readUInt32BE(start + 1) === end - start - PREFIX;
}

/** Whether what has arrived of a stream can be the beginning of a message that is answered here. */
export function mayBecomeMessage({ body, bodyLength }: Stream): boolean {
  if (body === null || bodyLength === 0) return true;
  if (body[0] !== 0) return false;
  if (bodyLength < PREFIX) return true;
  const size = PREFIX + body.readUInt32BE(1);
  return size <= MAX_COLLECTED && bodyLength <= size;
}
