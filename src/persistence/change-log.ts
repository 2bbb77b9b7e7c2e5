import { type Kysely, sql } from 'kysely';
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

/** Nonces from here on are of rows that were committed before they lasted. */
const FIRST_EARLY = 2 ** (8 * NONCE_BYTES);

/**
 * Distinguishes the row of this revision from one with the same number in another history. In digits, so that a revision as
 * callers see it still reads as a growing number. `early`: it says too that the row did not last yet when it could be seen, to
 * those instances that do not release early themselves (docs/adr/0024-early-release.md).
 */
export function nonceOf(bytes: Buffer, early: boolean): string {
  return (bytes.readUIntBE(0, NONCE_BYTES) + (early ? FIRST_EARLY : 0)).toString();
}

/** Whether that revision could be seen before it lasted. One that could not lasted when it was seen, and with it all before it. */
export function isEarly({ nonce }: RevisionToken): boolean {
  return Number(nonce) >= FIRST_EARLY;
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

/** The same, and COMMIT then waits neither for the disk nor for a standby: the lock is released at once. */
const ANNOUNCE_EARLY = new Prepared<Newest>(
  'announce_early',
  `select log_change($1::jsonb, $2::text, $3::text[], $4::text) as revision, $2::text as nonce,
    set_config('synchronous_commit', 'off', true) as waits`,
);

/**
 * One statement, hence one snapshot: the revision is at least as new as everything that the transaction saw. `wrote`: the
 * transaction has changed rows, so that its COMMIT waits for the disk, and with its own changes for all that it saw.
 */
const NEWEST = new Prepared<Newest & { wrote: boolean }>(
  'newest',
  `with recorded as (${INSERT_AUDIT_SQL})
   select revision, nonce, pg_current_xact_id_if_assigned() is not null as wrote
     from policy_change order by revision desc limit 1`,
);

/** The end of a write: the parts of the policy that it touched, and its audit records. */
export interface Ending {
  /** Empty: no policy row was touched, and no revision is made. */
  scopes: readonly Scope[];
  /** As `toRows` of the audit writes them. */
  records: string | null;
  /** Who makes the revision, as audit records name them; null for nobody in particular. */
  actor: string | null;
  /** Random, for this write alone: `nonceOf`, which says whether it is released early. */
  nonce: string;
}

export interface Concluded {
  /** The revision that it makes, or the newest that it sees, 0 for an empty log; valid only when the commit succeeds. */
  mark: RevisionToken;
  /** Whether everything up to `mark` outlives the server once the commit has succeeded. */
  lasts: boolean;
}

/**
 * Writes the audit records of this transaction and its log row, if any, as its very last statement. COMMIT is sent with it:
 * the lock of the numbering is never held for a round trip. `early`: nor for the disk or a standby, and the caller then has to
 * make the revision last before anybody is acknowledged.
 */
export async function conclude(tx: Tx, { scopes, records, actor, nonce }: Ending, early: boolean): Promise<Concluded> {
  if (scopes.length > 0) {
    const announce = early ? ANNOUNCE_EARLY : ANNOUNCE;
    const last = announce.with(records, nonce, collapse(scopes), actor);
    const [row] = (await tx.kysely.executeQuery(asLast(last))).rows;
    return { mark: tokenOf(row), lasts: !early };
  }
  const [row] = (await tx.kysely.executeQuery(asLast(NEWEST.with(records)))).rows;
  const mark = tokenOf(row);
  return { mark, lasts: records !== null || row === undefined || row.wrote || !(early || isEarly(mark)) };
}

function tokenOf(row: Newest | undefined): RevisionToken {
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
  return tokenOf(row);
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
    // As an array: joined, the planner may read the whole table for each few.
    const { numAffectedRows = 0n } = await sql`
      delete from policy_change where revision = any(array(
        select revision from policy_change
         where revision < (select max(revision) from policy_change) and at < now() - make_interval(days => ${KEEP_DAYS})
         order by revision limit ${PRUNE_ROWS}))`.execute(db);
    total += Number(numAffectedRows);
    if (numAffectedRows < PRUNE_ROWS) break;
  }
  await sql`
    update policy_change set scopes = '{*}', actor = null
    where revision = (select max(revision) from policy_change) and at < now() - make_interval(days => ${KEEP_DAYS}) and (scopes <> '{*}' or actor is not null)`.execute(
    db,
  );
  return total;
}
