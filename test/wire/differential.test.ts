import { afterEach, describe, expect, test } from '@jest/globals';
import { UsherError } from '../../src/base/errors.ts';
import { type Decision, Level, type Question, Source } from '../../src/engine/types.ts';
import { ScriptedEngine } from '../grpc/scripted-engine.ts';
import { closeDoors, type Door, openDoor } from '../grpc/support.ts';
import type { Names } from './calls.ts';
import { compare } from './differential.ts';

/**
 * Two ports over one engine get the same bytes and must not be told apart. `bin/node test/wire/compare.ts` compares whole
 * services for longer.
 */
const SEED = Number(process.env.USHER_SEED ?? 20_261);
const CALLS = 1500;
const MOST_MS = 8000;

const NAMES: Names = {
  key: 'the-key-of-a-backend',
  emails: ['ann@example.com', 'b@example.com', 'zoë@example.com', 'none'],
  apps: ['shop', 'billing'],
  permissions: ['edit', 'view', 'allowed', 'denied', 'nothing', 'cold'],
};

/** Knows all but one permission at once. */
class HalfWarmEngine extends ScriptedEngine {
  override items = ['edit', 'view'].map((code) => ({
    code,
    tiered: true,
    groupName: null,
    global: false,
    level: Level.VIEW,
    granted: true,
    source: Source.ROLE,
  }));

  override peekFacts(question: Question): Decision | null {
    return question.permission === 'cold' ? null : super.peekFacts(question);
  }
}

function authorize(key: string | undefined): void {
  if (key !== NAMES.key) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
}

async function openPair(): Promise<[Door, Door]> {
  const engine = new HalfWarmEngine();
  return [await openDoor({ engine, authorize }), await openDoor({ engine, authorize })];
}

afterEach(closeDoors);

describe('two gRPC ports that get the same bytes', () => {
  test('two ports give the same answers, cut and interleaved as they may be', async () => {
    const [left, right] = (await openPair()).map(({ port }) => ({ host: '127.0.0.1', port }));
    if (left === undefined || right === undefined) throw new Error('two ports were opened');
    const seen = await compare({ left, right, names: NAMES, seed: SEED, calls: CALLS, mostMs: MOST_MS });
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
    const seen = await compare({ left, right, names: NAMES, seed: SEED, calls: CALLS, mostMs: MOST_MS });
    expect(seen.differences.join('\n')).toContain('key');
  });
});
