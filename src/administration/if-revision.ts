/** Conditional writes: refused if the state of a dry run has changed (docs/reference/administration.md#dry-runs). */

import { UsherError } from '../base/errors.ts';
import { unknownRevision } from '../engine/question.ts';
import type { RevisionToken } from '../engine/types.ts';
import { changedSince, holdNumbering, type Watched } from '../persistence/administration/changed-since.ts';
import type { Tx } from '../persistence/database.ts';
import { concernedBy, type Target } from './concerned.ts';

/**
 * Throws STALE when the policy of the application, or what the people concerned are and hold in it, has changed since `mark`;
 * UNKNOWN_REVISION for one that was never issued. Undefined means unconditional.
 */
export async function refuseChanged(tx: Tx, mark: RevisionToken | undefined, target: Target): Promise<void> {
  if (mark === undefined) return;
  const { own, also, everywhere } = await concernedBy(tx, target);
  await refuseChangedOf(tx, mark, { ...own, everywhere: everywhere !== null });
  // Those who held something there at the time of the dry run are not known any more: everybody counts.
  for (const { apps } of also) await refuseChangedOf(tx, mark, { apps, people: null, everywhere: false });
}

async function refuseChangedOf(tx: Tx, mark: RevisionToken, watched: Watched): Promise<void> {
  const answer = await changedSince(tx, mark, watched);
  if (answer === 'unknown') throw unknownRevision();
  if (answer === 'same') return;
  throw new UsherError(
    'STALE',
    'Permissions that this write concerns have changed since the revision in usher-if-revision; repeat the dry run and decide again.',
  );
}

/**
 * The same as the last step of a write: no further change can be logged before this write commits. A write that waited for another,
 * and then changes nothing, is compared again too: of equal writes at once one alone is as its author saw it.
 */
export async function refuseChangedAtEnd(
  tx: Tx,
  mark: RevisionToken | undefined,
  target: Target,
  { scopes }: { readonly scopes: readonly unknown[] },
): Promise<void> {
  if (mark === undefined) return;
  if (scopes.length > 0) await holdNumbering(tx);
  await refuseChanged(tx, mark, target);
}
