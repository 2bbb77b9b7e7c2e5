import { expect, test } from '@jest/globals';
import { createRefreshedDocument } from '../../src/identity/refreshed-document.ts';
import { ManualClock } from './manual-clock.ts';

const MINUTE = 60_000;

function start() {
  const clock = new ManualClock();
  const state = { content: 1, loads: 0, broken: false, failures: 0 };
  const kept = createRefreshedDocument({
    clock,
    onFailure: () => state.failures++,
    load: async () => {
      state.loads++;
      if (state.broken) throw new Error('away');
      return { content: state.content };
    },
  });
  return { clock, state, kept };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('there is no document before the first read, and concurrent reads are shared', async () => {
  const { kept, state } = start();
  expect(kept.peek()).toBeNull();
  const all = await Promise.all([kept.get(), kept.get(), kept.get()]);
  expect(new Set(all).size).toBe(1);
  expect(kept.peek()).toBe(all[0]);
  expect(state.loads).toBe(1);
});

test('a renewal keeps the object of unchanged content, and replaces it otherwise', async () => {
  const { kept, state, clock } = start();
  const first = await kept.get();
  clock.advance(10 * MINUTE);
  expect(kept.peek()).toBe(first);
  await settled();
  expect(state.loads).toBe(2);
  expect(kept.peek()).toBe(first);
  state.content = 2;
  clock.advance(10 * MINUTE);
  expect(kept.peek()).toBe(first);
  await settled();
  expect(kept.peek()).toEqual({ content: 2 });
});

test('a failed renewal is reported, and repeated after 30 s', async () => {
  const { kept, state, clock } = start();
  const first = await kept.get();
  state.broken = true;
  clock.advance(10 * MINUTE);
  const loads: number[] = [];
  for (const step of [0, 29_999, 1, 29_999, 1]) {
    clock.advance(step);
    expect(await kept.get()).toBe(first);
    await settled();
    loads.push(state.loads);
  }
  expect(loads).toEqual([2, 2, 3, 3, 4]);
  expect(state.failures).toBe(3);
});

test("a refetch tells whether its result is as new as the provider's", async () => {
  const { kept, state, clock } = start();
  await kept.get();
  clock.advance(1);
  state.content = 2;
  expect(await kept.refetch(clock.monotonic())).toEqual({ document: { content: 2 }, current: true });
  state.content = 3;
  clock.advance(29_999);
  expect(await kept.refetch(clock.monotonic())).toEqual({ document: { content: 2 }, current: true });
  state.broken = true;
  clock.advance(1);
  expect(await kept.refetch(clock.monotonic())).toEqual({ document: { content: 2 }, current: false });
  clock.advance(1);
  expect(await kept.refetch(clock.monotonic())).toEqual({ document: { content: 2 }, current: false });
  expect(state.loads).toBe(3);
});

test('a refetch without a document reads it, and throws the error of the read', async () => {
  const { kept, state, clock } = start();
  state.broken = true;
  await expect(kept.refetch(0)).rejects.toThrow('away');
  state.broken = false;
  clock.advance(1000);
  expect(await kept.refetch(0)).toEqual({ document: { content: 1 }, current: true });
});
