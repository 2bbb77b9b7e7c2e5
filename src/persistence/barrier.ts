import type { Clock } from '../base/clock.ts';
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

interface Waiter {
  mark: RevisionToken;
  since: number;
  passed: () => void;
  failed: (reason: Error) => void;
}

/**
 * Makes revisions last that were committed without waiting for the disk (docs/adr/0024-early-release.md). All who wait at one moment
 * share one durable commit, and each is let through only by one that has found the revision in the log of the server that made it
 * durable: after a failover a commit succeeds as well, and the revision may be lost.
 */
export class Barrier {
  readonly #options: BarrierOptions;
  readonly #trouble: FailureLog;
  #waiting: Waiter[] = [];
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
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = clock.after(LONGEST_MS, () => reject(new Error('the revision was not durable in time')));
    this.#waiting.push({ mark, since: clock.monotonic(), passed: resolve, failed: reject });
    if (!this.#running) void this.#run();
    try {
      await promise;
    } finally {
      cancel();
    }
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const together = this.#waiting;
      this.#waiting = [];
      if (!(await this.#attempt(together))) await sleep(this.#options.clock, PAUSE_MS);
    }
    this.#running = false;
  }

  /** Whether the commit was made. Where it was not, those who have waited for less than the patience wait on. */
  async #attempt(together: readonly Waiter[]): Promise<boolean> {
    const { commit, clock, log } = this.#options;
    try {
      const found = await commit(together.map(({ mark }) => mark));
      this.#trouble.succeeded();
      for (const [position, { mark, passed, failed }] of together.entries()) {
        if (found.has(position)) {
          this.#last = mark;
          passed();
          continue;
        }
        log.warn({ revision: formatRevision(mark) }, 'the database no longer has a revision that was just made');
        failed(new Error('the log of the database does not have the revision'));
      }
      return true;
    } catch (error) {
      this.#trouble.failed(error);
      const reason = new Error('the revision could not be made durable', { cause: error });
      const now = clock.monotonic();
      const patient = together.filter(({ since }) => now - since < PATIENCE_MS);
      for (const waiter of together) if (!patient.includes(waiter)) waiter.failed(reason);
      this.#waiting.unshift(...patient);
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
 * may lead to a former primary, and is not used again.
 */
export function durableCommit(pool: ClientPool): DurableCommit {
  return async (marks) => {
    const lease = await pool.acquire();
    try {
      const { rows } = await lease.query<{ found: number[] }>({
        name: 'usher_barrier',
        text: BARRIER_SQL,
        values: [marks.map(({ number }) => number), marks.map(({ nonce }) => nonce)],
      });
      const found = new Set(rows[0]?.found.map((position) => position - 1));
      if (found.size < marks.length) lease.discard();
      return found;
    } finally {
      lease.release();
    }
  };
}
