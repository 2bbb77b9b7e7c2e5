/** What a client writes on one connection: the frames of several calls, interleaved, and at the end perhaps a fault. */
import { pick, type Random } from '../oracle/world.ts';
import { type Names, randomCall, type WireCall } from './calls.ts';
import {
  ErrorCode,
  Flag,
  Frame,
  frame,
  MAX_PAYLOAD,
  NOTHING,
  padded,
  ping,
  priority,
  reset,
  settings,
  windowUpdate,
} from './frames.ts';
import { type Field, type Form, HpackEncoder, type Shape } from './hpack.ts';
import type { Windows } from './peer.ts';

/** Bytes that are written in one piece as far as windows are concerned. */
export interface Item {
  readonly stream: number;
  readonly bytes: Buffer;
  /** What it takes from the windows. */
  readonly cost: number;
}

/** How the bytes are cut: in one piece, byte by byte, or at random up to a size. */
export type Cut = 'whole' | 'bytes' | number;

export interface Script {
  readonly seed: number;
  readonly calls: ReadonlyMap<number, WireCall>;
  readonly items: readonly Item[];
  readonly windows: Windows;
  readonly cut: Cut;
  /** Sent when all calls are over: a fault of the connection, by its name. */
  readonly fault: { readonly name: string; readonly bytes: Buffer } | undefined;
}

/** Each is a connection error in RFC 9113, and in nghttp2 too. */
const FAULTS: Readonly<Record<string, (next: number) => Buffer>> = {
  'DATA on an idle stream': (next) => frame(Frame.DATA, Flag.END_STREAM, next, Buffer.from('a')),
  'DATA on stream 0': () => frame(Frame.DATA, Flag.NONE, 0, Buffer.from('a')),
  'HEADERS on stream 0': () => frame(Frame.HEADERS, Flag.END_HEADERS, 0, Buffer.from([0x83])),
  'HEADERS on an even stream': () => frame(Frame.HEADERS, Flag.END_HEADERS, 2 ** 30, Buffer.from([0x83])),
  'RST_STREAM on an idle stream': (next) => reset(next),
  'RST_STREAM of 3 bytes': () => frame(Frame.RST_STREAM, Flag.NONE, 1, Buffer.alloc(3)),
  'SETTINGS of 5 bytes': () => frame(Frame.SETTINGS, Flag.NONE, 0, Buffer.alloc(5)),
  'SETTINGS on a stream': () => frame(Frame.SETTINGS, Flag.NONE, 1, NOTHING),
  'SETTINGS acknowledged with a payload': () => frame(Frame.SETTINGS, Flag.ACK, 0, Buffer.alloc(6)),
  'an initial window beyond 2^31-1': () => settings([0x4, 2 ** 31]),
  'a frame size below 16384': () => settings([0x5, 100]),
  'ENABLE_PUSH 2': () => settings([0x2, 2]),
  'PING of 7 bytes': () => frame(Frame.PING, Flag.NONE, 0, Buffer.alloc(7)),
  'PING on a stream': () => frame(Frame.PING, Flag.NONE, 1, Buffer.alloc(8)),
  'GOAWAY on a stream': () => frame(Frame.GOAWAY, Flag.NONE, 1, Buffer.alloc(8)),
  'WINDOW_UPDATE of nothing': () => windowUpdate(0, 0),
  'WINDOW_UPDATE of 3 bytes': () => frame(Frame.WINDOW_UPDATE, Flag.NONE, 0, Buffer.alloc(3)),
  'WINDOW_UPDATE on an idle stream': (next) => windowUpdate(next, 1),
  'a connection window beyond 2^31-1': () =>
    Buffer.concat([windowUpdate(0, 2 ** 31 - 1), windowUpdate(0, 2 ** 31 - 1)]),
  PUSH_PROMISE: () => frame(Frame.PUSH_PROMISE, Flag.END_HEADERS, 1, Buffer.from([0, 0, 0, 2, 0x83])),
  'CONTINUATION of nothing': () => frame(Frame.CONTINUATION, Flag.END_HEADERS, 1, Buffer.from([0x83])),
  'DATA within a header block': (next) =>
    Buffer.concat([frame(Frame.HEADERS, Flag.NONE, next, Buffer.from([0x83])), frame(Frame.DATA, Flag.NONE, next)]),
  'a frame above 16384': () => frame(Frame.DATA, Flag.NONE, 1, Buffer.alloc(MAX_PAYLOAD + 1)),
  'an index beyond the tables': (next) => frame(Frame.HEADERS, Flag.END_HEADERS, next, Buffer.from([0xff, 0x7f])),
  'index 0': (next) => frame(Frame.HEADERS, Flag.END_HEADERS, next, Buffer.from([0x80])),
  'an integer without an end': (next) => frame(Frame.HEADERS, Flag.END_HEADERS, next, Buffer.alloc(20, 0xff)),
  'a string cut off': (next) => frame(Frame.HEADERS, Flag.END_HEADERS, next, Buffer.from([0x40, 0x20, 0x61])),
  'a table size beyond the limit': (next) =>
    frame(Frame.HEADERS, Flag.END_HEADERS, next, Buffer.from([0x3f, 0xe2, 0x1f])),
  'padding as long as its frame': (next) =>
    frame(Frame.HEADERS, Flag.END_HEADERS | Flag.PADDED, next, Buffer.from([9, 0x83, 0x86])),
};

