import { describe, expect, test } from '@jest/globals';
import { StatementFailed } from '../../src/persistence/driver/failures.ts';
import { Failover } from '../../src/persistence/facts/failover.ts';
import { FakeClock } from '../engine/fake-clock.ts';

const lost = new StatementFailed(null, null, true, 'connection failed');
const chosen = new StatementFailed('40P01', null, false, 'SQLSTATE 40P01');
const failed = new StatementFailed('57014', null, false, 'SQLSTATE 57014');

/** A database that answers from a moment on, and how often it was asked. */
function database(clock: FakeClock, from: number, error: Error = lost) {
  const asked: number[] = [];
  const read = async (): Promise<string> => {
    asked.push(clock.monotonic());
    if (clock.monotonic() < from) throw error;
    return 'facts';
  };
  return { asked, read };
}

/** Settles `work` by moving the clock; its outcome, and when. */
async function outcome(clock: FakeClock, work: Promise<string>): Promise<{ what: unknown; at: number }> {
  let what: unknown;
  void work.then(
    (answer) => {
      what = answer;
    },
    (error: unknown) => {
      what = error;
    },
  );
  for (let step = 0; step < 1000; step++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (what !== undefined) break;
    await clock.advance(10);
  }
  return { what, at: clock.monotonic() };
}

describe('facts across a failover', () => {
  test('a read whose connection is lost is repeated until the next primary answers', async () => {
    const clock = new FakeClock();
    const begun = clock.monotonic();
    const { asked, read } = database(clock, begun + 1500);
    const { what, at } = await outcome(clock, new Failover(clock).waitedOut(read));
    expect(what).toBe('facts');
    expect(at - begun).toBeLessThan(1600);
    // With a pause between the tries.
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.length).toBeLessThan(40);
  });

  test('a read that the server ended in a deadlock is repeated', async () => {
    const clock = new FakeClock();
    const { asked, read } = database(clock, clock.monotonic() + 40, chosen);
    const { what } = await outcome(clock, new Failover(clock).waitedOut(read));
    expect(what).toBe('facts');
    expect(asked.length).toBe(2);
  });

  test('a longer outage fails within two seconds, and at once when it has lasted as long already', async () => {
    const clock = new FakeClock();
    const begun = clock.monotonic();
    const failover = new Failover(clock);
    const { read } = database(clock, Number.POSITIVE_INFINITY);
    const first = await outcome(clock, failover.waitedOut(read));
    expect(first.what).toBe(lost);
    expect(first.at - begun).toBeGreaterThanOrEqual(1800);
    expect(first.at - begun).toBeLessThan(1900);
    const next = database(clock, Number.POSITIVE_INFINITY);
    const second = await outcome(clock, failover.waitedOut(next.read));
    expect(second).toEqual({ what: lost, at: first.at });
    expect(next.asked.length).toBe(1);
  });

  test('a read of the log that succeeds proves that the database is there', async () => {
    const clock = new FakeClock();
    const failover = new Failover(clock);
    await clock.advance(10_000);
    await failover.seen(async () => 'log');
    const { what } = await outcome(clock, failover.waitedOut(database(clock, clock.monotonic() + 500).read));
    expect(what).toBe('facts');
  });

  test('a read that is lost each time while others succeed is given up, too', async () => {
    const clock = new FakeClock();
    const failover = new Failover(clock);
    const begun = clock.monotonic();
    const read = async (): Promise<string> => {
      await failover.seen(async () => 'log');
      throw lost;
    };
    const { what, at } = await outcome(clock, failover.waitedOut(read));
    expect(what).toBe(lost);
    expect(at - begun).toBeLessThan(1900);
  });

  test.each([
    ['a statement that the server refused', failed],
    ['a defect', new TypeError('x is undefined')],
  ])('%s is not repeated', async (_, error) => {
    const clock = new FakeClock();
    const { asked, read } = database(clock, Number.POSITIVE_INFINITY, error);
    const { what } = await outcome(clock, new Failover(clock).waitedOut(read));
    expect(what).toBe(error);
    expect(asked.length).toBe(1);
  });
});
