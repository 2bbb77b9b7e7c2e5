/** What is read of a connection in one turn of the event loop, counted; nothing here depends on time. */
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net';
import type { DuplexOptions } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Connection } from '#http2-front/connection';
import { GUEST_BYTES, Guests } from '#http2-front/guests';
import { TURN_BYTES } from '#http2-front/inbound';
import { CheckRequestSchema } from '../../../src/gen/usher/permission/v1/permission_pb.ts';
import { FakeClock } from '../../engine/fake-clock.ts';
import { Flag, Frame, FrameReader, frame, PREFACE, ping, priority, settings, windowUpdate } from '../../wire/frames.ts';
import { SCRIPTED_NAMES } from '../../wire/half-warm-engine.ts';
import { frontService, MemorySocket } from '../../wire/in-memory.ts';
import { ScriptedEngine } from '../scripted-engine.ts';
import { SERVICE } from '../support.ts';
import { at, bytesOf, data, headers, until } from './support.ts';

const KEY = ['x-internal-api-key', SCRIPTED_NAMES.key] as const;
const CHECK = at(`/${SERVICE}/Check`, [...KEY]);
/** Two reads of a socket, and what it buffers before it is told to stop. */
const MOST_HELD = 4 * 65_536;
const HELLO = Buffer.concat([PREFACE, settings()]);

const sockets: MemorySocket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Client {
  readonly engine: ScriptedEngine;
  readonly connection: Connection;
  readonly socket: MemorySocket;
  /** How many frames of a type it was sent. */
  readonly sent: (type: number) => number;
}

function client(turnBytes = TURN_BYTES, hello = HELLO, options: DuplexOptions = {}): Client {
  const engine = new ScriptedEngine();
  const clock = new FakeClock();
  const socket = new MemorySocket(options);
  sockets.push(socket);
  const service = frontService({ engine, clock });
  const connection = new Connection({ socket, service, clock, closed: () => undefined, turnBytes });
  socket.push(hello);
  const sent = (wanted: number): number => {
    let count = 0;
    new FrameReader().read(Buffer.concat(socket.received), ({ type }) => {
      if (type === wanted) count++;
    });
    return count;
  };
  return { engine, connection, socket, sent };
}

function check(stream: number): Buffer {
  const question = { email: `p${stream}@example.com`, app: 'billing', permission: 'edit' };
  return Buffer.concat([headers(stream, CHECK), data(stream, bytesOf(CheckRequestSchema, question))]);
}

function checks(count: number, first = 1): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => check(first + 2 * index)));
}

function emails(engine: ScriptedEngine): string[] {
  return engine.asked.map(({ what }) => what.email);
}

function expected(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `p${1 + 2 * index}@example.com`);
}

/** Two thousand fields without a name, each of which enters the table (CVE-2019-9516). */
function namelessFields(stream: number): Buffer {
  return frame(Frame.HEADERS, Flag.END_HEADERS, stream, Buffer.alloc(6000, Buffer.from([0x40, 0, 0])));
}

const repeated = (count: number, bytes: Buffer): Buffer => Buffer.alloc(count * bytes.length, bytes);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

/** Sends all of it at once, each part with a ping behind it, which tells when it was read. Returns the bytes read in each turn. */
async function readByTurn({ socket, sent }: Client, parts: readonly Buffer[]): Promise<number[]> {
  const all = parts.map((part) => Buffer.concat([part, ping()]));
  const before = sent(Frame.PING);
  const count = (): number => sent(Frame.PING) - before;
  const read = (): number => all.slice(0, count()).reduce((sum, { length }) => sum + length, 0);
  socket.push(Buffer.concat(all));
  const turns = [read()];
  while (count() < parts.length && !socket.writableEnded) {
    const already = read();
    await nextTurn();
    turns.push(read() - already);
  }
  expect(count()).toBe(parts.length);
  return turns;
}