const HEADER_FORMS: readonly Form[] = ['indexed', 'indexed', 'indexed', 'incremental', 'plain', 'never'];

/** Chooses how fields are written: once for a connection, or anew for each field. */
function shapes(random: Random): (field: Field) => Shape {
  const usual: Shape = { form: pick(random, HEADER_FORMS), huffman: random(2) === 0 };
  if (random(3) > 0) return () => usual;
  return () => ({ form: pick(random, HEADER_FORMS), huffman: random(2) === 0 });
}

/** nghttp2 ends a connection that sends more of them for one block. */
const MAX_CONTINUATIONS = 8;

/** HEADERS, and CONTINUATION where it is cut. Nothing comes between them. */
function headers(random: Random, stream: number, block: Buffer, flags: number): Buffer {
  let first = block;
  let extra = flags;
  if (random(8) === 0) {
    first = Buffer.concat([priority(random(3) * 2, random(256), random(2) === 0), first]);
    extra |= Flag.PRIORITY;
  }
  const least = Math.ceil(first.length / (1 + MAX_CONTINUATIONS));
  const most = random(6) === 0 ? least + random(first.length) : MAX_PAYLOAD - 300;
  const pieces: Buffer[] = [];
  for (let at = 0; at < first.length || at === 0; at += most) pieces.push(first.subarray(at, at + most));
  // A first piece that ends within the priority is a fault, not a continuation.
  if (extra & Flag.PRIORITY && (pieces[0] as Buffer).length < 5) pieces.splice(0, pieces.length, first);
  if (random(8) === 0) {
    pieces[0] = padded(pieces[0] as Buffer, random(200));
    extra |= Flag.PADDED;
  }
  const isLast = (index: number) => (index === pieces.length - 1 ? Flag.END_HEADERS : 0);
  return Buffer.concat(
    pieces.map((piece, index) =>
      frame(index === 0 ? Frame.HEADERS : Frame.CONTINUATION, (index === 0 ? extra : 0) | isLast(index), stream, piece),
    ),
  );
}

