import { type Kysely, sql } from 'kysely';
import { ANY_REVISION, type Mark } from '../engine/types.ts';
import type { Scope, Tx } from './database.ts';
import type { Schema } from './schema.ts';

/** Held by a transaction from its log row to past its commit: revisions are commit order. Any number of its own. */
const CHANGE_LOCK = 7_411_532_002;
/** More scopes than this are collapsed into fewer, wider ones. */
const MAX_SCOPES = 200;
/** Rows older than this are pruned, but for the newest. */
const KEEP_DAYS = 7;
const PRUNE_ROWS = 500;
/** How many random bytes a nonce is made of. */
export const NONCE_BYTES = 6;

/**
 * What tells the row of this revision from one of the same number in another history. In digits, so that a revision as callers
 * see it still reads as a number that grows.
 */
export function nonceOf(bytes: Buffer): string {
  return bytes.readUIntBE(0, NONCE_BYTES).toString();
}

/**
 * Writes the log row of this transaction and answers its revision. The last statements of a write: from here to COMMIT no
 * row lock may be taken. The lock is a statement of its own, since the next one must see what was committed while it waited.
 */
export async function announce(tx: Tx, scopes: readonly Scope[], nonce: string): Promise<Mark> {
  await sql`select pg_advisory_xact_lock(${CHANGE_LOCK})`.execute(tx.kysely);
  const { revision: number } = await tx.kysely
    .insertInto('policy_change')
    .columns(['revision', 'nonce', 'scopes'])
    .expression((eb) =>
      eb
        .selectFrom('policy_change')
        .select((s) => [
          sql<number>`coalesce(${s.fn.max('revision')}, 0) + 1`.as('revision'),
          sql<string>`${nonce}::text`.as('nonce'),
          sql<string[]>`${collapse(scopes)}::text[]`.as('scopes'),
        ]),
    )
    .returning('revision')
    .executeTakeFirstOrThrow();
  return { number, nonce };
}

/** The newest revision that this transaction sees; 0 when there is none. */
export async function newestRevision(tx: Tx): Promise<Mark> {
  const row = await tx.kysely
    .selectFrom('policy_change')
    .select(['revision', 'nonce'])
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? ANY_REVISION : { number: row.revision, nonce: row.nonce };
}

/** Each scope once; more than 200 become `a:APP` for each application, and where that is not enough `*`. */
export function collapse(scopes: readonly Scope[]): Scope[] {
  const distinct = [...new Set(scopes)];
  if (distinct.length <= MAX_SCOPES) return distinct;
  const wider = [...new Set(distinct.map(widen))];
  return wider.length <= MAX_SCOPES ? wider : ['*'];
}

function widen(scope: Scope): Scope {
  const [kind, app] = scope.split(':');
  return kind === 'p' || kind === 'm' ? `a:${app ?? ''}` : scope;
}

/**
 * Deletes log rows of more than seven days ago, a few at a time, each time a statement of its own. The newest row stays,
 * whatever its age: numbering goes on from it. Answers how many went.
 */
export async function pruneChangeLog(db: Kysely<Schema>): Promise<number> {
  for (let total = 0; ; ) {
    const { numDeletedRows } = await db
      .deleteFrom('policy_change')
      .where('revision', 'in', (eb) =>
        eb
          .selectFrom('policy_change')
          .select('revision')
          .where('revision', '<', (newest) =>
            newest.selectFrom('policy_change').select((s) => s.fn.max('revision').as('r')),
          )
          .where('at', '<', sql<Date>`now() - make_interval(days => ${KEEP_DAYS})`)
          .orderBy('revision')
          .limit(PRUNE_ROWS),
      )
      .executeTakeFirstOrThrow();
    total += Number(numDeletedRows);
    if (numDeletedRows < PRUNE_ROWS) return total;
  }
}