describe('the portion of a turn', () => {
  test.each<[string, number, (stream: number) => Buffer]>([
    ['headers without names', 20, namelessFields],
    ['calls', 90, (stream) => checks(20, stream)],
    ['empty data', 10, () => repeated(500, frame(Frame.DATA, 0, 1))],
    ['priorities', 10, () => repeated(500, frame(Frame.PRIORITY, 0, 5, priority(3, 1)))],
    ['window updates', 20, () => repeated(500, windowUpdate(0, 1))],
    ['settings', 20, () => repeated(100, settings([0x4, 65_535], [0x4, 65_534]))],
    ['unknown frames', 20, () => repeated(10, frame(0xee, 0, 3, Buffer.alloc(1000)))],
  ])('is all that is read of a client that sends %s', async (_, count, make) => {
    const busy = client();
    busy.socket.push(headers(1, CHECK));
    await nextTurn();
    const parts = numbers(count).map((part) => make(101 + 100 * part));
    const largest = Math.max(...parts.map(({ length }) => length)) + 17;
    const turns = await readByTurn(busy, parts);
    // A part is known to be read by its end.
    expect(Math.max(...turns)).toBeLessThanOrEqual(TURN_BYTES + largest);
    expect(turns.length).toBeGreaterThan(1);
  });

  test('is less where few bytes make much work: to look at waiting streams, and for grpc-js', async () => {
    const waiting = client(undefined, Buffer.concat([PREFACE, settings([0x4, 0])]));
    await readByTurn(
      waiting,
      numbers(200).map((index) => check(1 + 2 * index)),
    );
    expect(waiting.engine.asked).toHaveLength(200);
    const updates = await readByTurn(
      waiting,
      numbers(100).map(() => windowUpdate(0, 1)),
    );
    expect(updates.length).toBeGreaterThan(8);
    const passing = client();
    // A connection without a key has less of a turn as it is.
    await readByTurn(passing, [check(1)]);
    const explain = (index: number): Buffer => headers(3 + 2 * index, at(`/${SERVICE}/Explain`), Flag.END_STREAM);
    expect((await readByTurn(passing, numbers(100).map(explain))).length).toBeGreaterThan(3);
  });

  test('leaves the next turn to another client', async () => {
    const [busy, other] = [client(), client()];
    busy.socket.push(Buffer.concat(numbers(500).map((index) => namelessFields(1 + 2 * index))));
    other.socket.push(check(1));
    await nextTurn();
    expect(emails(other.engine)).toEqual(expected(1));
    expect(busy.sent(Frame.RST_STREAM)).toBeLessThan(12);
  });
});

