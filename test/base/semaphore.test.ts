import { describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { Semaphore } from '../../src/base/semaphore.ts';

/** A clock whose timers run when they are told to. */
function handClock(): { clock: Clock; elapse: () => void; pending: () => number } {
  const timers = new Set<() => void>();
  const after = (_ms: number, fn: () => void) => {
    timers.add(fn);
    return () => timers.delete(fn);
  };
  return {
    clock: { ...systemClock, after },
    elapse: () => {
      for (const fn of timers) fn();
      timers.clear();
    },
    pending: () => timers.size,
  };
}

const BUSY = { code: 'UNAVAILABLE', httpStatus: 503 };

describe('Semaphore', () => {
  test('the semaphore admits up to its permits, and the others in order', async () => {
    const { clock, pending } = handClock();
    const gate = new Semaphore({ clock, permits: 2, maxWaiting: 10, waitMs: 1000 });
    const order: number[] = [];
    const entries = [1, 2, 3, 4].map((i) => gate.enter().then(() => order.push(i)));
    await Promise.all(entries.slice(0, 2));
    expect([order, gate.inside, pending()]).toEqual([[1, 2], 2, 2]);
    gate.leave();
    await entries[2];
    gate.leave();
    await entries[3];
    expect([order, gate.inside, pending()]).toEqual([[1, 2, 3, 4], 2, 0]);
    gate.leave();
    gate.leave();
    expect(gate.inside).toBe(0);
  });

  test('the semaphore refuses a caller who waited too long, and no longer counts them', async () => {
    const { clock, elapse } = handClock();
    const gate = new Semaphore({ clock, permits: 1, maxWaiting: 10, waitMs: 1000 });
    await gate.enter();
    const late = gate.enter();
    elapse();
    await expect(late).rejects.toMatchObject(BUSY);
    gate.leave();
    expect(gate.inside).toBe(0);
    await gate.enter();
    expect(gate.inside).toBe(1);
  });

  test('the semaphore refuses at once when too many wait', async () => {
    const { clock } = handClock();
    const gate = new Semaphore({ clock, permits: 1, maxWaiting: 2, waitMs: 1000 });
    await gate.enter();
    const waiting = [gate.enter(), gate.enter()];
    await expect(gate.enter()).rejects.toMatchObject(BUSY);
    gate.leave();
    await waiting[0];
    gate.leave();
    await waiting[1];
  });

  test('a closed semaphore refuses new callers and waits for the last holder', async () => {
    const { clock } = handClock();
    const gate = new Semaphore({ clock, permits: 1, maxWaiting: 2, waitMs: 1000 });
    await gate.enter();
    const waiting = gate.enter();
    let closed = false;
    const closing = gate.close().then(() => {
      closed = true;
    });
    await expect(gate.enter()).rejects.toMatchObject(BUSY);
    gate.leave();
    await waiting;
    expect(closed).toBe(false);
    gate.leave();
    await closing;
    expect(closed).toBe(true);
  });
});
