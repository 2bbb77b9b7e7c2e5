import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { UsherError } from '../../../src/base/errors.ts';
import { BulkCheckRequestSchema } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { Flag, Frame, frame, message } from '../../wire/frames.ts';
import type { Field } from '../../wire/hpack.ts';
import type { Peer } from '../../wire/peer.ts';
import { closeDoors, SERVICE, SUBJECT } from '../support.ts';
import { at, bytesOf, CHECK, connect, data, ended, headers, join, QUESTION_BYTES, statusOf, until } from './support.ts';

afterEach(closeDoors);

const KEY = 'the-key-of-a-backend';
const keyed = (path: string, ...more: Field[]): Field[] => at(path, ['x-internal-api-key', KEY], ...more);
const AUTHENTIC = keyed(`/${SERVICE}/Check`);
const EXPLAIN = `/${SERVICE}/Explain`;
const HEALTH = '/grpc.health.v1.Health/Check';

function authorize(key: string | undefined): () => boolean {
  if (key !== KEY) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
  return () => true;
}

/** Whether the connection still answers. */
async function stillAnswers(peer: Peer, stream: number, fields: readonly Field[] = CHECK): Promise<boolean> {
  peer.write(Buffer.concat([headers(stream, fields), data(stream, QUESTION_BYTES)]));
  await ended(peer, stream);
  return statusOf(peer, stream) === '0' && !peer.connection.closed;
}

/** Sends a body as its windows allow. */
async function send(peer: Peer, stream: number, body: Buffer, size = 16_000): Promise<void> {
  for (let from = 0; from < body.length; ) {
    const piece = Math.min(size, body.length - from);
    await until(() => peer.take(stream, piece) || peer.end(stream) !== undefined);
    if (peer.end(stream) !== undefined) return;
    from += piece;
    peer.write(data(stream, body.subarray(from - piece, from), from === body.length ? Flag.END_STREAM : 0));
  }
}

describe('the key is looked at with the headers', () => {
  test.each([
    ['no key', at(`/${SERVICE}/Check`)],
    ['a wrong key', at(`/${SERVICE}/Check`, ['x-internal-api-key', 'another'])],
    ['no key, of a method that grpc-js answers', at(EXPLAIN)],
    ['a wrong key, with a header that only grpc-js may judge', at(EXPLAIN, ['grpc-encoding', 'gzip'])],
  ])('a call with %s is refused before a byte of its message has come', async (_, fields) => {
    const { peer } = await connect({ authorize });
    peer.write(headers(1, fields));
    await peer.until(() => peer.streams.get(1) !== undefined, 5000);
    expect(statusOf(peer, 1)).toBe('16');
    // What it sends all the same is dropped, and the connection goes on.
    peer.write(Buffer.concat([data(1, Buffer.alloc(10_000), 0), data(1, Buffer.alloc(10_000))]));
    expect(await stillAnswers(peer, 3, AUTHENTIC)).toBe(true);
  });

  test('a refused call of a caller with a right key may stop at once, and its place is free (RFC 9113, 8.1)', async () => {
    const { peer } = await connect({ authorize });
    expect(await stillAnswers(peer, 1, AUTHENTIC)).toBe(true);
    peer.write(headers(3, at(`/${SERVICE}/Check`)));
    await peer.until(() => peer.streams.get(3)?.rest !== undefined, 5000);
    expect([statusOf(peer, 3), peer.streams.get(3)?.rest]).toEqual(['16', 0]);
    peer.write(Buffer.concat([data(3, Buffer.alloc(10_000), 0), data(3, Buffer.alloc(10_000))]));
    expect(await stillAnswers(peer, 5, AUTHENTIC)).toBe(true);
  });

  test('a call whose key went while its message came is refused', async () => {
    let admitted = true;
    const { door, peer } = await connect({
      authorize: (key) => {
        authorize(key);
        if (!admitted) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
        return () => admitted;
      },
    });
    peer.write(Buffer.concat([headers(1, AUTHENTIC), data(1, QUESTION_BYTES.subarray(0, 9), 0)]));
    peer.write(Buffer.concat([headers(3, AUTHENTIC), data(3, QUESTION_BYTES)]));
    await ended(peer, 3);
    admitted = false;
    peer.write(data(1, QUESTION_BYTES.subarray(9)));
    await ended(peer, 1);
    expect([statusOf(peer, 1), statusOf(peer, 3)]).toEqual(['16', '0']);
    expect(door.engine.asked).toHaveLength(1);
  });

  test('what is refused is counted and logged once', async () => {
    const { door, peer } = await connect({ authorize });
    peer.write(Buffer.concat([1, 3, 5, 7].map((id) => headers(id, CHECK, Flag.END_STREAM))));
    await ended(peer, 7);
    expect(door.metrics.calls()).toEqual([{ method: 'Check', status: 'UNAUTHENTICATED', count: 4 }]);
    expect(door.logged().split('gRPC port: refused')).toHaveLength(2);
  });
});

