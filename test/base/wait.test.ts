import { describe, expect, test } from '@jest/globals';
import { sleep, within } from '../../src/base/wait.ts';
import { FakeClock } from '../engine/fakes.ts';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Whether it has come to its end by now. */
async function isOver(work: Promise<unknown>): Promise<boolean> {
  let over = false;
  void work.finally(() => {
    over = true;
  });
  await turn();
  return over;
}

describe('sleeping', () => {
  test('a sleep ends when its time has passed', async () => {
    const clock = new FakeClock();
    const slept = sleep(clock, 100);
    await clock.advance(99);
    expect(await isOver(slept)).toBe(false);
    await clock.advance(1);
    expect(await isOver(slept)).toBe(true);
  });

  test('a sleep ends as soon as its signal is aborted, and a later one ends at once', async () => {
    const clock = new FakeClock();
    const cut = new AbortController();
    const slept = sleep(clock, 100, cut.signal);
    expect(await isOver(slept)).toBe(false);
    cut.abort();
    expect(await isOver(slept)).toBe(true);
    expect(await isOver(sleep(clock, 100, cut.signal))).toBe(true);
    expect(clock.timers).toBe(0);
  });
});

describe('waiting for work', () => {
  test('a wait ends with the work, or when its time has passed', async () => {
    const clock = new FakeClock();
    const work = Promise.withResolvers<void>();
    const done = within(clock, 100, work.promise);
    const late = within(clock, 50, work.promise);
    await clock.advance(50);
    expect([await isOver(late), await isOver(done)]).toEqual([true, false]);
    work.resolve();
    expect(await isOver(done)).toBe(true);
    expect(clock.timers).toBe(0);
  });

  test('a wait fails when the work does', async () => {
    await expect(within(new FakeClock(), 100, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});
