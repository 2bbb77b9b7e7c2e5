import { afterEach, describe, expect, test } from '@jest/globals';
import { Connection } from '#http2-front/connection';
import { UsherError } from '../../../src/base/errors.ts';
import { FakeClock } from '../../engine/fake-clock.ts';
import { Flag, Frame, FrameReader, frame, message, PREFACE, reset, settings } from '../../wire/frames.ts';
import { type Field, HpackEncoder } from '../../wire/hpack.ts';
import { frontService, MemorySocket } from '../../wire/in-memory.ts';
import { Peer } from '../../wire/peer.ts';
import { ScriptedEngine } from '../scripted-engine.ts';
import { closeDoors, closeLater, SERVICE } from '../support.ts';
import { at, CHECK, connect, data, ended, headers, MOST_MS, QUESTION_BYTES, statusOf, until } from './support.ts';

afterEach(closeDoors);

const KEY = 'the-key-of-a-backend';
const keyed = (value: string): Field[] => at(`/${SERVICE}/Check`, ['x-internal-api-key', value]);

function authorize(key: string | undefined): () => boolean {
  if (key !== KEY) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
  return () => true;
}

describe('keys of calls', () => {
  test('each call of a connection needs the key itself', async () => {
    const { door, peer } = await connect({ authorize });
    const keys = [KEY, 'another', KEY, '', `${KEY} `, KEY.toUpperCase()];
    const streams = keys.map((_, index) => 2 * index + 1);
    peer.write(
      Buffer.concat(
        streams.flatMap((id, index) => [headers(id, keyed(keys[index] as string)), data(id, QUESTION_BYTES)]),
      ),
    );
    peer.write(Buffer.concat([headers(101, CHECK), data(101, QUESTION_BYTES)]));
    await peer.until(() => [...streams, 101].every((id) => peer.end(id) !== undefined), MOST_MS);
    expect(streams.map((id) => statusOf(peer, id))).toEqual(['0', '16', '0', '16', '16', '16']);
    expect(statusOf(peer, 101)).toBe('16');
    expect(door.engine.asked).toHaveLength(2);
  });

  test('the same bytes mean another key when the table has changed', async () => {
    const { door, peer } = await connect({ authorize });
    const encoder = new HpackEncoder();
    const write = (id: number, fields: Field[]) => {
      const block = encoder.encode(fields, () => ({ form: 'indexed', huffman: false }));
      peer.write(Buffer.concat([frame(Frame.HEADERS, Flag.END_HEADERS, id, block), data(id, QUESTION_BYTES)]));
      return block.toString('hex');
    };
    write(1, keyed(KEY));
    const repeated = write(3, keyed(KEY));
    // One more field in the table: every index means its neighbor now.
    const shifted = encoder.encode([['x-other', 'a']], () => ({ form: 'incremental', huffman: false }));
    peer.write(Buffer.concat([frame(Frame.HEADERS, Flag.END_HEADERS, 5, shifted), reset(5)]));
    peer.write(
      Buffer.concat([frame(Frame.HEADERS, Flag.END_HEADERS, 7, Buffer.from(repeated, 'hex')), data(7, QUESTION_BYTES)]),
    );
    write(9, keyed(KEY));
    await ended(peer, 9);
    expect([1, 3, 7, 9].map((id) => statusOf(peer, id))).toEqual(['0', '0', 'reset 1', '0']);
    expect(door.engine.asked).toHaveLength(3);
  });

  test('a key that is no longer admitted is compared again', async () => {
    let admitted = true;
    const { door, peer } = await connect({
      authorize: (key) => {
        if (!admitted || key !== KEY) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
        return () => admitted;
      },
    });
    for (const id of [1, 3, 5, 7]) {
      admitted = id < 5;
      peer.write(Buffer.concat([headers(id, keyed(KEY)), data(id, QUESTION_BYTES)]));
      await ended(peer, id);
    }
    expect([1, 3, 5, 7].map((id) => statusOf(peer, id))).toEqual(['0', '0', '16', '16']);
    expect(door.engine.asked).toHaveLength(2);
  });

  test('a key that is sent twice is refused, whichever comes first', async () => {
    const { peer } = await connect({ authorize });
    for (const [id, ...keys] of [
      [1, KEY, 'x'],
      [3, 'x', KEY],
      [5, KEY, KEY],
    ] as const) {
      const fields = at(`/${SERVICE}/Check`, ...keys.map((key): Field => ['x-internal-api-key', key]));
      peer.write(Buffer.concat([headers(id, fields), data(id, QUESTION_BYTES)]));
    }
    await ended(peer, 5);
    expect([1, 3, 5].map((id) => statusOf(peer, id))).toEqual(['16', '16', '16']);
  });
});

