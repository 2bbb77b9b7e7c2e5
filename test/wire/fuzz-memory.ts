/** Mutated connections at the front alone, over pairs in memory: thousands a second, several interleaved in each turn. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Connection } from '#http2-front/connection';
import { HpackDecoder } from '#http2-front/hpack';
import { TURN_BYTES } from '#http2-front/inbound';
import { FakeClock } from '../engine/fake-clock.ts';
import { type Random, seeded } from '../oracle/world.ts';
import { Frame, FrameReader } from './frames.ts';
import { unchanged } from './fuzz.ts';
import { HalfWarmEngine, SCRIPTED_NAMES } from './half-warm-engine.ts';
import { frontService, MemorySocket } from './in-memory.ts';
import { mutate } from './mutator.ts';

export interface MemoryFuzz {
  readonly seed: number;
  readonly inputs: number;
  readonly progress?: (so: MemoryFuzzResult) => void;
}

export interface MemoryFuzzResult {
  inputs: number;
  bytes: number;
  goaways: number;
  /** Answers of methods, of which none went to a client without a key. */
  answers: number;
  /** Calls that were passed on. */
  passed: number;
  readonly wrong: string[];
}

const WRONG_KEY = 'a-key-that-nobody-has';
/** Connections that are open at the same time. */
const TOGETHER = 16;
/** Clients that are the same one but for their mistakes: making a good one costs far more than changing it. */
const VARIANTS = 16;
const MOST_WRONG = 5;
/** Of a connection in a turn: the rest waits, behind any frame. */
const PORTIONS = [128, 1024, 8192, TURN_BYTES];
/** For what waits, and for what a deadline or a closed socket calls off. */
const TIME_MS = 60_000;

interface Client {
  readonly seed: number;
  readonly random: Random;
  readonly isStranger: boolean;
  readonly bytes: Buffer;
  readonly socket: MemorySocket;
  sent: number;
  closed: boolean;
}

export async function fuzzInMemory({ seed, inputs, progress }: MemoryFuzz): Promise<MemoryFuzzResult> {
  const seen: MemoryFuzzResult = { inputs: 0, bytes: 0, goaways: 0, answers: 0, passed: 0, wrong: [] };
  const clock = new FakeClock();
  const engine = new HalfWarmEngine();
  // The whole, with grpc-js, has `fuzz.test.ts`.
  const service = frontService({ engine, clock, passed: () => seen.passed++ });
  for (let from = 0; from < inputs && seen.wrong.length < MOST_WRONG; from += TOGETHER) {
    const clients = Array.from({ length: TOGETHER }, (_, n) => clientOf(seed * 1_000_003 + from + n));
    for (const client of clients) {
      const closed = (): void => {
        client.closed = true;
      };
      const turnBytes = PORTIONS[client.seed % PORTIONS.length] as number;
      new Connection({ socket: client.socket, service, clock, closed, turnBytes });
    }
    while (clients.some(write)) await nextTurn();
    do await nextTurn();
    while (clients.some(({ socket }) => !socket.destroyed && socket.isPaused()));
    await clock.advance(TIME_MS);
    for (const client of clients) examine(client, seen);
    for (const { socket } of clients) socket.destroy();
    await nextTurn();
    await clock.advance(TIME_MS);
    for (const client of clients) if (!client.closed) fault(seen, client, 'the connection is kept');
    if (clock.timers > 0) seen.wrong.push(`seeds ${seed * 1_000_003 + from} and on: ${clock.timers} timers are kept`);
    seen.inputs += TOGETHER;
    engine.asked = [];
    progress?.(seen);
  }
  return seen;
}

function clientOf(seed: number): Client {
  const random = seeded(seed);
  const { isStranger, bytes } = goodClient(Math.floor(seed / VARIANTS));
  return { seed, random, isStranger, bytes: mutate(random, bytes), socket: new MemorySocket(), sent: 0, closed: false };
}

interface GoodClient {
  readonly seed: number;
  readonly isStranger: boolean;
  readonly bytes: Buffer;
}

let last: GoodClient | undefined;

function goodClient(seed: number): GoodClient {
  if (last?.seed === seed) return last;
  const random = seeded(seed);
  const isStranger = random(2) === 0;
  const bytes = unchanged(random, seed, isStranger ? { ...SCRIPTED_NAMES, key: WRONG_KEY } : SCRIPTED_NAMES);
  last = { seed, isStranger, bytes };
  return last;
}

/** Sends a piece. Returns whether there is more. */
function write(client: Client): boolean {
  const { random, bytes, socket } = client;
  if (socket.destroyed || client.sent >= bytes.length) return false;
  const end = random(3) > 0 ? bytes.length : client.sent + 1 + random(bytes.length);
  socket.push(bytes.subarray(client.sent, end));
  client.sent = end;
  if (end >= bytes.length && random(2) === 0) socket.push(null);
  return end < bytes.length;
}

function fault(seen: MemoryFuzzResult, { seed, bytes }: Client, why: string): void {
  seen.wrong.push(`seed ${seed}: ${why}\n  sent ${bytes.toString('hex').slice(0, 4000)}`);
}

/** Every second client has a key that is not valid, and must never be sent a decision. */
function examine(client: Client, seen: MemoryFuzzResult): void {
  const hpack = new HpackDecoder();
  const statuses = new Map<number, string>();
  let ended = false;
  seen.bytes += client.bytes.length;
  try {
    new FrameReader().read(Buffer.concat(client.socket.received), ({ type, stream, payload }) => {
      // Credit for what was received may follow.
      if (ended && type !== Frame.WINDOW_UPDATE) fault(seen, client, `a frame of type ${type} behind the end`);
      if ((stream % 2 === 1) === false && stream !== 0) fault(seen, client, `a frame on stream ${stream}`);
      if (type === Frame.HEADERS) {
        const { names, values } = hpack.decode(payload, 0, payload.length);
        const place = names.indexOf(':status');
        if (place >= 0) statuses.set(stream, values[place] as string);
      } else if (type === Frame.DATA && statuses.get(stream) === '200') {
        seen.answers++;
        if (client.isStranger) fault(seen, client, `a stranger was sent ${payload.toString('hex')}`);
      } else if (type === Frame.GOAWAY) {
        seen.goaways++;
        ended = payload.readUInt32BE(4) !== 0;
      }
    });
  } catch (error) {
    fault(seen, client, `unreadable: ${String(error)}`);
  }
}
