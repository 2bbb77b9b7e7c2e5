import { createConnection } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { BulkCheckRequestSchema, CheckRequestSchema } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import {
  Flag,
  Frame,
  FrameReader,
  frame,
  message,
  PREFACE,
  ping,
  reset,
  settings,
  uint32,
  windowUpdate,
} from '../../wire/frames.ts';
import { Peer } from '../../wire/peer.ts';
import { closeDoors, closeLater, openDoor, QUESTION, SERVICE, SUBJECT } from '../support.ts';
import {
  at,
  BULK_BYTES,
  bytesOf,
  CHECK,
  connect,
  data,
  ended,
  FIELDS,
  headers,
  join,
  MOST_MS,
  QUESTION_BYTES,
  statusOf,
  until,
} from './support.ts';

afterEach(closeDoors);

describe('calls in pieces', () => {
  test('a message in many frames, padded and empty ones among them, is the message', async () => {
    const { door, peer } = await connect();
    const pieces = [...QUESTION_BYTES].map((byte) => data(1, Buffer.from([byte]), 0));
    const padded = frame(Frame.DATA, Flag.PADDED, 1, Buffer.from([3, 0, 0, 0]));
    peer.write(Buffer.concat([headers(1, CHECK), ...pieces, padded, data(1, Buffer.alloc(0))]));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('0');
    expect(door.engine.asked[0]?.what).toMatchObject(QUESTION);
  });

  test('many calls that come interleaved, byte by byte, are told apart', async () => {
    const { door, peer } = await connect();
    const streams = Array.from({ length: 100 }, (_, index) => 2 * index + 1);
    const bodies = new Map(
      streams.map((id) => [
        id,
        bytesOf(CheckRequestSchema, {
          ...QUESTION,
          email: `p${id}@example.com`,
          resourceType: 'x',
          resourceId: 'r'.repeat(200),
        }),
      ]),
    );
    peer.write(Buffer.concat(streams.map((id) => headers(id, CHECK))));
    const longest = Math.max(...[...bodies.values()].map(({ length }) => length));
    for (let from = 0; from < longest; from += 40) {
      const frames = streams.map((id) => {
        const body = bodies.get(id) as Buffer;
        const isLast = from + 40 >= body.length;
        return from >= body.length
          ? Buffer.alloc(0)
          : data(id, body.subarray(from, from + 40), isLast ? Flag.END_STREAM : 0);
      });
      peer.write(Buffer.concat(frames));
    }
    await peer.until(() => streams.every((id) => peer.end(id) !== undefined), MOST_MS);
    expect(new Set(streams.map((id) => statusOf(peer, id)))).toEqual(new Set(['0']));
    const emails = door.engine.asked.map(({ what }) => what.email).sort();
    expect(emails).toEqual(streams.map((id) => `p${id}@example.com`).sort());
  });

  test('calls that are passed on out of order are all answered', async () => {
    const { peer } = await connect();
    // The first is known to be unusual only by its data, after the second was passed on by its headers.
    peer.write(
      Buffer.concat([
        headers(1, CHECK),
        headers(3, at('/grpc.health.v1.Health/Check')),
        data(3, message(Buffer.alloc(0))),
        data(1, Buffer.from([0, 0, 0])),
        headers(5, CHECK),
        data(5, QUESTION_BYTES),
      ]),
    );
    await peer.until(() => [1, 3, 5].every((id) => peer.end(id) !== undefined), MOST_MS);
    expect([1, 3, 5].map((id) => statusOf(peer, id))).toEqual(['12', '0', '0']);
  });

  test('a long message is passed on, and answered', async () => {
    const { peer } = await connect();
    const long = bytesOf(BulkCheckRequestSchema, {
      ...SUBJECT,
      permissions: Array.from({ length: 500 }, (_, index) => `${'p'.repeat(60)}-${index}`),
    });
    const frames: Buffer[] = [];
    for (let from = 0; from < long.length; from += 16_000) {
      const isLast = from + 16_000 >= long.length;
      frames.push(data(1, long.subarray(from, from + 16_000), isLast ? Flag.END_STREAM : 0));
    }
    peer.write(Buffer.concat([headers(1, at(`/${SERVICE}/BulkCheck`)), ...frames]));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('0');
  });
});

