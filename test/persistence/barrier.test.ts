import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createLogger } from '../../src/base/telemetry.ts';
import type { RevisionToken } from '../../src/engine/types.ts';
import { Barrier, type DurableCommit } from '../../src/persistence/barrier.ts';
import { FakeClock } from '../engine/fake-clock.ts';

/**
 * The barrier over servers that die at any moment. A server has a log, of which a part is durable; one that takes its place begins
 * with that part, and gives the numbers after it to other changes.
 */
class Server {
  readonly log: string[];
  durable: number;
  lives = true;

  constructor(log: readonly string[]) {
    this.log = [...log];
    this.durable = log.length;
  }

  has({ number, nonce }: RevisionToken): boolean {
    return this.log[number - 1] === nonce;
  }
}

class Cluster {
  server = new Server([]);
  serial = 0;
  commits = 0;
  /** The next answer of a server is lost on its way. */
  losesAnswer = false;

  write(): RevisionToken {
    this.server.log.push(`${++this.serial}`);
    return { number: this.server.log.length, nonce: `${this.serial}` };
  }

  get head(): RevisionToken {
    const { log } = this.server;
    return { number: log.length, nonce: log.at(-1) ?? null };
  }

  failOver(): void {
    this.server.lives = false;
    this.server = new Server(this.server.log.slice(0, this.server.durable));
  }

  /** One statement on the server of the moment; everything takes time, and a server that has died answers nothing. */
  readonly commit: DurableCommit = async (marks) => {
    const { server } = this;
    await turn();
    alive(server);
    const found = marks.flatMap((mark, position) => (server.has(mark) ? [position] : []));
    const upTo = server.log.length;
    await turn();
    alive(server);
    server.durable = Math.max(server.durable, upTo);
    this.commits++;
    await turn();
    alive(server);
    if (this.losesAnswer) {
      this.losesAnswer = false;
      throw new Error('the answer was lost');
    }
    return new Set(found);
  };
}

function alive({ lives }: Server): void {
  if (!lives) throw new Error('the connection was lost');
}

const ACTIONS = ['write', 'write', 'see', 'foreign', 'fail-over', 'lose-answer', 'turn', 'turn', 'time'] as const;

interface Ran {
  passed: number;
  failed: number;
  /** Let through, and not in the log that is left after one more failover. */
  lost: RevisionToken[];
  /** Neither let through nor refused. */
  pending: number;
}

function barrierOver(commit: DurableCommit, clock = new FakeClock()): Barrier {
  return new Barrier({ commit, clock, log: createLogger('silent') });
}

async function run(
  actions: readonly (typeof ACTIONS)[number][],
  mistaken: (cluster: Cluster) => DurableCommit = ({ commit }) => commit,
): Promise<Ran> {
  const clock = new FakeClock();
  const cluster = new Cluster();
  const barrier = barrierOver(mistaken(cluster), clock);
  const passed: RevisionToken[] = [];
  let begun = 0;
  let failed = 0;
  const pass = (mark: RevisionToken): void => {
    begun++;
    barrier.pass(mark).then(
      () => passed.push(mark),
      () => failed++,
    );
  };
  const act = {
    write: () => pass(cluster.write()),
    // A write that changes nothing, having seen what is newest.
    see: () => pass(cluster.head),
    // Another instance's, which waits elsewhere.
    foreign: () => void cluster.write(),
    'fail-over': () => cluster.failOver(),
    'lose-answer': () => {
      cluster.losesAnswer = true;
    },
    turn: () => undefined,
    time: () => clock.advance(60),
  };
  for (const action of actions) {
    await act[action]();
    await turn();
  }
  for (let i = 0; i < 400; i++) await clock.advance(50);
  cluster.failOver();
  const lost = passed.filter((mark) => mark.number > 0 && !cluster.server.has(mark));
  return { passed: passed.length, failed, lost, pending: begun - passed.length - failed };
}

const schedules = fc.array(fc.constantFrom(...ACTIONS), { minLength: 1, maxLength: 60 });
const RUNS = process.env.USHER_LONG ? 5000 : 150;

