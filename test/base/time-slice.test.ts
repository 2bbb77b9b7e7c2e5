import { describe, expect, test } from '@jest/globals';
import { mapInSlices, TurnQueue } from '../../src/base/time-slice.ts';
import { PerTurn, useCountedPieces } from '../support/turns.ts';

/** Looks at the clock until a piece is over. */
const LOOKS = 10;

describe('time slices', () => {
  useCountedPieces(LOOKS);
  const numbers = Array.from({ length: 200 }, (_, at) => at);

  test('long work runs in slices, in order', async () => {
    let made: unknown;
    const { total, most } = await PerTurn.while(async (happened) => {
      made = await mapInSlices(numbers, (one, at) => {
        happened();
        return [one, at];
      });
    });
    expect(made).toEqual(numbers.map((one) => [one, one]));
    expect(total).toBe(200);
    expect(most).toBeLessThanOrEqual(LOOKS);
  });

  test('concurrent long work takes only one slice of a turn', async () => {
    const { most } = await PerTurn.while(async (happened) => {
      const hand = async (): Promise<void> => {
        let steps = 0;
        // All of them begin in this turn: counted is what comes in later ones.
        await mapInSlices(numbers, () => {
          if (++steps > LOOKS) happened();
        });
      };
      await Promise.all(Array.from({ length: 5 }, hand));
    });
    expect(most).toBeLessThanOrEqual(LOOKS);
  });

  test('short work runs at once', async () => {
    const { most } = await PerTurn.while((happened) => mapInSlices(numbers.slice(0, 5), happened));
    expect(most).toBe(5);
  });

  test('long work ends with the error of a step', async () => {
    const failing = mapInSlices(numbers, (one) => {
      if (one === 150) throw new Error('this one');
    });
    await expect(failing).rejects.toThrow('this one');
  });
});

test.each([1, 4])('in each turn %i of the waiting callers run, in order', async (width) => {
  const line = new TurnQueue(width);
  const order: number[] = [];
  const { most } = await PerTurn.while(async (happened) => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        await line.turn();
        happened();
        order.push(at);
      }),
    );
  });
  expect(most).toBe(width);
  expect(order).toEqual(Array.from({ length: 20 }, (_, at) => at));
});