describe('windows of a client', () => {
  test.each([7, 40, 1000])('an answer arrives whole by %i bytes at a time', async (window) => {
    const { peer } = await connect({}, window);
    peer.write(Buffer.concat([headers(1, at(`/${SERVICE}/BulkCheck`)), data(1, BULK_BYTES)]));
    await ended(peer, 1);
    const { data: answer } = peer.streams.get(1) ?? { data: Buffer.alloc(0) };
    expect(statusOf(peer, 1)).toBe('0');
    expect(answer.readUInt32BE(1)).toBe(answer.length - 5);
  });

  test('a stream without room does not hold the others', async () => {
    const { door } = await connect();
    const peer = new Peer({ host: '127.0.0.1', port: door.port });
    closeLater({ close: () => peer.destroy() });
    peer.write(Buffer.concat([PREFACE, settings([0x4, 0])]));
    for (const id of [1, 3, 5]) peer.write(Buffer.concat([headers(id, CHECK), data(id, QUESTION_BYTES)]));
    peer.write(windowUpdate(3, 1000));
    await ended(peer, 3);
    expect([1, 3, 5].map((id) => statusOf(peer, id))).toEqual([undefined, '0', undefined]);
    // A larger initial window counts for streams that are open already.
    peer.write(settings([0x4, 1000]));
    await peer.until(() => [1, 5].every((id) => peer.end(id) !== undefined), MOST_MS);
    expect([1, 5].map((id) => statusOf(peer, id))).toEqual(['0', '0']);
  });

  test('answers of the front and of grpc-js wait for the window of the connection together', async () => {
    const { door } = await connect();
    const socket = createConnection(door.port, '127.0.0.1');
    closeLater({ close: () => socket.destroy() });
    let [received, ended, pongs] = [0, 0, 0];
    const reader = new FrameReader();
    socket.on('data', (chunk: Buffer) =>
      reader.read(chunk, ({ type, flags, payload }) => {
        if (type === Frame.DATA) received += payload.length;
        if (type === Frame.HEADERS && (flags & Flag.END_STREAM) !== 0) ended++;
        if (type === Frame.PING) pongs++;
      }),
    );
    socket.write(Buffer.concat([PREFACE, settings([0x4, 2 ** 30])]));
    // Every second one has the flag of compression, which grpc-js reads.
    const odd = Buffer.from(BULK_BYTES);
    odd[0] = 1;
    for (let round = 0; round < 6; round++) {
      const calls = Array.from({ length: 8 }, (_, index) => {
        const id = 16 * round + 2 * index + 1;
        return [headers(id, at(`/${SERVICE}/BulkCheck`)), data(id, index % 2 === 0 ? odd : BULK_BYTES)];
      });
      socket.write(Buffer.concat([...calls.flat(), ping()]));
      await until(() => pongs > round);
    }
    await until(() => received >= 65_535);
    expect([received, ended < 48]).toEqual([65_535, true]);
    socket.write(windowUpdate(0, 2 ** 20));
    await until(() => ended === 48);
  });
});

