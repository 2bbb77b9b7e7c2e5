/**
 * Sends the same bytes to two gRPC ports and tells what they do not answer alike:
 *
 *   bin/node test/wire/compare.ts --calls 1000000          two services of this tree, GRPC_FRONT=false and =true
 *   bin/node test/wire/compare.ts --left HOST:PORT --right HOST:PORT --key KEY
 *
 * `--seed` repeats a run; a difference names the seed of its connection, which `--only` sends again. Ends with 1 for a difference.
 */
import { parseArgs } from 'node:util';
import { seeded } from '../oracle/world.ts';
import { type Comparison, compare } from './differential.ts';
import type { Address } from './peer.ts';
import { replay } from './replay.ts';
import { randomScript } from './script.ts';
import { NAMES, openServices } from './services.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    left: { type: 'string' },
    right: { type: 'string' },
    key: { type: 'string', default: NAMES.key },
    only: { type: 'string' },
  },
});
const PROGRESS_MS = 30_000;
const MOST_CALLS = 24;

const names = { ...NAMES, key: values.key };
const services = values.left === undefined ? await openServices() : undefined;
let failed = true;
try {
  const left = await portOf(values.left, 'false');
  const right = await portOf(values.right, 'true');
  if (values.only === undefined) await run(left, right);
  else await show(left, right, Number(values.only));
} finally {
  await services?.remove();
}
process.exit(failed ? 1 : 0);

async function portOf(given: string | undefined, front: string): Promise<Address> {
  if (given !== undefined) {
    const [host = '', port] = given.split(':');
    return { host, port: Number(port) };
  }
  if (services === undefined) throw new Error('--left and --right go together');
  return (await services.start({ env: { GRPC_FRONT: front } })).address;
}

async function run(left: Address, right: Address): Promise<void> {
  const begun = performance.now();
  let told = begun;
  const progress = (so: Comparison): void => {
    if (performance.now() - told < PROGRESS_MS) return;
    told = performance.now();
    process.stderr.write(`${so.calls} calls in ${Math.round((told - begun) / 1000)} s\n`);
  };
  const seen = await compare({
    left,
    right,
    names,
    seed: Number(values.seed),
    calls: Number(values.calls),
    mostCallsOnConnection: MOST_CALLS,
    progress,
  });
  for (const difference of seen.differences) process.stdout.write(`${difference}\n`);
  for (const [end, count] of [...seen.ends].sort((a, b) => b[1] - a[1])) process.stdout.write(`${count} ${end}\n`);
  const { calls, connections, faults, differences } = seen;
  const seconds = Math.round((performance.now() - begun) / 1000);
  process.stdout.write(
    `${calls} calls on ${connections} connections, ${faults} of which ended in a fault, in ${seconds} s: ${differences.length} differences\n`,
  );
  failed = differences.length > 0;
}

/** What both ports say to the connection of a seed. */
async function show(left: Address, right: Address, seed: number): Promise<void> {
  const script = randomScript(seeded(seed), seed, names, MOST_CALLS);
  for (const [name, address] of [['left', left] as const, ['right', right] as const]) {
    const { streams, connection } = await replay(address, script, 300);
    process.stdout.write(`${name}: ${connection}\n`);
    for (const [stream, said] of streams) {
      const call = script.calls.get(stream);
      process.stdout.write(`  ${stream} ${call?.odd.join(', ') || 'usual'}, ends by ${call?.ending}: ${said}\n`);
    }
  }
  failed = false;
}
