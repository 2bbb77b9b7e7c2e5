/** The same bytes to two ports, and what they do not answer alike. */
import { seeded } from '../oracle/world.ts';
import type { Names } from './calls.ts';
import type { Address } from './peer.ts';
import { LATE, type Outcome, replay } from './replay.ts';
import { randomScript, type Script } from './script.ts';

export interface Comparison {
  calls: number;
  connections: number;
  faults: number;
  /** How many calls were odd in a way, by its name. */
  readonly odd: Map<string, number>;
  /** How many calls ended so, by `grpc-status`, `:status` or reset. */
  readonly ends: Map<string, number>;
  readonly differences: string[];
}

export interface Options {
  readonly left: Address;
  readonly right: Address;
  readonly names: Names;
  readonly seed: number;
  readonly calls: number;
  readonly mostCallsOnConnection?: number;
  readonly mostMs?: number;
  readonly atOnce?: number;
  readonly progress?: (so: Comparison) => void;
}

const SETTLE_MS = 3;
/** A difference counts when it is still there for a client that waits for long. */
const PATIENT_MS = 300;
const MOST_DIFFERENCES = 20;

export async function compare(options: Options): Promise<Comparison> {
  const { seed, calls, mostCallsOnConnection = 12, mostMs = Number.POSITIVE_INFINITY, atOnce = 4 } = options;
  const seen: Comparison = { calls: 0, connections: 0, faults: 0, odd: new Map(), ends: new Map(), differences: [] };
  const begun = performance.now();
  let next = 0;
  const lane = async (): Promise<void> => {
    while (seen.calls < calls && seen.differences.length < MOST_DIFFERENCES && performance.now() - begun < mostMs) {
      const own = seed * 1_000_003 + next++;
      const script = randomScript(seeded(own), own, options.names, mostCallsOnConnection);
      await one(options, script, seen);
      options.progress?.(seen);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return seen;
}

async function one({ left, right }: Options, script: Script, seen: Comparison): Promise<void> {
  const both = (settleMs: number) => Promise.all([replay(left, script, settleMs), replay(right, script, settleMs)]);
  let [a, b] = await both(SETTLE_MS);
  if (differences(script, a, b).length > 0) [a, b] = await both(PATIENT_MS);
  seen.differences.push(...differences(script, a, b));
  seen.connections++;
  if (script.fault !== undefined) seen.faults++;
  for (const [stream, call] of script.calls) {
    seen.calls++;
    for (const name of call.odd) count(seen.odd, name);
    count(seen.ends, endOf(a.streams.get(stream) ?? 'nothing'));
  }
}

function differences(script: Script, left: Outcome, right: Outcome): string[] {
  const found: string[] = [];
  const about = (stream: number): string => {
    const call = script.calls.get(stream);
    return `seed ${script.seed} stream ${stream} (${call?.odd.join(', ') || 'usual'}; ends by ${call?.ending}; windows ${script.windows}, cut ${script.cut})`;
  };
  for (const stream of new Set([...left.streams.keys(), ...right.streams.keys()])) {
    const [a, b] = [left.streams.get(stream), right.streams.get(stream)];
    if (a !== b && a !== LATE && b !== LATE) found.push(`${about(stream)}\n  left:  ${a}\n  right: ${b}`);
  }
  if (left.connection !== right.connection) {
    const odd = [...script.calls.values()].flatMap((call) => call.odd).join(', ');
    found.push(
      `seed ${script.seed} connection, fault ${script.fault?.name ?? 'none'} (${odd})\n  left:  ${left.connection}\n  right: ${right.connection}`,
    );
  }
  return found;
}

function endOf(outcome: string): string {
  for (const kind of [/grpc-status: \d+/, /reset \d+/, /:status: \d+/]) {
    const found = kind.exec(outcome)?.[0];
    if (found !== undefined) return found;
  }
  return outcome;
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
