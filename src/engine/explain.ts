/**
 * Explains decisions (docs/reference/decisions.md#explain) by the facts in the database. The rules are those of `evaluate`;
 * nothing here is cached.
 */

import type { Clock } from '../base/clock.ts';
import { Semaphore } from '../base/semaphore.ts';
import { type Explanation, explainRows } from './explanation.ts';
import { STATEMENT_MS } from './follower.ts';
import { MissingRevision } from './missing-revision.ts';
import type { AskOptions } from './options.ts';
import {
  ANY_REVISION,
  type FactsSource,
  formatRevision,
  type GroundRows,
  isOfOtherHistory,
  type LogHead,
  type Question,
  type RevisionToken,
} from './types.ts';
import { toUnavailable, untilAborted, within } from './waiting.ts';

export interface ExplainedAt extends Explanation {
  readonly revision: string;
}

/** Concurrent statements: explanations must leave connections for the loads of checks. */
const AT_ONCE = 2;
const MAX_WAITING = 1024;

/** Reads the facts of a question and explains the decision. */
export class Explainer {
  readonly #source: Pick<FactsSource, 'grounds'>;
  readonly #clock: Clock;
  readonly #gate: Semaphore;

  constructor(source: Pick<FactsSource, 'grounds'>, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
    this.#gate = new Semaphore({ clock, permits: AT_ONCE, maxWaiting: MAX_WAITING, waitMs: STATEMENT_MS });
  }

  /** One snapshot's explanation. Rejects with UNKNOWN_REVISION or UNAVAILABLE, never answers in part. */
  async explain(question: Question, { minRevision = ANY_REVISION, signal }: AskOptions = {}): Promise<ExplainedAt> {
    const { grounds, window } = await untilAborted(this.#read(question, minRevision), signal);
    const revision = formatRevision({ number: window.head, nonce: window.headNonce });
    return { ...explainRows(grounds, question.permission), revision };
  }

  async #read(question: Question, minRevision: RevisionToken): Promise<{ window: LogHead; grounds: GroundRows }> {
    const missing = new MissingRevision(this.#clock);
    for (;;) {
      const read = await this.#readOnce(question, minRevision);
      const { head, standby = false } = read.window;
      if (isReached(read.window, minRevision)) return read;
      await missing.again(standby && head < minRevision.number);
    }
  }

  async #readOnce(question: Question, { number }: RevisionToken): Promise<{ window: LogHead; grounds: GroundRows }> {
    await this.#gate.enter();
    try {
      return await within(this.#clock, STATEMENT_MS, this.#source.grounds(number, question));
    } catch (error) {
      throw toUnavailable(error);
    } finally {
      this.#gate.leave();
    }
  }
}

/** Whether the snapshot is as fresh as `mark`. A row that has been pruned is a week old, and in every snapshot. */
function isReached({ head, sinceNonce }: LogHead, mark: RevisionToken): boolean {
  return head >= mark.number && !isOfOtherHistory(mark, sinceNonce);
}
