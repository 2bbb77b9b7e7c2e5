import { type CompiledQuery, type Kysely, sql } from 'kysely';
import { ANY_REVISION, type RevisionToken } from '../engine/types.ts';
import { INSERT_AUDIT_SQL } from './audit.ts';
import type { Scope, Tx } from './database.ts';
import { asLast } from './driver/dialect.ts';
import { Prepared } from './driver/prepared.ts';
import type { Schema } from './entities/schema.ts';

/** More scopes than this are collapsed into fewer, wider ones. */
const MAX_SCOPES = 200;
/** Rows older than this are pruned, except for the newest. */
const KEEP_DAYS = 7;
const PRUNE_ROWS = 500;
/** The number of random bytes in a nonce. */
export const NONCE_BYTES = 6;

/**
 * Distinguishes the row of this revision from one with the same number in another history. In digits, so that a revision as
 * callers see it still reads as a growing number.
 */
export function nonceOf(bytes: Buffer): string {
  return bytes.readUIntBE(0, NONCE_BYTES).toString();
}

interface Newest {
  revision: number;
  nonce: string;
}

/** `log_change` of the migrations: records, then the lock of the numbering, then the row with its author. */
const ANNOUNCE = new Prepared<Newest>(
  'announce',
  'select log_change($1::jsonb, $2::text, $3::text[], $4::text) as revision, $2::text as nonce',
);

/** One statement, hence one snapshot: the revision is at least as new as everything that the transaction saw. */
const NEWEST = new Prepared<Newest>(
  'newest',
  `with recorded as (${INSERT_AUDIT_SQL}) select revision, nonce from policy_change order by revision desc limit 1`,
);

/** The end of a write: the parts of the policy that it touched, and its audit records. */
export interface Ending {
  /** Empty: no policy row was touched, and no revision is made. */
  scopes: readonly Scope[];
  /** As `toRows` of the audit writes them. */
  records: string | null;
  /** Who makes the revision, as audit records name them; null for nobody in particular. */
  actor: string | null;
  /** Random, for this write alone: `nonceOf`. */
  nonce: string;
}

/**
 * Writes the audit records of this transaction and its log row, if any, as its very last statement. COMMIT is sent with it:
 * the lock of the numbering is never held for a round trip. Returns the revision that it makes, or the newest that it sees, 0 for
 * an empty log; valid only when the commit succeeds.
 */
export async function conclude(tx: Tx, { scopes, records, actor, nonce }: Ending): Promise<RevisionToken> {
  const last: CompiledQuery<Newest> =
    scopes.length > 0 ? ANNOUNCE.with(records, nonce, collapse(scopes), actor) : NEWEST.with(records);
  const [row] = (await tx.kysely.executeQuery(asLast(last))).rows;
  return row === undefined ? ANY_REVISION : { number: row.revision, nonce: row.nonce };
}

/** The newest revision that the transaction sees. */
export async function newestRevision(tx: Tx): Promise<RevisionToken> {
  const row = await tx.kysely
    .selectFrom('policy_change')
    .select(['revision', 'nonce'])
    .orderBy('revision', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? ANY_REVISION : { number: row.revision, nonce: row.nonce };
}

/** Each scope once; more than 200 become `a:APP` for each application, and if that is not enough `*`. */
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
 * Deletes log rows older than seven days, a few per statement. The newest row stays, whatever its age, because numbering
 * continues from it: once that old, it names nobody any more, and a follower that still reads from before it forgets everything. Returns
 * the number of deleted rows.
 */
export async function pruneChangeLog(db: Kysely<Schema>): Promise<number> {
  let total = 0;
  for (;;) {
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
    if (numDeletedRows < PRUNE_ROWS) break;
  }
  await sql`
    update policy_change set scopes = '{*}', actor = null
    where revision = (select max(revision) from policy_change) and at < now() - make_interval(days => ${KEEP_DAYS}) and (scopes <> '{*}' or actor is not null)`.execute(
    db,
  );
  return total;
}
