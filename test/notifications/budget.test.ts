import { describe, expect, test } from '@jest/globals';
import { MAX_SEND_BYTES, RenderBudget } from '../../src/notifications/budget.ts';
import type { RenderWatch } from '../../src/notifications/render.ts';

const MIB = 1024 * 1024;

/** A caller that holds what it charges until it is told to end. */
function caller(budget: RenderBudget) {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  let charge: RenderWatch['charge'];
  const ended = budget.within(undefined, async (watch) => {
    ({ charge } = watch);
    await over;
  });
  return {
    charge: (bytes: number) => charge?.(bytes),
    end: async () => {
      end();
      await ended;
    },
  };
}

describe('the budget of rendered text', () => {
  test('the budget refuses a caller beyond its own bound, and is released afterwards', async () => {
    const budget = new RenderBudget(1024 * MIB);
    const one = caller(budget);
    one.charge(MAX_SEND_BYTES);
    expect(() => one.charge(1)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
    expect(budget.held).toBe(MAX_SEND_BYTES);
    await one.end();
    expect(budget.held).toBe(0);
  });

  test('the budget bounds one caller by half of a small budget', async () => {
    const one = caller(new RenderBudget(16 * MIB));
    one.charge(8 * MIB);
    expect(() => one.charge(1)).toThrow(expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }));
    await one.end();
  });

  test('the budget refuses callers beyond their common limit, and reserves a quarter for small ones', async () => {
    const budget = new RenderBudget(16 * MIB);
    const [first, second, small, crowd] = [caller(budget), caller(budget), caller(budget), caller(budget)];
    first.charge(6 * MIB);
    second.charge(6 * MIB);
    expect(() => second.charge(1)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE', retryAfter: 1 }));
    small.charge(MIB);
    expect(() => small.charge(1)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    const others = [1, 2, 3].map(() => caller(budget));
    for (const other of others) other.charge(MIB);
    expect(() => crowd.charge(1)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
    await first.end();
    second.charge(2 * MIB);
    crowd.charge(MIB);
    for (const one of [second, small, crowd, ...others]) await one.end();
    expect(budget.held).toBe(0);
  });

  test('the budget is released when a caller fails', async () => {
    const budget = new RenderBudget(16 * MIB);
    const failing = budget.within(undefined, ({ charge }) => {
      charge?.(MIB);
      return Promise.reject(new Error('it failed'));
    });
    await expect(failing).rejects.toThrow('it failed');
    expect(budget.held).toBe(0);
  });
});
