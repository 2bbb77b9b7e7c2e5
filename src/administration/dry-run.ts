/**
 * Dry runs (docs/reference/administration.md#dry-runs): a write's own statements in a transaction that is rolled back, and who
 * would gain and lose by it.
 */

import { UsherError } from '../base/errors.ts';
import { formatRevision } from '../engine/types.ts';
import { newestRevision } from '../persistence/change-log.ts';
import type { Committed, Database, Outcome, Tx } from '../persistence/database.ts';
import { memberIn } from '../persistence/facts/source.ts';
import { concernedBy, type Target } from './concerned.ts';
import { type Impact, impactSince, keepBefore } from './impact.ts';

/** The answer of a dry run beside the result of the write. */
export interface ImpactView extends Impact {
  /** The revision that the comparison reflects: for `usher-if-revision`. */
  revision: string;
  /** For a write about a person everywhere: the effect in all applications where they have nothing. */
  everywhere?: 'gains' | 'loses' | null;
}

/** The request for a rehearsal. The code that carries out the write stores the impact here. */
export class DryRun {
  #impact: ImpactView | undefined;

  /** Throws when the code that carried out the write does not support dry runs: a defect. */
  get impact(): ImpactView {
    if (this.#impact === undefined) throw new Error('this write cannot be rehearsed');
    return this.#impact;
  }

  set impact(impact: ImpactView) {
    this.#impact = impact;
  }
}

/**
 * Runs `write` after `judge`, measures the impact on `target`, and rolls back. Rejects with the error that either of them throws
 * or returns.
 */
export async function rehearse<T>(
  database: Database,
  dryRun: DryRun,
  {
    judge,
    target,
    write,
  }: {
    judge: (tx: Tx) => Promise<UsherError | null>;
    target: Target;
    write: (tx: Tx) => Promise<Outcome<T | UsherError>>;
  },
): Promise<Committed<T>> {
  const { result, impact, number } = await database.rehearse(async (tx) => {
    const refused = await judge(tx);
    if (refused !== null) throw refused;
    const { own, also, everywhere: person } = await concernedBy(tx, target);
    const mark = await newestRevision(tx);
    const ruled = person !== null && (await rulesEverywhere(tx, person));
    const before = await keepBefore(tx, [own, ...also]);
    const outcome = await write(tx);
    if (outcome.result instanceof UsherError) throw outcome.result;
    const measured: ImpactView = { revision: formatRevision(mark), ...(await impactSince(tx, before)) };
    if (person !== null) {
      const rules = await rulesEverywhere(tx, person);
      measured.everywhere = rules === ruled ? null : rules ? 'gains' : 'loses';
    }
    return { result: outcome.result, impact: measured, number: mark.number };
  });
  dryRun.impact = impact;
  return { result, revision: impact.revision, number };
}

/** Rules 1 and 2 alone: an active SuperAdmin is allowed everything, even in applications where they have nothing. */
async function rulesEverywhere(tx: Tx, email: string): Promise<boolean> {
  const { person } = await memberIn(tx, { email, app: '', resourceType: '', resourceId: '' });
  return person.active && person.superadmin;
}
