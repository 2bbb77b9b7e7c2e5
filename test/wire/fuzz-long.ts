/**
 * Throws many mutated connections at a port in this process:
 *
 *   bin/node test/wire/fuzz-long.ts --inputs 100000 --seed 1                  GRPC_FRONT=false for a port without the front
 *   bin/node test/wire/fuzz-long.ts --inputs 10000000 --seed 1 --memory      the front alone, without sockets
 *
 * Ends with 1 for anything thrown, any wrong answer and memory that is kept.
 */
import { inspect, parseArgs } from 'node:util';
import { fuzzDoor, fuzzFront } from './fuzz-door.ts';

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    memory: { type: 'boolean', default: false },
  },
});
const PROGRESS_MS = 30_000;
const MOST_KEPT = 50 * 1024 * 1024;

// Faults end most connections, and nobody reads where they were made.
Error.stackTraceLimit = 0;
const begun = performance.now();
let told = begun;
const { thrown, wrong, kept, ...counts } = await (values.memory ? fuzzFront : fuzzDoor)({
  seed: Number(values.seed),
  inputs: Number(values.inputs),
  progress: (so: { inputs: number }) => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    process.stderr.write(`${so.inputs} inputs in ${Math.round((told - begun) / 1000)} s\n`);
  },
});
for (const error of thrown.slice(0, 5)) process.stdout.write(`thrown: ${inspect(error)}\n`);
for (const one of wrong) process.stdout.write(`wrong: ${one}\n`);
const seconds = Math.round((performance.now() - begun) / 1000);
process.stdout.write(
  `${JSON.stringify(counts)}, ${Math.round(kept / 1024)} KB kept, ${thrown.length} thrown, in ${seconds} s\n`,
);
process.exit(thrown.length + wrong.length > 0 || kept > MOST_KEPT ? 1 : 0);