describe('messages that are not plain', () => {
  test('a message that is marked as compressed is not read as it is', async () => {
    const { door, peer } = await connect();
    const gzip = at(`/${SERVICE}/Check`, ['grpc-encoding', 'gzip']);
    const marked = Buffer.from(QUESTION_BYTES);
    marked[0] = 1;
    peer.write(Buffer.concat([headers(1, gzip), data(1, marked)]));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('13');
    expect(door.engine.asked).toHaveLength(0);
  });

  test.each([
    ['two messages', Buffer.concat([QUESTION_BYTES, QUESTION_BYTES]), '12'],
    ['half a message', QUESTION_BYTES.subarray(0, QUESTION_BYTES.length - 1), '12'],
    ['no message', Buffer.alloc(0), '12'],
    ['a message beyond the limit', Buffer.from([0, 0, 0x20, 0, 0]), '8'],
  ])('%s is no question', async (_, body, status) => {
    const { door, peer } = await connect();
    peer.write(Buffer.concat([headers(1, CHECK), data(1, body)]));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe(status);
    expect(door.engine.asked).toHaveLength(0);
  });
});

describe('tables of headers', () => {
  test.each<[string, [number, number][]]>([
    ['none', []],
    ['the usual table', [[0x1, 4096]]],
    ['a larger table', [[0x1, 65_536]]],
    ['no table', [[0x1, 0]]],
    ['a smaller table', [[0x1, 100]]],
  ])('answers can be read by a client whose SETTINGS say %s', async (_, entries) => {
    const { door } = await connect();
    const peer = new Peer({ host: '127.0.0.1', port: door.port });
    closeLater({ close: () => peer.destroy() });
    peer.write(Buffer.concat([PREFACE, settings(...entries)]));
    const streams = Array.from({ length: 10 }, (_none, index) => 2 * index + 1);
    for (const id of streams) {
      // Some are answered by grpc-js.
      const isHealth = id % 6 === 1;
      const path = isHealth ? '/grpc.health.v1.Health/Check' : `/${SERVICE}/Check`;
      peer.write(
        Buffer.concat([headers(id, at(path)), data(id, isHealth ? message(Buffer.alloc(0)) : QUESTION_BYTES)]),
      );
      await ended(peer, id);
      // The table is made smaller in the middle.
      if (id === 9) peer.write(settings([0x1, 0]));
    }
    expect(peer.unreadable).toBeUndefined();
    expect(new Set(streams.map((id) => statusOf(peer, id)))).toEqual(new Set(['0']));
  });
});

describe('what a client may do', () => {
  test('more data than the connection was granted ends it', async () => {
    const socket = new MemorySocket();
    const clock = new FakeClock();
    // What is read is granted again at the end of each read; here that is all of it.
    const service = frontService({ engine: new ScriptedEngine(), clock });
    new Connection({ socket, service, clock, turnBytes: 1_000_000, closed: () => undefined });
    const part = Buffer.alloc(16_000);
    part.writeUInt32BE(1_000_000, 1);
    const calls = [1, 3, 5, 7, 9].map((id) => [headers(id, at(`/${SERVICE}/Explain`)), data(id, part, 0)]);
    socket.push(Buffer.concat([PREFACE, settings(), ...calls.flat()]));
    await until(() => socket.writableEnded);
    const ends: number[] = [];
    new FrameReader().read(Buffer.concat(socket.received), ({ type, payload }) => {
      if (type === Frame.GOAWAY) ends.push(payload.readUInt32BE(4));
    });
    expect(ends).toEqual([3]);
    socket.destroy();
  });

  test('a client that only resets its calls is sent away', async () => {
    const { peer } = await connect();
    const calls = Array.from({ length: 1500 }, (_, index) => [headers(2 * index + 1, CHECK), reset(2 * index + 1)]);
    peer.write(Buffer.concat(calls.flat()));
    await peer.until(() => peer.connection.closed, MOST_MS);
    expect(peer.connection).toEqual({ goaway: 11, closed: true });
  });

  test('a client that makes the server reset its calls is sent away', async () => {
    const { peer } = await connect();
    const calls = Array.from({ length: 1500 }, (_, index) => [
      headers(2 * index + 1, CHECK),
      headers(2 * index + 1, CHECK),
    ]);
    peer.write(Buffer.concat(calls.flat()));
    await peer.until(() => peer.connection.closed, MOST_MS);
    expect(peer.connection).toEqual({ goaway: 11, closed: true });
  });
});
