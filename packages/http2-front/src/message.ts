/** Messages of gRPC in the data of a stream: a flag, four bytes of length, the message. */

import { RefusedCall } from './refused-call.ts';
import type { Entrance } from './service.ts';

/** The flag of compression and the length. */
export const PREFIX = 5;
/** Bytes of a message to a method that is open to everybody: the name of a service, or of a symbol. */
export const MAX_OPEN_MESSAGE = 4096;

/** Whether the bytes are exactly one message that is not compressed. */
export function isMessage(bytes: Buffer, start: number, end: number): boolean {
  return end - start >= PREFIX && bytes[start] === 0 && bytes.readUInt32BE(start + 1) === end - start - PREFIX;
}

/** Bytes of the message that begins the body, with its prefix; -1 until that is there. */
export function sizeOfFirst(body: Buffer, start: number, end: number): number {
  return end - start < PREFIX ? -1 : PREFIX + body.readUInt32BE(start + 1);
}

/** Throws RefusedCall for a message that nobody would read, in the words of grpc-js. `size` has the prefix. */
export function checkMessageSize(size: number, { authorize }: Pick<Entrance, 'authorize'>, mostBytes: number): void {
  const length = size - PREFIX;
  const most = authorize === null && length <= mostBytes ? MAX_OPEN_MESSAGE : mostBytes;
  if (length > most) {
    throw new RefusedCall('too long', `Received message larger than max (${length} vs ${most})`);
  }
}
