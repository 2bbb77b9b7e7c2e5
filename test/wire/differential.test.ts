import { afterEach, describe, expect, test } from '@jest/globals';
import { closeDoors, type Door, openDoor } from '../grpc/support.ts';
import { compare } from './differential.ts';
import { authorizeScripted, HalfWarmEngine, SCRIPTED_NAMES } from './half-warm-engine.ts';

/**
 * Two ports over one engine get the same bytes and must not be told apart. `bin/node test/wire/compare.ts` compares whole
 * services for longer.
 */
const SEED = Number(process.env.USHER_SEED ?? 20_261);
const CALLS = 1500;
const MOST_MS = 8000;

/** grpc-js alone, and the front with grpc-js behind it. */
async function openPair(): Promise<[Door, Door]> {
  const engine = new HalfWarmEngine();
  return [
    await openDoor({ engine, authorize: authorizeScripted, front: false }),
    await openDoor({ engine, authorize: authorizeScripted, front: true }),
  ];
}

afterEach(closeDoors);

describe('two gRPC ports that get the same bytes', () => {
  test('two ports give the same answers, cut and interleaved as they may be', async () => {
    const [left, right] = (await openPair()).map(({ port }) => ({ host: '127.0.0.1', port }));
    if (left === undefined || right === undefined) throw new Error('two ports were opened');
    const seen = await compare({ left, right, names: SCRIPTED_NAMES, seed: SEED, calls: CALLS, mostMs: MOST_MS });
    expect(seen.differences).toEqual([]);
    // What refuses everything proves little.
    expect(seen.calls).toBeGreaterThan(200);
    expect([...seen.ends.keys()]).toEqual(
      expect.arrayContaining(
        [0, 3, 12, 16].map((status) => `grpc-status: ${status}`).concat('reset 1', ':status: 415'),
      ),
    );
    expect(seen.ends.get('grpc-status: 0')).toBeGreaterThan(seen.calls / 3);
    expect(seen.ends.get('nothing') ?? 0).toBeLessThan(seen.calls / 10);
  });

  test('the comparison notices a port with another key', async () => {
    const [door] = await openPair();
    const other = await openDoor({ engine: door.engine, authorize: () => {} });
    const left = { host: '127.0.0.1', port: door.port };
    const right = { host: '127.0.0.1', port: other.port };
    const seen = await compare({ left, right, names: SCRIPTED_NAMES, seed: SEED, calls: CALLS, mostMs: MOST_MS });
    expect(seen.differences.join('\n')).toContain('key');
  });
});
