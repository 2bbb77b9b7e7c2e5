/** Plays a script to a port, and says what came back in a form in which two ports can be compared. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Random, seeded } from '../oracle/world.ts';
import type { Field } from './hpack.ts';
import { type Address, Peer, type StreamEnd } from './peer.ts';
import type { Script } from './script.ts';

export interface Outcome {
  /** By stream: what a client of it sees. */
  readonly streams: ReadonlyMap<number, string>;
  readonly connection: string;
}

/** A port that is silent for so long has forgotten the call. */
const PATIENCE_MS = 10_000;
const FAULT_MS = 2000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** `settleMs`: how long streams that may be left without an answer are watched for one. */
export async function replay(address: Address, script: Script, settleMs: number): Promise<Outcome> {
  const peer = new Peer(address, script.windows);
  try {
    await write(peer, script);
    const answered = (stream: number) => peer.end(stream) !== undefined || peer.connection.closed;
    const calls = [...script.calls];
    const due = calls.filter(([, { ending }]) => ending !== 'never' && ending !== 'reset').map(([stream]) => stream);
    const held = await peer.until(() => due.every(answered), PATIENCE_MS);
    if (due.length < calls.length) {
      await peer.roundTrip(PATIENCE_MS);
      await pause(settleMs);
      await peer.roundTrip(PATIENCE_MS);
    }
    const streams = new Map(calls.map(([id, call]) => [id, describe(peer.streams.get(id), call.certain)]));
    for (const id of peer.streams.keys()) if (!streams.has(id)) streams.set(id, 'never begun, and answered');
    if (script.fault !== undefined && !peer.connection.closed) {
      peer.write(script.fault.bytes);
      await peer.until(() => peer.connection.closed, FAULT_MS);
    }
    const { goaway, closed } = peer.connection;
    const unreadable = peer.unreadable === undefined ? '' : ` unreadable: ${peer.unreadable}`;
    return { streams, connection: `${held ? '' : 'silent '}goaway ${goaway} closed ${closed}${unreadable}` };
  } finally {
    peer.destroy();
  }
}

async function write(peer: Peer, { items, cut, seed }: Script): Promise<void> {
  const random = seeded(seed);
  let held = peer.hello();
  for (const { stream, bytes, cost } of items) {
    if (cost > 0 && !peer.take(stream, cost)) {
      await send(peer, held, cut, random);
      held = Buffer.alloc(0);
      const over = () => peer.end(stream) !== undefined || peer.connection.closed;
      await peer.until(() => over() || peer.hasRoom(stream, cost), PATIENCE_MS);
      // The rest of a call that is over already: nobody waits for it.
      if (!peer.take(stream, cost)) continue;
    }
    held = Buffer.concat([held, bytes]);
  }
  await send(peer, held, cut, random);
}

async function send(peer: Peer, bytes: Buffer, cut: Script['cut'], random: Random): Promise<void> {
  if (cut === 'whole') peer.write(bytes);
  else await peer.writeCut(bytes, () => (cut === 'bytes' ? 1 : 1 + random(cut)));
}

/** Too late, or cancelled before: right for a call that may have been either, whatever another port says of it. */
export const LATE = 'late';

function describe(end: StreamEnd | undefined, certain: boolean): string {
  if (end === undefined) return 'nothing';
  const fields = end.blocks.flat();
  const status = fields.find(([name]) => name === 'grpc-status')?.[1];
  if (!certain && (status === undefined || status === '1' || status === '4')) return LATE;
  if (!certain && status === '0') return 'answered';
  // To a request that is not gRPC no client of gRPC reads more than the status.
  const http = fields.find(([name]) => name === ':status')?.[1];
  if (http === '415') return `:status: 415 / ${end.end || 'open'}`;
  // No client may see a difference in the order of fields; node:http2 adds a date to some blocks.
  const blocks = end.blocks.map((block) =>
    block
      .filter(([name]) => name !== 'date')
      .map(shown)
      .sort(),
  );
  return `${blocks.map((block) => block.join(', ')).join(' / ')} / ${end.data.toString('hex')} / ${end.end || 'open'}`;
}

function shown([name, value]: Field): string {
  if (name === 'x-request-id' && UUID.test(value)) return `${name}: a UUID`;
  return `${name}: ${name === 'grpc-message' ? decoded(value) : value}`;
}

/** As clients read it, twice: grpc-js does not encode a message that repeats a path, so that `%2f` arrives as `/`. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(decodeURIComponent(value));
  } catch {
    // A path with a percent sign, repeated as it came.
    return value;
  }
}
