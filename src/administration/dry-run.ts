/**
 * Dry runs (docs/reference/administration.md#dry-runs): a write's own statements in a transaction that is rolled back, and who
 * would gain and lose by it.
 */

import { UsherError } from '../base/errors.ts';
import { formatRevision } from '../engine/types.ts';
import { newestRevision } from '../persistence/change-log.ts';
import type { Committed, Database, Outcome, Tx } from '../persistence/database.ts';
import { memberIn } from '../persistence/facts/source.ts';
import { applicationsOf, type Concern } from '../persistence/impact.ts';
import { type Impact, impactSince, keepBefore } from './impact.ts';

export type { Concern } from '../persistence/impact.ts';

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

/** The people that a write concerns: in applications, or one person everywhere. */
export type Reach = { readonly concerns: readonly Concern[] } | { readonly everywhere: string };

/**
 * Runs `write` after `judge`, measures the impact, and rolls back. Rejects with the error that either of them throws or
 * returns.
 */
export async function rehearse<T>(
  database: Database,
  dryRun: DryRun,
  {
    judge,
    reach,
    write,
  }: {
    judge: (tx: Tx) => Promise<UsherError | null>;
    reach: (tx: Tx) => Promise<Reach>;
    write: (tx: Tx) => Promise<Outcome<T | UsherError>>;
  },
): Promise<Committed<T>> {
  const { result, impact, number } = await database.rehearse(async (tx) => {
    const refused = await judge(tx);
    if (refused !== null) throw refused;
    const concerned = await reach(tx);
    const mark = await newestRevision(tx);
    const person = 'everywhere' in concerned ? concerned.everywhere : null;
    const concerns =
      'everywhere' in concerned
        ? [{ apps: await applicationsOf(tx, concerned.everywhere), people: [concerned.everywhere], overrides: false }]
        : concerned.concerns;
    const ruled = person !== null && (await rulesEverywhere(tx, person));
    const before = await keepBefore(tx, concerns);
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
