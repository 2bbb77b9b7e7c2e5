import type { Clock } from '../base/clock.ts';
import { FlatHistogram } from '../base/flat-histogram.ts';
import { FailureLog, type Logger } from '../base/telemetry.ts';
import { sleep } from '../base/wait.ts';
import { formatRevision, type RevisionToken } from '../engine/types.ts';
import type { ClientPool } from './driver/postgresql.ts';

/**
 * One commit that waits for the disk and for the standby. In the same statement, hence on the same server, it reads which of the
 * marks stand in the log there: answers their positions.
 */
export type DurableCommit = (marks: readonly RevisionToken[]) => Promise<ReadonlySet<number>>;

export interface BarrierOptions {
  commit: DurableCommit;
  clock: Clock;
  log: Logger;
}

/** How long attempts go on that fail: a connection that died unnoticed, a failover with everything there. */
const PATIENCE_MS = 3000;
const PAUSE_MS = 50;
/** As long as a COMMIT may take. */
const LONGEST_MS = 15_500;
/** An attempt without an answer for a second may be on a dead line: the next one begins beside it, for the same waiters too. */
const OVERDUE_MS = 1000;
/** Attempts at once. */
export const ATTEMPTS = 3;

/** What a scrape reads of a barrier. */
export class BarrierCounters {
  /** Writes that wait now. */
  waiting = 0;
  /** Durable commits, and those that failed or did not answer. */
  commits = 0;
  failures = 0;
  /** Writes that were let through, and those of which nobody knows whether they last. */
  passed = 0;
  refused = 0;
  /** How long writes waited, in seconds: about what the disk and the standby take. */
  readonly waits = new FlatHistogram([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]);
}

interface Waiter {
  mark: RevisionToken;
  since: number;
  /** Attempts under way for it. */
  attempts: number;
  isSettled: boolean;
  passed: () => void;
  failed: (reason: Error) => void;
}

/**
 * Makes revisions last that were committed without waiting for the disk (docs/adr/0024-early-release.md). All who wait at one moment
 * share one durable commit, and each is let through only by one that has found the revision in the log of the server that made it
 * durable: after a failover a commit succeeds as well, and the revision may be lost.
 */
export class Barrier {
  readonly counters: BarrierCounters = new BarrierCounters();
  readonly #options: BarrierOptions;
  readonly #trouble: FailureLog;
  readonly #waiting = new Set<Waiter>();
  readonly #attempts = new Set<Promise<boolean>>();
  #running = false;
  /** What has passed last: a repeated write that changes nothing need not wait for it again. */
  #last: RevisionToken | undefined;

  constructor(options: BarrierOptions) {
    this.#options = options;
    const { log, clock } = options;
    this.#trouble = new FailureLog({
      log,
      clock,
      failing: 'policy writes wait to be durable; retrying',
      working: 'policy writes are durable again',
    });
  }

  /**
   * Resolves when `mark`, and every revision before it, outlives the server. Rejects when it is not in the log (any more), and
   * when that cannot be told: it may last all the same.
   */
  async pass(mark: RevisionToken): Promise<void> {
    if (mark.number === 0 || (mark.number === this.#last?.number && mark.nonce === this.#last.nonce)) return;
    const { clock } = this.#options;
    const { counters } = this;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const since = clock.monotonic();
    counters.waiting++;
    const waiter: Waiter = { mark, since, attempts: 0, isSettled: false, passed: resolve, failed: reject };
    const cancel = clock.after(LONGEST_MS, () => reject(new Error('the revision was not durable in time')));
    this.#wait(waiter);
    try {
      await promise;
      counters.passed++;
    } catch (error) {
      counters.refused++;
      throw error;
    } finally {
      counters.waiting--;
      counters.waits.observe((clock.monotonic() - since) / 1000);
      waiter.isSettled = true;
      this.#waiting.delete(waiter);
      cancel();
    }
  }

  #wait(waiter: Waiter): void {
    this.#waiting.add(waiter);
    if (!this.#running) void this.#run();
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    this.#running = true;
    while (this.#waiting.size > 0) {
      if (this.#attempts.size >= ATTEMPTS) {
        await Promise.race(this.#attempts);
        continue;
      }
      const together = [...this.#waiting];
      this.#waiting.clear();
      const attempt = this.#attempt(together);
      this.#attempts.add(attempt);
      void attempt.then(() => this.#attempts.delete(attempt));
      const outcome = await this.#inTime(attempt);
      if (outcome === 'overdue') for (const waiter of together) if (!waiter.isSettled) this.#waiting.add(waiter);
      if (outcome === false) await sleep(clock, PAUSE_MS);
    }
    this.#running = false;
  }

  async #inTime(attempt: Promise<boolean>): Promise<boolean | 'overdue'> {
    const { promise, resolve } = Promise.withResolvers<'overdue'>();
    const cancel = this.#options.clock.after(OVERDUE_MS, () => resolve('overdue'));
    try {
      return await Promise.race([attempt, promise]);
    } finally {
      cancel();
    }
  }

  /**
   * Whether the commit was made. Where it was not, those wait on who have waited for less than the patience, and those for whom
   * another attempt is under way.
   */
  async #attempt(together: readonly Waiter[]): Promise<boolean> {
    const { commit, clock, log } = this.#options;
    for (const waiter of together) waiter.attempts++;
    try {
      const found = await commit(together.map(({ mark }) => mark));
      this.counters.commits++;
      this.#trouble.succeeded();
      for (const [position, { mark, isSettled, passed, failed }] of together.entries()) {
        if (found.has(position)) {
          this.#last = mark;
          passed();
        } else if (!isSettled) {
          log.warn({ revision: formatRevision(mark) }, 'the database no longer has a revision that was just made');
          failed(new Error('the log of the database does not have the revision'));
        }
      }
      return true;
    } catch (error) {
      this.counters.failures++;
      this.#trouble.failed(error);
      for (const waiter of together) {
        waiter.attempts--;
        if (waiter.isSettled) continue;
        if (waiter.attempts > 0 || clock.monotonic() - waiter.since < PATIENCE_MS) this.#wait(waiter);
        else waiter.failed(new Error('the revision could not be made durable', { cause: error }));
      }
      return false;
    }
  }
}

/**
 * The message is written to the write-ahead log and read by nobody: a commit without any record of its own would not wait. Each
 * revision is a probe of the primary key.
 */
const BARRIER_SQL = `
  select pg_logical_emit_message(true, 'usher'::text, ''::text) as written,
    array(select w.position
      from unnest($1::bigint[], $2::text[]) with ordinality as w (revision, nonce, position)
     where (select c.nonce from policy_change c where c.revision = w.revision) = w.nonce) as found`;

/**
 * On a connection of the pool, which has its server's own setting of `synchronous_commit`. One on which a revision was not found
 * may lead to a former primary, and is not used again; nor is one that took more than a second, beside which others may stand by now.
 */
export function durableCommit(pool: ClientPool, clock: Clock): DurableCommit {
  return async (marks) => {
    const lease = await pool.acquire();
    const began = clock.monotonic();
    try {
      const { rows } = await lease.query<{ found: number[] }>({
        name: 'usher_barrier',
        text: BARRIER_SQL,
        values: [marks.map(({ number }) => number), marks.map(({ nonce }) => nonce)],
      });
      const found = new Set(rows[0]?.found.map((position) => position - 1));
      if (found.size < marks.length || clock.monotonic() - began > OVERDUE_MS) lease.discard();
      return found;
    } finally {
      lease.release();
    }
  };
}
