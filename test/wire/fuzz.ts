/** Throws mutated connections at a gRPC port, or at whatever takes a stream of bytes for one, and watches a good client beside. */
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { SERVICE } from '../grpc/support.ts';
import { type Random, seeded } from '../oracle/world.ts';
import type { Names } from './calls.ts';
import { Flag, Frame, frame, MAX_WINDOW, message } from './frames.ts';
import { type Field, HpackEncoder } from './hpack.ts';
import { mutate } from './mutator.ts';
import { Peer } from './peer.ts';
import { randomScript } from './script.ts';

export interface FuzzOptions {
  /** A new connection: a socket, or one half of a pair in memory. */
  readonly connect: () => Duplex;
  readonly names: Names;
  readonly seed: number;
  readonly inputs: number;
  readonly mostMs?: number;
  readonly atOnce?: number;
  /** What a question of the good client's is answered by: DATA in hex. */
  readonly canary: { readonly question: Buffer; readonly answer: string };
  readonly progress?: (so: FuzzResult) => void;
}

export interface FuzzResult {
  inputs: number;
  bytes: number;
  /** Connections that the port ended, and streams that it answered or reset. */
  goaways: number;
  answers: number;
  canaries: number;
  readonly wrong: string[];
}

/** Of a key that no port knows. */
const WRONG_KEY = 'a-key-that-nobody-has';
/** How long a port is listened to that waits for the rest of an input. */
const QUIET_MS = 20;
/** A server accepts few connections a turn: as many turns as lanes are not enough. */
const QUIET_TURNS = 20;
const CANARY_MS = 5000;
const CANARY_EVERY = 20;
const MOST_WRONG = 5;
/** What health says to everybody: SERVING, or NOT_SERVING. */
const PUBLIC = ['00000000020801', '00000000020802'];

export async function fuzz(options: FuzzOptions): Promise<FuzzResult> {
  const { seed, inputs, mostMs = Number.POSITIVE_INFINITY, atOnce = 4 } = options;
  const seen: FuzzResult = { inputs: 0, bytes: 0, goaways: 0, answers: 0, canaries: 0, wrong: [] };
  const begun = performance.now();
  const canary = new Canary(options, seen);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (seen.inputs < inputs && seen.wrong.length < MOST_WRONG && performance.now() - begun < mostMs) {
      const own = seed * 1_000_003 + next++;
      await one(options, own, seen);
      if (own % CANARY_EVERY === 0) await canary.ask();
      options.progress?.(seen);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  await canary.ask();
  canary.close();
  return seen;
}

/** Every second input has a key that is not valid, and must never see a decision. */
async function one({ connect, names }: FuzzOptions, seed: number, seen: FuzzResult): Promise<void> {
  const random = seeded(seed);
  const isStranger = random(2) === 0;
  const bytes = input(random, seed, isStranger ? { ...names, key: WRONG_KEY } : names);
  const peer = new Peer(connect());
  const wrong = (why: string): void => {
    seen.wrong.push(`seed ${seed}: ${why}\n  sent ${bytes.toString('hex').slice(0, 4000)}`);
  };
  try {
    await peer.writeCut(bytes, () => (random(4) > 0 ? bytes.length : 1 + random(bytes.length)));
    // Half of the clients say that they send no more, the others wait for their answers.
    if (random(2) === 0) {
      peer.socket.end();
      await quiet(() => peer.connection.closed);
    } else await quiet(peer.ping());
    if (peer.unreadable !== undefined) wrong(`unreadable: ${peer.unreadable}`);
    for (const [stream, { blocks, data, end }] of peer.streams) {
      if (end !== '') seen.answers++;
      if (stream % 2 === 0) wrong(`an answer on stream ${stream}`);
      const isHttp = blocks[0]?.some(([name, value]) => name === ':status' && value !== '200');
      if (isStranger && !isHttp && !PUBLIC.some((known) => known.startsWith(data.toString('hex'))))
        wrong(`a stranger was told ${data.toString('hex')}`);
    }
  } finally {
    peer.destroy();
  }
  seen.inputs++;
  seen.bytes += bytes.length;
  if (peer.connection.goaway !== undefined) seen.goaways++;
}

/** Resolves once `holds`, or when nothing more can be expected: by turns as well, since a busy machine makes time pass quickly. */
async function quiet(holds: () => boolean): Promise<void> {
  const begun = performance.now();
  for (let turns = 0; !holds() && (turns < QUIET_TURNS || performance.now() - begun < QUIET_MS); turns++)
    await pause(1);
}

/** What the client of a seed sends. */
function input(random: Random, seed: number, names: Names): Buffer {
  return mutate(random, unchanged(random, seed, names));
}

/** What it would send if it were a good one. */
export function unchanged(random: Random, seed: number, names: Names): Buffer {
  const script = randomScript(random, seed, names, 6);
  const hello = Peer.helloFor(script.windows);
  return Buffer.concat([hello, ...script.items.map(({ bytes }) => bytes)]);
}

/** A good client with a connection that stays, and one that it makes anew for each question. */
class Canary {
  readonly #options: FuzzOptions;
  readonly #seen: FuzzResult;
  #old: Peer | undefined;
  #encoder = new HpackEncoder();
  #stream = 1;

  constructor(options: FuzzOptions, seen: FuzzResult) {
    this.#options = options;
    this.#seen = seen;
  }

  async ask(): Promise<void> {
    if (this.#old === undefined || this.#old.connection.closed || this.#stream > MAX_WINDOW) {
      this.#old = this.#open();
      this.#encoder = new HpackEncoder();
      this.#stream = 1;
    }
    const stream = this.#stream;
    this.#stream += 2;
    const fresh = this.#open();
    await Promise.all([this.#question(this.#old, this.#encoder, stream), this.#question(fresh, new HpackEncoder(), 1)]);
    fresh.destroy();
  }

  close(): void {
    this.#old?.destroy();
  }

  #open(): Peer {
    const peer = new Peer(this.#options.connect());
    peer.write(peer.hello());
    return peer;
  }

  async #question(peer: Peer, encoder: HpackEncoder, stream: number): Promise<void> {
    const { names, canary } = this.#options;
    const fields: Field[] = [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', `/${SERVICE}/Check`],
      [':authority', 'usher.test'],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
      ['x-internal-api-key', names.key],
    ];
    const block = encoder.encode(fields, () => ({ form: 'indexed', huffman: true }));
    const head = frame(Frame.HEADERS, Flag.END_HEADERS, stream, block);
    const body = frame(Frame.DATA, Flag.END_STREAM, stream, message(canary.question));
    peer.write(Buffer.concat([head, body]));
    await peer.ended(stream, CANARY_MS);
    this.#seen.canaries++;
    const said = peer.streams.get(stream);
    const status = said?.blocks.flat().find(([name]) => name === 'grpc-status')?.[1];
    const data = said?.data.toString('hex');
    if (status !== '0' || data !== canary.answer || said?.end !== 'ended') {
      this.#seen.wrong.push(`the good client got ${status}, ${data}, ${said?.end}; ${peer.unreadable ?? ''}`);
    }
    peer.streams.delete(stream);
  }
}
