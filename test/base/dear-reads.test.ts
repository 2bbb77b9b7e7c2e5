import { describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { DearReads, shareOf } from '../../src/base/dear-reads.ts';
import { currentWork, forEverybody, workFor } from '../../src/base/work.ts';

/** A clock whose timers run when they are told to; `waits` has their times. */
function handClock(): { clock: Clock; elapse: () => void; waits: () => number[] } {
  const timers = new Map<() => void, number>();
  const after = (ms: number, fn: () => void) => {
    timers.set(fn, ms);
    return () => timers.delete(fn);
  };
  return {
    clock: { ...systemClock, monotonic: () => 0, after },
    elapse: () => {
      for (const fn of timers.keys()) fn();
      timers.clear();
    },
    waits: () => [...timers.values()],
  };
}

const REFUSED = { code: 'RATE_LIMITED', httpStatus: 429, retryAfter: 2 };
const never = new AbortController().signal;

describe('dear reads', () => {
  test('half of the connections, and never none, are for dear reads', () => {
    const shares = [1, 2, 3, 9, 10].map((poolSize) => shareOf({ kind: 'postgresql', poolSize }));
    expect([...shares, shareOf({ kind: 'pglite', poolSize: 10 })]).toEqual([1, 1, 1, 4, 5, 1]);
  });

  test('a caller has two at once; a third waits two seconds and is refused, and other callers are let in', async () => {
    const { clock, elapse, waits } = handClock();
    const reads = new DearReads({ clock, connections: 10 });
    const first = await reads.admit('user:ann@example.com', never);
    await reads.admit('user:ann@example.com', never);
    const third = reads.admit('user:ann@example.com', never);
    await reads.admit('user:bob@example.com', never);
    expect(waits()).toEqual([2000]);
    elapse();
    await expect(third).rejects.toMatchObject(REFUSED);
    first.end();
    first.end();
    await reads.admit('user:ann@example.com', never);
    expect(waits()).toEqual([]);
  });

  test('whoever leaves while waiting makes room for nobody and holds nothing', async () => {
    const { clock, waits } = handClock();
    const reads = new DearReads({ clock, connections: 1 });
    const one = await reads.admit('user:ann@example.com', never);
    await one.hold();
    const leaving = new AbortController();
    const two = await reads.admit('user:ann@example.com', leaving.signal);
    const held = two.hold();
    leaving.abort(new Error('gone'));
    await expect(held).rejects.toThrow('gone');
    await expect(reads.admit('user:ann@example.com', leaving.signal)).rejects.toThrow('gone');
    two.end();
    expect([reads.inside, waits()]).toEqual([1, []]);
    one.end();
    expect(reads.inside).toBe(0);
  });

  test('together they hold no more connections than their share, and one read holds one', async () => {
    const { clock } = handClock();
    const reads = new DearReads({ clock, connections: 2 });
    const highest = { held: 0, ofOne: 0 };
    const one = async (caller: string) => {
      const read = await reads.admit(caller, never);
      let mine = 0;
      const transaction = () =>
        read.connected(async () => {
          highest.ofOne = Math.max(highest.ofOne, ++mine);
          highest.held = Math.max(highest.held, reads.inside);
          await new Promise((resolve) => setImmediate(resolve));
          mine--;
        });
      await Promise.all([transaction(), transaction(), transaction()]);
      read.end();
    };
    await Promise.all(Array.from({ length: 20 }, (_, n) => one(`user:${n % 10}`)));
    expect([highest, reads.inside]).toEqual([{ held: 2, ofOne: 1 }, 0]);
  });

  test('work is for its caller until it is over, and what is for everybody is for none', async () => {
    const reads = new DearReads({ clock: systemClock, connections: 1 });
    const read = await reads.admit('user:ann@example.com', never);
    const seen = workFor(read, () => [currentWork() === read, forEverybody(currentWork)]);
    const later = workFor(read, () => Promise.resolve().then(() => currentWork()));
    read.end();
    expect([seen, await later, currentWork()]).toEqual([[true, undefined], undefined, undefined]);
  });
});
