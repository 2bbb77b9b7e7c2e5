/** Messages of gRPC in the data of a stream: a flag, four bytes of length, the message. */

import { UsherError } from '../../base/errors.ts';
import type { Entrance } from '../served-methods.ts';
import { MAX_MESSAGE } from '../waiting.ts';

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

/** Throws PAYLOAD_TOO_LARGE for a message that nobody would read, in the words of grpc-js. `size` has the prefix. */
export function checkMessageSize(size: number, { authorize }: Pick<Entrance, 'authorize'>): void {
  const length = size - PREFIX;
  const most = authorize === null && length <= MAX_MESSAGE ? MAX_OPEN_MESSAGE : MAX_MESSAGE;
  if (length > most) {
    throw new UsherError('PAYLOAD_TOO_LARGE', `Received message larger than max (${length} vs ${most})`);
  }
}