describe('ends of calls', () => {
  test('a message that does not come is given up at the deadline, and the connection goes on', async () => {
    const { door, peer } = await connect();
    peer.write(
      Buffer.concat([
        headers(1, at(`/${SERVICE}/Check`, ['grpc-timeout', '60m'])),
        data(1, QUESTION_BYTES.subarray(0, 9), 0),
      ]),
    );
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('4');
    peer.write(Buffer.concat([data(1, QUESTION_BYTES.subarray(9)), headers(3, CHECK), data(3, QUESTION_BYTES)]));
    await ended(peer, 3);
    expect(statusOf(peer, 3)).toBe('0');
    expect(door.engine.asked).toHaveLength(1);
  });

  test('a call whose message never begins is given up at its deadline', async () => {
    const { door, peer } = await connect();
    peer.write(headers(1, at(`/${SERVICE}/Check`, ['grpc-timeout', '60m'])));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('4');
    expect(door.metrics.calls()).toEqual([{ method: 'Check', status: 'DEADLINE_EXCEEDED', count: 1 }]);
  });

  test('data of a call that its caller has reset ends that call alone', async () => {
    const { door, peer } = await connect();
    peer.write(Buffer.concat([headers(1, CHECK), reset(1), data(1, QUESTION_BYTES), data(1, QUESTION_BYTES)]));
    peer.write(Buffer.concat([headers(3, CHECK), data(3, QUESTION_BYTES)]));
    await ended(peer, 3);
    expect([statusOf(peer, 1), statusOf(peer, 3)]).toEqual(['reset 5', '0']);
    expect(door.engine.asked.length).toBe(1);
    expect(peer.connection).toEqual({ goaway: undefined, closed: false });
  });

  test('a waiting call ends at its deadline, or when its caller resets it', async () => {
    const { door, peer } = await connect();
    door.engine.warm = false;
    door.engine.gate = new Promise(() => {});
    peer.write(Buffer.concat([headers(1, at(`/${SERVICE}/Check`, ['grpc-timeout', '60m'])), data(1, QUESTION_BYTES)]));
    peer.write(Buffer.concat([headers(3, CHECK), data(3, QUESTION_BYTES)]));
    await until(() => door.engine.waits === 2);
    peer.write(reset(3));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('4');
    expect(door.metrics.calls()).toEqual([
      { method: 'Check', status: 'CANCELLED', count: 1 },
      { method: 'Check', status: 'DEADLINE_EXCEEDED', count: 1 },
    ]);
  });

  test.each<[string, (id: number) => Buffer]>([
    ['reset', (id) => reset(id)],
    ['a window update of nothing', (id) => windowUpdate(id, 0)],
    ['a second block of headers', (id) => headers(id, CHECK)],
    ['the end of the connection', () => frame(Frame.DATA, 0, 2, Buffer.alloc(1))],
  ])('calls that grpc-js would refuse at once survive %s in the same packet', async (_, after) => {
    const door = await openDoor({ front: true });
    for (const fields of [at('/a/b'), at(`/${SERVICE}/Explain`), FIELDS.filter(([name]) => name !== 'content-type')]) {
      const peer = join(door);
      peer.write(Buffer.concat([1, 3, 5].flatMap((id) => [headers(id, fields), after(id)])));
      await peer.roundTrip(MOST_MS);
    }
    const peer = join(door);
    peer.write(Buffer.concat([headers(1, CHECK), data(1, QUESTION_BYTES)]));
    await ended(peer, 1);
    expect(statusOf(peer, 1)).toBe('0');
  });

  test('a browser is told what the port speaks', async () => {
    const { peer } = await connect();
    peer.write(
      headers(
        1,
        [
          [':method', 'GET'],
          [':scheme', 'http'],
          [':path', '/'],
          [':authority', 'a'],
        ],
        Flag.END_STREAM,
      ),
    );
    await ended(peer, 1);
    expect(peer.streams.get(1)?.blocks[0]).toContainEqual([':status', '415']);
    expect(peer.streams.get(1)?.data.toString()).toContain('This port speaks gRPC');
  });

  test('the 257th open call is refused, and may be tried again', async () => {
    const { peer } = await connect();
    const streams = Array.from({ length: 257 }, (_, index) => 2 * index + 1);
    peer.write(Buffer.concat(streams.map((id) => headers(id, CHECK))));
    await ended(peer, 513);
    expect(statusOf(peer, 513)).toBe('reset 7');
    peer.write(Buffer.concat([data(1, QUESTION_BYTES), headers(515, CHECK), data(515, QUESTION_BYTES)]));
    await ended(peer, 515);
    expect(statusOf(peer, 515)).toBe('0');
  });
});

