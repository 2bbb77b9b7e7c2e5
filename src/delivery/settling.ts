/**
 * Stores the outcomes of attempts, many in one transaction. A delivery stays claimed until then: mail that a killed worker had sent
 * but not recorded is sent again, with the same Message-ID.
 */

import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import { sleep } from '../base/wait.ts';
import type { Database } from '../persistence/database.ts';
import type { Claimed } from '../persistence/delivery/claims.ts';
import { noteResults, settleDeliveries } from '../persistence/delivery/settle.ts';
import type { Attempt } from './attempt.ts';
import { PAUSES_MS } from './backoff.ts';
import { ACCOUNT_REFUSED, judgeRefusals, lanesOf, type MailEnd, NOTHING } from './refusals.ts';

export interface SettlingParts {
  database: Pick<Database, 'change'>;
  clock: Pick<Clock, 'after'>;
  log: Logger;
  /** Whether more attempts are under way, whose outcomes can join the batch. */
  busy: () => boolean;
  /** A lane whose server refuses its sender. */
  refused: (lane: string) => void;
}

/** The most outcomes in one transaction. */
const BATCH = 100;
/** How long an outcome waits for others. A killed worker re-sends at most the deliveries of this time. */
const LINGER_MS = 15;
/** An outcome that is not stored means that the delivery is sent again. */
const TRIES = 6;
const PAUSE_MS = 500;

interface Waiting {
  /** `attempts` is read at the time of writing: after a lease that ended unnoticed the delivery may have been claimed again. */
  readonly claimed: Claimed;
  readonly attempt: Attempt;
  readonly resolve: (written: boolean) => void;
  readonly reject: (error: unknown) => void;
}

export class Settling {
  readonly #parts: SettlingParts;
  readonly #waiting: Waiting[] = [];
  #writing = false;
  #cancelLinger: (() => void) | undefined;

  constructor(parts: SettlingParts) {
    this.#parts = parts;
  }

  /** Resolves after the commit; false when the claim was lost meanwhile. Rejects when the outcome cannot be stored. */
  settle(claimed: Claimed, attempt: Attempt): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#waiting.push({ claimed, attempt, resolve, reject });
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#writing || this.#waiting.length === 0) return;
    if (this.#waiting.length < BATCH && this.#parts.busy()) {
      this.#cancelLinger ??= this.#parts.clock.after(LINGER_MS, () => void this.#write());
    } else void this.#write();
  }

  async #write(): Promise<void> {
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    if (this.#writing) return;
    this.#writing = true;
    await this.#commit(this.#waiting.splice(0, BATCH));
    this.#writing = false;
    this.#next();
  }

  /** Never rejects: settles each promise of the batch by itself. */
  async #commit(batch: readonly Waiting[]): Promise<void> {
    const { clock, log } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        const written = await this.#change(batch);
        for (const { claimed, resolve } of batch) resolve(written.has(claimed.id));
        return;
      } catch (error) {
        if (!isTransient(error) && batch.length > 1) {
          // An outcome that cannot be stored must not hold up the others.
          for (const one of batch) await this.#commit([one]);
          return;
        }
        if (!isTransient(error) || tries >= TRIES) {
          for (const { reject } of batch) reject(error);
          return;
        }
        log.warn({ err: error, deliveries: batch.length }, 'writing delivery outcomes failed; retrying');
        await sleep(clock, PAUSE_MS * 2 ** tries);
      }
    }
  }

  async #change(batch: readonly Waiting[]): Promise<Set<number>> {
    const used = [...new Set(batch.flatMap(({ attempt }) => attempt.used ?? []))];
    const gone = batch.flatMap(({ attempt }) => attempt.gone ?? []);
    const { result } = await this.#parts.database.change(async (tx) => {
      const ends = endsOf(batch);
      const isQuiet = ends.every(({ refusal }) => refusal === null);
      const { again, revived, paused } = isQuiet ? NOTHING : await judgeRefusals(tx, ends);
      const settled = batch.map(({ claimed, attempt }) => ({
        claimed,
        settlement: again.has(claimed.id) ? retried(attempt) : attempt,
      }));
      const revive = { mails: revived, pausesMs: PAUSES_MS, error: ACCOUNT_REFUSED };
      const { written, isAnyRefused } = await settleDeliveries(tx, settled, { revive, lanes: lanesOf(ends) });
      // Nearly never: the mails of a server that had refused some before.
      if (isQuiet && isAnyRefused) await judgeRefusals(tx, ends);
      await noteResults(tx, { used, gone });
      return { result: { written, paused }, scopes: [] };
    });
    for (const lane of result.paused) this.#parts.refused(lane);
    return result.written;
  }
}

/** The ends of mails that say something about their server, in the order of the outcomes. */
function endsOf(batch: readonly Waiting[]): MailEnd[] {
  return batch.flatMap(({ claimed, attempt: { mailEnd } }) =>
    mailEnd === undefined ? [] : [{ lane: claimed.lane, mail: claimed, refusal: mailEnd.refusal }],
  );
}

/** The outcome of a refusal that concerned the sender. */
function retried({ mailEnd, ...attempt }: Attempt): Attempt {
  return { ...attempt, againInMs: mailEnd?.againInMs ?? null, error: ACCOUNT_REFUSED };
}

/** Whether a later try may succeed: the database is unavailable, or the outcome of the commit is unknown. */
function isTransient(error: unknown): boolean {
  return error instanceof UsherError && error.code === 'UNAVAILABLE';
}