/** The DATA frames of a call, and how its request ends. */
function body(
  random: Random,
  stream: number,
  call: WireCall,
  encode: (fields: readonly Field[]) => Buffer,
): (() => Item)[] {
  const made: (() => Item)[] = [];
  const item = (bytes: Buffer, cost = 0): void => {
    made.push(() => ({ stream, bytes, cost }));
  };
  const ends = call.ending === 'data';
  const most = pick(random, [MAX_PAYLOAD - 256, MAX_PAYLOAD - 256, 1 + random(20), 5]);
  const size = Math.max(most, Math.ceil(call.body.length / 50));
  for (let at = 0; at < call.body.length; at += size) {
    const piece = call.body.subarray(at, at + size);
    const isLast = at + size >= call.body.length;
    const pads = random(8) === 0;
    const payload = pads ? padded(piece, random(100)) : piece;
    const flags = (pads ? Flag.PADDED : 0) | (isLast && ends ? Flag.END_STREAM : 0);
    item(frame(Frame.DATA, flags, stream, payload), payload.length);
    if (random(10) === 0 && !(isLast && ends)) item(between(random, stream));
  }
  if (call.ending === 'empty data' || (ends && call.body.length === 0))
    item(frame(Frame.DATA, Flag.END_STREAM, stream));
  if (call.ending === 'reset') item(reset(stream, ErrorCode.CANCEL));
  if (call.ending === 'trailers') {
    made.push(() => {
      const block = encode(call.trailers.length === 0 ? [['x-trailer', 'a']] : call.trailers);
      return { stream, bytes: frame(Frame.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, stream, block), cost: 0 };
    });
  }
  return made;
}

/** A frame that changes no answer. */
function between(random: Random, stream: number): Buffer {
  return pick(random, [
    () => ping(Buffer.from('between!')),
    () => frame(Frame.PRIORITY, Flag.NONE, stream, priority(stream + 2, random(256))),
    () => frame(0x4c, random(256), random(2) * stream, Buffer.alloc(random(50))),
    () => windowUpdate(0, 1 + random(1000)),
    () => windowUpdate(stream, 1 + random(1000)),
    () => frame(Frame.DATA, Flag.NONE, stream),
    () => settings([0x6, 2 ** 20]),
    () => settings([0xff00 + random(8), random(1000)]),
  ])();
}

/** What a connection may carry before the windows that it begins with are used up. */
const BUDGET = 60_000;

export function randomScript(random: Random, seed: number, names: Names, mostCalls: number): Script {
  const encoder = new HpackEncoder();
  const shape = shapes(random);
  const encode = (fields: readonly Field[]) => encoder.encode(fields, shape);
  const calls = new Map<number, WireCall>();
  const items: Item[] = [];
  let open: (() => Item)[][] = [];
  let next = 1;
  for (let left = 1 + random(mostCalls); left > 0 || open.length > 0; ) {
    if (left > 0 && (open.length === 0 || random(3) === 0)) {
      left--;
      const stream = next;
      next += 2 * (1 + (random(20) === 0 ? random(5) : 0));
      const call = randomCall(random, names);
      calls.set(stream, call);
      const end = call.ending === 'headers' ? Flag.END_STREAM : 0;
      items.push({ stream, bytes: headers(random, stream, encode(call.fields), end), cost: 0 });
      if (call.ending !== 'headers') open.push(body(random, stream, call, encode));
    } else {
      const chosen = pick(random, open);
      const make = chosen.shift();
      if (make === undefined) open = open.filter((one) => one !== chosen);
      else items.push(make());
    }
  }
  const bytes = items.reduce((sum, item) => sum + item.bytes.length, 0);
  const windows: Windows = random(4) > 0 ? 'wide' : pick(random, ['initial', 0, 1, 10, 100] as const);
  const cut: Cut = random(3) > 0 ? 'whole' : bytes < 2000 && random(8) === 0 ? 'bytes' : 50 + random(2000);
  const faults = Object.entries(FAULTS);
  const [name, make] = pick(random, faults);
  const fault = random(10) === 0 && bytes < BUDGET ? { name, bytes: make(next) } : undefined;
  return { seed, calls, items, windows, cut, fault };
}
