import { sql } from 'kysely';
import type { RevisionToken } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { held } from '../windows.ts';

/** A row of the change log. */
export interface LoggedChange extends RevisionToken {
  readonly nonce: string;
  readonly scopes: readonly string[];
  /** As audit records name the author; null for nobody in particular. */
  readonly actor: string | null;
}

/** The rows after `since` up to `upTo`, ascending; at most `limit`. */
export async function readChanges(
  tx: Tx,
  { since, upTo, limit }: { since: number; upTo: number; limit: number },
): Promise<LoggedChange[]> {
  return await tx.kysely
    .selectFrom('policy_change')
    .select(['revision as number', 'nonce', 'scopes', 'actor'])
    .where('revision', '>', since)
    .where('revision', '<=', upTo)
    .orderBy('revision')
    .limit(limit)
    .execute();
}

/** The nonce of a revision's row; null without that row. */
export async function readNonce(tx: Tx, revision: number): Promise<string | null> {
  const row = await tx.kysely
    .selectFrom('policy_change')
    .select('nonce')
    .where('revision', '=', revision)
    .executeTakeFirst();
  return row?.nonce ?? null;
}

/** The codes of the applications that each of these people is of (docs/reference/administration.md#users). */
export async function applicationsOfPeople(
  tx: Tx,
  emails: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const { rows } = await sql<{ email: string; codes: string[] }>`
    select p.email, array(select a.code from application a where a.id in (
        select application_id from ${held('user_role')} r where person_id = p.id
        union select application_id from ${held('app_admin')} m where person_id = p.id
        union select application_id from app_preference where person_id = p.id
        union select application_id from ${held('resource_override')} o where person_id = p.id)) as codes
      from person p where p.email = any(${[...emails]}::text[])`.execute(tx.kysely);
  return new Map(rows.map(({ email, codes }) => [email, new Set(codes)]));
}
