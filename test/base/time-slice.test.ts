import { describe, expect, test } from '@jest/globals';
import { Line, loadInPieces, mapInPieces } from '../../src/base/time-slice.ts';
import { PerTurn, useCountedPieces } from '../support/turns.ts';

/** Looks at the clock until a piece is over. */
const LOOKS = 10;

describe('long work', () => {
  useCountedPieces(LOOKS);
  const numbers = Array.from({ length: 200 }, (_, at) => at);

  test('is done in pieces, in its order', async () => {
    let made: unknown;
    const { total, most } = await PerTurn.while(async (happened) => {
      made = await mapInPieces(numbers, (one, at) => {
        happened();
        return [one, at];
      });
    });
    expect(made).toEqual(numbers.map((one) => [one, one]));
    expect(total).toBe(200);
    expect(most).toBeLessThanOrEqual(LOOKS);
  });

  test('of several at once takes no more of a turn than of one', async () => {
    const { most } = await PerTurn.while(async (happened) => {
      const hand = async (): Promise<void> => {
        let steps = 0;
        // All of them begin in this turn: counted is what comes in later ones.
        await mapInPieces(numbers, () => {
          if (++steps > LOOKS) happened();
        });
      };
      await Promise.all(Array.from({ length: 5 }, hand));
    });
    expect(most).toBeLessThanOrEqual(LOOKS);
  });

  test('that is short is done at once', async () => {
    const { most } = await PerTurn.while((happened) => mapInPieces(numbers.slice(0, 5), happened));
    expect(most).toBe(5);
  });

  test('ends with the error of a step', async () => {
    const failing = mapInPieces(numbers, (one) => {
      if (one === 150) throw new Error('this one');
    });
    await expect(failing).rejects.toThrow('this one');
  });
});

test.each([1, 4])('of those who stand in a line %i have each turn, in their order', async (width) => {
  const line = new Line(width);
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

test('a package is loaded a file at a time; a file that it has not is an error', async () => {
  const [jws, whole] = await loadInPieces('web-push', ['jws', './index.js']);
  expect(jws).toHaveProperty('sign');
  expect(whole).toHaveProperty('generateRequestDetails');
  await expect(loadInPieces('web-push', ['./not-there.js'])).rejects.toThrow('not-there');
});
