/** Attacks of strangers on the gRPC port: what they could make a service keep, and do, before they show a key. */
import net from 'node:net';
import { PermissionService } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { Flag, Frame, frame, MAX_PAYLOAD, PREFACE, ping, settings } from '../wire/frames.ts';
import { type Field, HpackEncoder } from '../wire/hpack.ts';
import type { Tools } from './wire-attacks.ts';

const CHECK = `/${PermissionService.typeName}/Check`;
const HEALTH = '/grpc.health.v1.Health/Check';
const WATCH = '/grpc.health.v1.Health/Watch';
const HELLO = Buffer.concat([PREFACE, settings()]);
const STREAMS = Array.from({ length: 250 }, (_, index) => 2 * index + 1);
const MIB = 1024 * 1024;
/** Strangers come from another address than callers, where this machine has several. */
const FROM = process.platform === 'linux' ? { localAddress: '127.0.0.9' } : {};

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
  return new HpackEncoder().encode(fields, () => ({ form: 'plain', huffman: false }));
}

function headers(stream: number, fields: Buffer, flags = 0): Buffer {
  const made: Buffer[] = [];
  for (let at = 0; at < fields.length; at += MAX_PAYLOAD) {
    const last = at + MAX_PAYLOAD >= fields.length ? Flag.END_HEADERS : 0;
    const piece = fields.subarray(at, at + MAX_PAYLOAD);
    made.push(frame(at === 0 ? Frame.HEADERS : Frame.CONTINUATION, last | (at === 0 ? flags : 0), stream, piece));
  }
  return Buffer.concat(made);
}

/** The beginning of a message. */
function announced(size: number): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(size, 1);
  return prefix;
}

/** Calls that announce a message, then pieces of it, but for its last bytes. */
function* unfinished(path: string, size: number): Generator<Buffer> {
  const call = block(path);
  for (const id of STREAMS) yield Buffer.concat([headers(id, call), frame(Frame.DATA, 0, id, announced(size))]);
  for (let sent = 0; sent + MAX_PAYLOAD < size; sent += MAX_PAYLOAD) {
    for (const id of STREAMS) yield frame(Frame.DATA, 0, id, Buffer.alloc(MAX_PAYLOAD));
  }
}

function* eachStream(make: (stream: number) => Buffer): Generator<Buffer> {
  for (const id of STREAMS) yield make(id);
}

/** Connections that send as much as they are let, then stay. One that is cut is made anew. */
async function press(
  { port, isOver, pause, count }: Tools,
  connections: number,
  pieces: () => Iterable<Buffer>,
  reads = true,
) {
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const socket = net.connect({ port, host: '127.0.0.1', ...FROM }).on('error', () => undefined);
      if (reads) socket.resume();
      socket.write(HELLO);
      for (const piece of pieces()) {
        if (socket.destroyed || isOver()) break;
        count();
        if (!socket.write(piece)) {
          const taken = new Promise((resolve) => socket.once('drain', resolve).once('close', resolve));
          await Promise.race([taken, pause(200)]);
        }
      }
      while (!socket.destroyed && !isOver()) await pause(20);
      socket.destroy();
      await pause(5);
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
}

const LONG_FIELDS = Array.from({ length: 15 }, (_, index): Field => [`x-${index}`, 'v'.repeat(4000)]);

export function doorAttacks(tools: Tools): Record<string, () => Promise<void>> {
  return {
    'strangers: messages of a megabyte that do not end': () => press(tools, 3, () => unfinished(CHECK, MIB)),
    'strangers: messages to health that do not end': () => press(tools, 22, () => unfinished(HEALTH, 4000)),
    'strangers: calls with 60 kB of headers': () =>
      press(tools, 22, () => eachStream((id) => headers(id, block(CHECK, ...LONG_FIELDS)))),
    'strangers: calls to health with 60 kB of headers': () =>
      press(tools, 22, () => eachStream((id) => headers(id, block(HEALTH, ...LONG_FIELDS)))),
    'strangers: watches of health': () =>
      press(tools, 100, () =>
        eachStream((id) =>
          Buffer.concat([headers(id, block(WATCH)), frame(Frame.DATA, Flag.END_STREAM, id, announced(0))]),
        ),
      ),
    'strangers: blocks of headers that do not end': () =>
      press(tools, 500, () => [
        frame(Frame.HEADERS, Flag.NONE, 1, block(CHECK)),
        frame(Frame.CONTINUATION, Flag.NONE, 1, Buffer.alloc(MAX_PAYLOAD)),
        frame(Frame.CONTINUATION, Flag.NONE, 1, Buffer.alloc(MAX_PAYLOAD)),
      ]),
    'strangers: frames that do not end': () =>
      press(tools, 500, () => [frame(Frame.DATA, Flag.NONE, 1, Buffer.alloc(MAX_PAYLOAD)).subarray(0, -100)]),
    'strangers: pings whose answers nobody reads': () =>
      press(tools, 100, () => Array.from({ length: 50 }, () => Buffer.concat(Array(200).fill(ping()))), false),
    'strangers: more connections than descriptors': () => press(tools, 367, () => []),
    'strangers: calls that are refused, over twenty connections': () =>
      press(tools, 20, function* () {
        for (let id = 1; ; id += 2) {
          yield Buffer.concat([headers(id, block(CHECK)), frame(Frame.DATA, Flag.END_STREAM, id, announced(0))]);
        }
      }),
    'strangers: bodies that are longer than they said': () =>
      press(tools, 20, () =>
        eachStream((id) =>
          Buffer.concat([headers(id, block(HEALTH, ['content-length', '1'])), frame(Frame.DATA, 1, id, announced(0))]),
        ),
      ),
  };
}