describe('life of a connection', () => {
  test('a drain announces the end, takes calls until the client has heard of it, and loses none', async () => {
    const { door, peer } = await connect();
    await peer.roundTrip(MOST_MS);
    let open = () => {};
    door.engine.warm = false;
    door.engine.gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    peer.write(Buffer.concat([headers(1, CHECK), data(1, QUESTION_BYTES)]));
    await until(() => door.engine.waits === 1);
    const drained = door.server.drain();
    await peer.until(() => peer.connection.goaway === 0, MOST_MS);
    await peer.roundTrip(MOST_MS);
    peer.write(Buffer.concat([headers(3, CHECK), data(3, QUESTION_BYTES)]));
    await peer.roundTrip(MOST_MS);
    open();
    await drained;
    await peer.until(() => peer.connection.closed, MOST_MS);
    // The second came after the client had answered the announcement.
    expect([1, 3].map((id) => statusOf(peer, id))).toEqual(['0', undefined]);
  });

  test('an old connection ends, and with it its calls after the grace period', async () => {
    const { door, peer } = await connect({ times: { connectionAgeMs: 100, connectionGraceMs: 100 } });
    door.engine.warm = false;
    door.engine.gate = new Promise(() => {});
    peer.write(Buffer.concat([headers(1, CHECK), data(1, QUESTION_BYTES)]));
    await peer.until(() => peer.connection.closed, MOST_MS);
    expect(peer.connection).toEqual({ goaway: 0, closed: true });
    await until(() => door.metrics.calls().length === 1);
    expect(door.metrics.calls()).toEqual([{ method: 'Check', status: 'CANCELLED', count: 1 }]);
  });

  test('a drain takes nothing back of what the age of a connection has announced', async () => {
    const door = await openDoor({ front: true, times: { connectionAgeMs: 50, connectionGraceMs: 5000 } });
    door.engine.warm = false;
    door.engine.gate = new Promise(() => {});
    const socket = createConnection(door.port, '127.0.0.1');
    closeLater({ close: () => socket.destroy() });
    const last: number[] = [];
    const reader = new FrameReader();
    socket.on('data', (chunk: Buffer) =>
      reader.read(chunk, ({ type, flags, payload }) => {
        if (type === Frame.GOAWAY) last.push(payload.readUInt32BE(0));
        if (type === Frame.PING && (flags & Flag.ACK) === 0) socket.write(ping(Buffer.from(payload), Flag.ACK));
      }),
    );
    socket.write(Buffer.concat([PREFACE, settings(), headers(1, CHECK), data(1, QUESTION_BYTES)]));
    await until(() => last.length === 2);
    const drained = door.server.drain();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(last).toEqual([2 ** 31 - 1, 1]);
    socket.destroy();
    await drained;
  });

  test('a connection without a call ends', async () => {
    const { peer } = await connect({ times: { connectionIdleMs: 100 } });
    await peer.until(() => peer.connection.closed, MOST_MS);
    expect(peer.connection).toEqual({ goaway: 0, closed: true });
  });

  test('a client that answers no ping is cut, one that does is not', async () => {
    const { door, peer } = await connect({ times: { keepaliveMs: 100 } });
    const silent = new Peer({ host: '127.0.0.1', port: door.port });
    closeLater({ close: () => silent.destroy() });
    silent.socket.removeAllListeners('data').resume();
    silent.write(silent.hello());
    await silent.until(() => silent.connection.closed, MOST_MS);
    expect([silent.connection.closed, peer.connection.closed]).toEqual([true, false]);
  });

  test('open calls go on after the GOAWAY of the client, and the connection ends with them', async () => {
    const { door, peer } = await connect();
    let open = () => {};
    door.engine.warm = false;
    door.engine.gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const goaway = frame(Frame.GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(0)]));
    peer.write(
      Buffer.concat([headers(1, CHECK), data(1, QUESTION_BYTES), goaway, headers(3, CHECK), data(3, QUESTION_BYTES)]),
    );
    await until(() => door.engine.waits === 1);
    open();
    await peer.until(() => peer.connection.closed, MOST_MS);
    expect([1, 3].map((id) => statusOf(peer, id))).toEqual(['0', undefined]);
  });
});