describe('what is held back', () => {
  test.each([1, 9, 100, 1000, 10_000])('comes in its order, %i bytes a turn', async (turnBytes) => {
    const { engine, socket, sent } = client(turnBytes);
    const bytes = checks(20);
    socket.push(bytes.subarray(0, 700));
    socket.push(bytes.subarray(700));
    await until(() => engine.asked.length === 20);
    expect(emails(engine)).toEqual(expected(20));
    expect(sent(Frame.DATA)).toBe(20);
  });

  test('is answered before the connection of a client that has ended its side', async () => {
    const { engine, socket, sent } = client(500);
    socket.push(checks(20));
    await nextTurn();
    socket.push(null);
    // As node:net does for a socket that is paused.
    socket.read(0);
    await nextTurn();
    expect(engine.asked.length).toBeLessThan(20);
    await until(() => socket.writableEnded);
    expect(emails(engine)).toEqual(expected(20));
    expect(sent(Frame.DATA)).toBe(20);
  });

  test('waits for a client that does not read its answers', async () => {
    const { engine, socket, sent } = client(500, HELLO, { writableHighWaterMark: 1 });
    socket.stalls = true;
    socket.push(checks(20));
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect(engine.asked.length).toBeLessThan(5);
    socket.readOn();
    await until(() => engine.asked.length === 20);
    expect(emails(engine)).toEqual(expected(20));
    await until(() => sent(Frame.DATA) === 20);
  });

  test('is dropped with a fault of the connection before it', async () => {
    const { engine, socket, sent } = client(500);
    socket.push(Buffer.concat([checks(5), frame(Frame.PING, 0, 1, Buffer.alloc(8)), checks(20, 101)]));
    await until(() => socket.writableEnded);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect(emails(engine)).toEqual(expected(5));
    expect([sent(Frame.DATA), sent(Frame.GOAWAY)]).toEqual([5, 1]);
  });

  test('is dropped with the socket', async () => {
    const { engine, socket } = client(500);
    socket.push(checks(20));
    await nextTurn();
    socket.destroy();
    await nextTurn();
    const asked = engine.asked.length;
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect(asked).toBeLessThan(20);
    expect(engine.asked).toHaveLength(asked);
  });

  test('is not among the calls that the end of the connection promises to answer', async () => {
    const { engine, connection, socket } = client(500);
    socket.push(checks(20));
    await nextTurn();
    connection.refuseNew();
    await until(() => socket.writableEnded);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    let last = 0;
    new FrameReader().read(Buffer.concat(socket.received), ({ type, payload }) => {
      if (type === Frame.GOAWAY) last = payload.readUInt32BE(0);
    });
    expect(last).toBeLessThan(39);
    expect(emails(engine)).toEqual(expected((last + 1) / 2));
  });

  test('and what comes behind it is bounded: the rest stays with the client', async () => {
    const servers: Socket[] = [];
    const clock = new FakeClock();
    const listener = createServer((socket) => {
      servers.push(socket);
      const service = frontService({ engine: new ScriptedEngine(), clock });
      new Connection({ socket, service, clock, closed: () => undefined, turnBytes: 100 });
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const socket = connectTo((listener.address() as AddressInfo).port, '127.0.0.1');
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    socket.write(HELLO);
    socket.write(repeated(500_000, ping()));
    // A ping is 17 bytes both ways.
    await until(() => received > 5000);
    for (let turn = 0; turn < 200; turn++) {
      await nextTurn();
      expect(servers[0]?.bytesRead).toBeLessThan(received + MOST_HELD);
    }
    socket.destroy();
    servers[0]?.destroy();
    await new Promise((resolve) => listener.close(resolve));
  });
});

test('twenty connections whose calls are refused get a part of a turn together, and a caller its own', async () => {
  const clock = new FakeClock();
  const engine = new ScriptedEngine();
  const service = frontService({ engine, clock });
  const join = (): MemorySocket => {
    const socket = new MemorySocket();
    sockets.push(socket);
    new Connection({ socket, service, clock, closed: () => undefined });
    socket.push(HELLO);
    return socket;
  };
  const refusals = (): number => service.refused.counts().get('key') as number;
  const caller = join();
  caller.push(check(1));
  await until(() => engine.asked.length === 1);
  const wrong = Buffer.concat(
    Array.from({ length: 200 }, (_, index) => headers(2 * index + 1, at(`/${SERVICE}/Check`), Flag.END_STREAM)),
  );
  for (let n = 0; n < 20; n++) join().push(wrong);
  let [most, turns, before] = [0, 0, refusals()];
  for (; refusals() < 4000; turns++) {
    if (turns === 10) caller.push(checks(100, 3));
    await nextTurn();
    // Its calls are answered in the turn in which they come, or in the next one, whatever is refused beside them.
    if (turns === 12) expect(engine.asked).toHaveLength(101);
    most = Math.max(most, refusals() - before);
    before = refusals();
  }
  // A refusal counts as a kilobyte and the bytes of its headers: 64 kB in all, and the last of each connection.
  expect(most).toBeLessThan(90);
  expect(turns).toBeGreaterThan(40);
});

test('a message is read behind the headers that show a right, where they take the last of what guests have in a turn', async () => {
  const clock = new FakeClock();
  const engine = new ScriptedEngine();
  const guests = new Guests(() => undefined, GUEST_BYTES, 1);
  const socket = new MemorySocket();
  sockets.push(socket);
  new Connection({
    socket,
    service: { ...frontService({ engine, clock }), guests },
    clock,
    closed: () => undefined,
  });
  socket.push(HELLO);
  await until(() => !guests.mustWait);
  socket.push(checks(3));
  await until(() => engine.asked.length === 3);
  expect(emails(engine)).toEqual(expected(3));
});
