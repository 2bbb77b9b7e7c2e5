/** Calls to a port with the front, frame by frame. */

import { create, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { encodeHeaders } from '#http2-front/hpack';
import { BulkCheckRequestSchema, CheckRequestSchema } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { Flag, Frame, frame, message } from '../../wire/frames.ts';
import type { Field } from '../../wire/hpack.ts';
import { Peer, type Windows } from '../../wire/peer.ts';
import { closeLater, type Door, openDoor, QUESTION, SERVICE, SUBJECT } from '../support.ts';

export const MOST_MS = 5000;
export const FIELDS: readonly Field[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', `/${SERVICE}/Check`],
  [':authority', 'usher.test'],
  ['content-type', 'application/grpc'],
  ['te', 'trailers'],
];
export const at = (path: string, ...more: Field[]): Field[] => [
  ...FIELDS.map(([name, value]): Field => [name, name === ':path' ? path : value]),
  ...more,
];
export const CHECK = at(`/${SERVICE}/Check`);

export function headers(stream: number, fields: readonly Field[], flags = 0): Buffer {
  const block = encodeHeaders(
    fields.map(([name]) => name),
    fields.map(([, value]) => value),
  );
  return frame(Frame.HEADERS, Flag.END_HEADERS | flags, stream, block);
}

export function data(stream: number, bytes: Buffer, flags: number = Flag.END_STREAM): Buffer {
  return frame(Frame.DATA, flags, stream, bytes);
}

export function bytesOf<D extends DescMessage>(schema: D, init: MessageInitShape<D>): Buffer {
  return message(Buffer.from(toBinary(schema, create(schema, init))));
}

export const QUESTION_BYTES = bytesOf(CheckRequestSchema, QUESTION);
export const BULK_BYTES = bytesOf(BulkCheckRequestSchema, {
  ...SUBJECT,
  permissions: Array.from({ length: 200 }, (_, index) => `permission-${index}`),
});

export async function connect(
  options: Parameters<typeof openDoor>[0] = {},
  windows: Windows = 'wide',
): Promise<{ door: Door; peer: Peer }> {
  const door = await openDoor({ front: true, ...options });
  return { door, peer: join(door, windows) };
}

export function join(door: Door, windows: Windows = 'wide'): Peer {
  const peer = new Peer({ host: '127.0.0.1', port: door.port }, windows);
  closeLater({ close: () => peer.destroy() });
  peer.write(peer.hello());
  return peer;
}

/** Rejects where it does not hold within the time of a very busy machine, long before the limit of a test: waiting says nothing. */
export async function until(condition: () => boolean): Promise<void> {
  for (const late = performance.now() + 6 * MOST_MS; !condition(); ) {
    if (performance.now() > late) throw new Error(`it never holds that ${String(condition)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export async function ended(peer: Peer, stream: number): Promise<void> {
  await peer.until(() => peer.end(stream) !== undefined || peer.connection.closed, MOST_MS);
}

/** `grpc-status` of a stream, or how else it ended. */
export function statusOf(peer: Peer, stream: number): string | undefined {
  const fields = peer.streams.get(stream)?.blocks.at(-1) ?? [];
  return peer.end(stream) === 'ended' ? fields.find(([name]) => name === 'grpc-status')?.[1] : peer.end(stream);
}
