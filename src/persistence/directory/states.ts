import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/**
 * Sets the provider's flag of a user with a profile (docs/reference/callers.md#active-and-inactive: a user is active when the provider says so and no
 * administrator has blocked them). `at` is when it happened at the provider; null when the source does not say: then the last to
 * arrive wins. A time before the last change of state changes nothing. Returns whether the flag changed: then the
 * caller announces `u:EMAIL`.
 */
export async function setProviderActive(tx: Tx, id: number, active: boolean, at: Date | null): Promise<boolean> {
  // The person first, as everywhere: this serializes events about one user.
  await tx.kysely.selectFrom('person').select('id').where('id', '=', id).forNoKeyUpdate().execute();
  const moment = sql<Date>`coalesce(${at}::timestamptz, now())`;
  const { numUpdatedRows: moved } = await tx.kysely
    .updateTable('profile')
    .set({ stateChangedAt: sql<Date>`greatest(state_changed_at, ${moment})` })
    .where('personId', '=', id)
    .where(
      sql<boolean>`(state_changed_at is null or ${at}::timestamptz is null or state_changed_at <= ${at}::timestamptz)`,
    )
    .executeTakeFirstOrThrow();
  if (moved === 0n) return false;
  const { numUpdatedRows: changed } = await tx.kysely
    .updateTable('person')
    .set({ providerActive: active })
    .where('id', '=', id)
    .where('providerActive', '<>', active)
    .executeTakeFirstOrThrow();
  return changed > 0n;
}