describe('a fault of one call ends that call', () => {
  const length = (n: number): Field => ['content-length', String(n)];
  const long = QUESTION_BYTES.length;

  test('a call that declares the length of its body is answered', async () => {
    const { peer } = await connect();
    peer.write(Buffer.concat([headers(1, at(`/${SERVICE}/Check`, length(long))), data(1, QUESTION_BYTES)]));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('0');
  });

  test.each([
    ['shorter', `/${SERVICE}/Check`, long + 1],
    ['longer', `/${SERVICE}/Check`, long - 1],
    ['shorter, at a method that grpc-js answers', EXPLAIN, long + 1],
    ['longer, at a method that grpc-js answers', EXPLAIN, long - 1],
    ['longer, at a method open to everybody', HEALTH, 3],
  ])('a body that is %s than its call declared resets the stream alone', async (_, path, declared) => {
    const { peer } = await connect();
    // Of somebody else on the same connection.
    peer.write(Buffer.concat([headers(1, CHECK), data(1, QUESTION_BYTES.subarray(0, 9), 0)]));
    peer.write(Buffer.concat([headers(3, at(path, length(declared))), data(3, QUESTION_BYTES)]));
    await ended(peer, 3);
    peer.write(data(1, QUESTION_BYTES.subarray(9)));
    await ended(peer, 1);
    expect([statusOf(peer, 3), statusOf(peer, 1)]).toEqual(['reset 1', '0']);
    expect(await stillAnswers(peer, 5)).toBe(true);
  });

  test('a call without a body that declared one is reset', async () => {
    const { peer } = await connect();
    peer.write(headers(1, at(`/${SERVICE}/Check`, length(5)), Flag.END_STREAM));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('reset 1');
    expect(await stillAnswers(peer, 3)).toBe(true);
  });

  test.each(['\0', '\t', '\n', '\r', '\x1b', '\x7f'])(
    'a header value with the control character %j is INVALID_ARGUMENT',
    async (control) => {
      const { peer } = await connect();
      const fields = ['x-a', 'x-internal-api-key', 'user-agent'].map((name): Field => [name, `a${control}b`]);
      fields.forEach((field, index) => {
        peer.write(
          Buffer.concat([headers(2 * index + 1, at(`/${SERVICE}/Check`, field)), data(2 * index + 1, QUESTION_BYTES)]),
        );
      });
      await ended(peer, 5);
      expect([1, 3, 5].map((id) => statusOf(peer, id))).toEqual(['3', '3', '3']);
      expect(await stillAnswers(peer, 7)).toBe(true);
    },
  );

  test.each<[string, Field[]]>([
    ['a pseudo-header', [[':path', '/']]],
    ['a name in upper case', [['A', 'b']]],
    ['a header of connections', [['connection', 'close']]],
    ['a control character', [['a', 'b\0']]],
    ['more than the limit', Array.from({ length: 200 }, (): Field => ['a', 'b'])],
  ])('trailers with %s reset the stream', async (_, fields) => {
    const { peer } = await connect();
    for (const [id, path] of [
      [1, `/${SERVICE}/Check`],
      [3, EXPLAIN],
    ] as const) {
      peer.write(
        Buffer.concat([headers(id, at(path)), data(id, QUESTION_BYTES, 0), headers(id, fields, Flag.END_STREAM)]),
      );
      await ended(peer, id);
      expect(statusOf(peer, id)).toBe('reset 1');
    }
    expect(await stillAnswers(peer, 5)).toBe(true);
  });

  test('plain trailers end a call as its data would', async () => {
    const { peer } = await connect();
    peer.write(
      Buffer.concat([headers(1, CHECK), data(1, QUESTION_BYTES, 0), headers(1, [['x-a', 'b']], Flag.END_STREAM)]),
    );
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('0');
  });

  test('a frame behind the end of a call that waits for its answer resets the stream alone', async () => {
    const { door, peer } = await connect();
    const { promise, resolve: release } = Promise.withResolvers<void>();
    door.engine.warm = false;
    door.engine.gate = promise;
    peer.write(Buffer.concat([headers(1, CHECK), data(1, QUESTION_BYTES), headers(3, CHECK), data(3, QUESTION_BYTES)]));
    await until(() => door.engine.waits === 2);
    peer.write(Buffer.concat([data(1, QUESTION_BYTES), headers(3, CHECK)]));
    await ended(peer, 3);
    release();
    door.engine.warm = true;
    expect([1, 3].map((id) => statusOf(peer, id))).toEqual(['reset 5', 'reset 5']);
    expect(await stillAnswers(peer, 5)).toBe(true);
  });
});