describe('the barrier, in random schedules of writes, failovers and lost answers', () => {
  test('lets nothing through that a failover then takes away, and leaves nobody waiting', async () => {
    let passed = 0;
    let failed = 0;
    await fc.assert(
      fc.asyncProperty(schedules, async (actions) => {
        const ran = await run(actions);
        expect(ran.lost).toEqual([]);
        expect(ran.pending).toBe(0);
        passed += ran.passed;
        failed += ran.failed;
      }),
      { numRuns: RUNS },
    );
    // Neither is rare.
    expect(passed).toBeGreaterThan(RUNS);
    expect(failed).toBeGreaterThan(RUNS / 10);
  });

  const everything = (marks: readonly RevisionToken[]) => new Set(marks.keys());
  test.each<[string, (cluster: Cluster) => DurableCommit]>([
    [
      'lets through whatever a commit that succeeds was made for',
      ({ commit }) =>
        async (marks) => {
          await commit(marks);
          return everything(marks);
        },
    ],
    [
      'proves by numbers alone',
      (cluster) => async (marks) => {
        await cluster.commit(marks);
        return new Set([...everything(marks)].filter((at) => (marks[at]?.number ?? 0) <= cluster.server.log.length));
      },
    ],
    [
      'proves in a statement before the commit',
      (cluster) => async (marks) => {
        const found = new Set([...everything(marks)].filter((at) => cluster.server.has(marks[at] as RevisionToken)));
        await turn();
        await cluster.commit(marks);
        return found;
      },
    ],
    [
      'commits again on another connection, and takes that for the answer',
      ({ commit }) =>
        async (marks) => {
          try {
            return await commit(marks);
          } catch {
            await commit([]);
            return everything(marks);
          }
        },
    ],
    [
      'makes nothing durable',
      (cluster) => async (marks) => {
        await turn();
        return new Set([...everything(marks)].filter((at) => cluster.server.has(marks[at] as RevisionToken)));
      },
    ],
  ])('a durable commit that %s is found out', async (_, mistaken) => {
    const found = await fc.check(
      fc.asyncProperty(schedules, async (actions) => (await run(actions, mistaken)).lost.length === 0),
      { numRuns: 5000, endOnFailure: true, seed: 1 },
    );
    expect(found.failed).toBe(true);
  });
});

describe('the barrier', () => {
  test('is shared by all who wait at one moment', async () => {
    const cluster = new Cluster();
    const barrier = barrierOver(cluster.commit);
    await Promise.all(Array.from({ length: 16 }, () => barrier.pass(cluster.write())));
    // The first goes alone, since nobody else was there.
    expect(cluster.commits).toBe(2);
    const { waits, ...counts } = barrier.counters;
    expect(counts).toEqual({ waiting: 0, commits: 2, failures: 0, passed: 16, refused: 0 });
    expect(waits.read({}).count).toBe(16);
  });

  test('is not needed for what passed last, nor for an empty log', async () => {
    const cluster = new Cluster();
    const barrier = barrierOver(cluster.commit);
    await barrier.pass({ number: 0, nonce: null });
    expect(cluster.commits).toBe(0);
    const mark = cluster.write();
    await barrier.pass(mark);
    await barrier.pass(mark);
    expect(cluster.commits).toBe(1);
    await expect(barrier.pass({ ...mark, nonce: 'of another history' })).rejects.toThrow(/does not have the revision/);
    expect(cluster.commits).toBe(2);
  });

  test('tries again for three seconds, then nobody is told that it is done', async () => {
    const clock = new FakeClock();
    let attempts = 0;
    const barrier = barrierOver(() => {
      attempts++;
      return Promise.reject(new Error('refused'));
    }, clock);
    const settled: string[] = [];
    void barrier.pass({ number: 1, nonce: 'a' }).catch((error: Error) => settled.push(error.message));
    await turn();
    await clock.advance(2900);
    expect(settled).toEqual([]);
    expect(attempts).toBeGreaterThan(10);
    expect(barrier.counters.waiting).toBe(1);
    await clock.advance(200);
    expect(settled).toEqual(['the revision could not be made durable']);
    const { waits, ...counts } = barrier.counters;
    expect(counts).toEqual({ waiting: 0, commits: 0, failures: attempts, passed: 0, refused: 1 });
    const longest = waits
      .read({})
      .buckets.filter(({ count }) => count === 0)
      .at(-1);
    expect(longest?.le).toBe(2.5);
    const before = attempts;
    await clock.advance(10_000);
    expect(attempts).toBe(before);
    expect(clock.timers).toBe(0);
  });

  test('begins another attempt beside one without an answer, for the same waiters too', async () => {
    const clock = new FakeClock();
    const asked: number[] = [];
    const answers: ((found: ReadonlySet<number>) => void)[] = [];
    const barrier = barrierOver((marks) => {
      asked.push(marks.length);
      return new Promise((resolve) => answers.push(resolve));
    }, clock);
    const settled: string[] = [];
    const pass = (nonce: string) => void barrier.pass({ number: 1, nonce }).then(() => settled.push(nonce));
    pass('a');
    await clock.advance(900);
    pass('b');
    expect(asked).toEqual([1]);
    await clock.advance(200);
    expect(asked).toEqual([1, 2]);
    answers[1]?.(new Set([0, 1]));
    await clock.advance(0);
    expect(settled.toSorted()).toEqual(['a', 'b']);
    // No more than three at once, and an answer that comes late is one.
    pass('c');
    await clock.advance(10_000);
    expect(asked).toEqual([1, 2, 1, 1]);
    answers[3]?.(new Set([0]));
    await clock.advance(0);
    expect(settled).toContain('c');
  });

  test('lets nobody wait longer than a commit may take, where no answer comes', async () => {
    const clock = new FakeClock();
    const barrier = barrierOver(() => new Promise(() => undefined), clock);
    const settled: string[] = [];
    for (const nonce of ['a', 'b']) {
      void barrier.pass({ number: 1, nonce }).catch((error: Error) => settled.push(`${nonce}: ${error.message}`));
      await clock.advance(1000);
    }
    await clock.advance(13_400);
    expect(settled).toEqual([]);
    await clock.advance(2000);
    expect(settled).toEqual(['a: the revision was not durable in time', 'b: the revision was not durable in time']);
  });
});
