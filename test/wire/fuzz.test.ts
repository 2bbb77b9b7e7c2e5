import { describe, expect, test } from '@jest/globals';
import { fuzzDoor, fuzzFront } from './fuzz-door.ts';

/** `bin/node test/wire/fuzz-long.ts` throws millions. USHER_SEED makes the same inputs again. */
const SEED = Number(process.env.USHER_SEED ?? 20_261);
const INPUTS = 1500;
const MOST_MS = 8000;
const MOST_KEPT = 20 * 1024 * 1024;

describe('mutated connections at the gRPC port', () => {
  test.each([false, true])(
    'mutated frames end no process, stay unanswered without a key, and leave a good client and memory alone (front: %s)',
    async (front) => {
      const result = await fuzzDoor({ seed: SEED, inputs: INPUTS, mostMs: MOST_MS, server: { front } });
      expect(result.thrown).toEqual([]);
      expect(result.wrong).toEqual([]);
      expect(result.kept).toBeLessThan(MOST_KEPT);
      // Some of it reached the methods, and some ended its connection.
      expect(result.inputs).toBeGreaterThan(100);
      expect(result.answers).toBeGreaterThan(result.inputs / 4);
      expect(result.goaways).toBeGreaterThan(result.inputs / 20);
      expect(result.canaries).toBeGreaterThan(2);
    },
  );

  test('at the front alone mutated frames throw nothing, keep nothing, and are answered to nobody without a key', async () => {
    const result = await fuzzFront({ seed: SEED, inputs: 2000 });
    expect(result.thrown).toEqual([]);
    expect(result.wrong).toEqual([]);
    expect(result.kept).toBeLessThan(MOST_KEPT);
    expect(result.answers).toBeGreaterThan(result.inputs / 20);
    expect(result.passed).toBeGreaterThan(result.inputs / 20);
    expect(result.goaways).toBeGreaterThan(result.inputs / 20);
  });
});