describe('messages', () => {
  const permissions = Array.from({ length: 1000 }, (_, index) => `${'p'.repeat(110)}${index}`);
  const BULK = bytesOf(BulkCheckRequestSchema, { ...SUBJECT, permissions });

  test('one that is longer than the first window is granted the rest, and answered', async () => {
    const { peer } = await connect();
    expect(BULK.length).toBeGreaterThan(65_535);
    peer.write(headers(1, at(`/${SERVICE}/BulkCheck`)));
    await send(peer, 1, BULK);
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('0');
  });

  test('many at once that grpc-js answers get there whole, as it has room for them', async () => {
    const { peer } = await connect();
    // Compressed, so that it is grpc-js that reads them; and not what they say, so that it is grpc-js that says so.
    const body = message(randomBytes(900_000));
    body[0] = 1;
    const streams = [1, 3, 5, 7];
    await Promise.all(
      streams.map(async (id) => {
        peer.write(headers(id, at(EXPLAIN, ['grpc-encoding', 'gzip'])));
        await send(peer, id, body);
        await ended(peer, id);
      }),
    );
    expect(streams.map((id) => statusOf(peer, id))).toEqual(['13', '13', '13', '13']);
    expect(await stillAnswers(peer, 9)).toBe(true);
  });

  test.each([
    ['longer than a megabyte', `/${SERVICE}/BulkCheck`, 1_048_577],
    ['longer than a name, to everybody', HEALTH, 4097],
  ])('one that is %s is refused by its length alone', async (_, path, size) => {
    const { peer } = await connect();
    const prefix = Buffer.alloc(5);
    prefix.writeUInt32BE(size, 1);
    peer.write(Buffer.concat([headers(1, at(path)), data(1, prefix, 0)]));
    await ended(peer, 1).catch(() => undefined);
    expect(
      peer.streams
        .get(1)
        ?.blocks.at(-1)
        ?.find(([name]) => name === 'grpc-status')?.[1],
    ).toBe('8');
    expect(await stillAnswers(peer, 3)).toBe(true);
  });

  test('one that does not come has its time, whoever answers it', async () => {
    const { peer } = await connect({ times: { messageMs: 150 } });
    peer.write(
      Buffer.concat([
        headers(1, CHECK),
        headers(3, at(EXPLAIN)),
        data(3, QUESTION_BYTES.subarray(0, 7), 0),
        headers(5, at(HEALTH)),
      ]),
    );
    await peer.until(() => [1, 3, 5].every((id) => peer.streams.get(id) !== undefined), 10_000);
    expect([1, 3, 5].map((id) => statusOf(peer, id))).toEqual(['4', '4', '4']);
    expect(await stillAnswers(peer, 7)).toBe(true);
  });

  test('a block of headers that does not end has the same', async () => {
    const { peer } = await connect({ times: { messageMs: 150 } });
    expect(await stillAnswers(peer, 1)).toBe(true);
    peer.write(frame(Frame.HEADERS, Flag.NONE, 3, Buffer.from([0x82])));
    await until(() => peer.connection.closed);
    expect(peer.connection.goaway).toBe(11);
  });
});

describe('connections on which no right key was shown', () => {
  test('may idle for a moment only, whatever they ask that is open to everybody', async () => {
    const { door, peer } = await connect({ authorize, times: { guestIdleMs: 100 } });
    const other = join(door);
    expect(await stillAnswers(other, 1, AUTHENTIC)).toBe(true);
    peer.write(Buffer.concat([headers(1, at(HEALTH)), data(1, message(Buffer.alloc(0)))]));
    await until(() => peer.connection.closed);
    expect(peer.connection.goaway).toBe(0);
    expect(await stillAnswers(other, 3, AUTHENTIC)).toBe(true);
  });
});
