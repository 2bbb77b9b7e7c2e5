import { sql } from 'kysely';
import { isOfOtherHistory, type RevisionToken } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { CHANGE_LOCK } from '../migrations/0001-policy.ts';
import { GRANT_TABLES } from '../windows.ts';
import { IS_MEMBER } from './membership.ts';

/** Whose decisions are to be as they were: those of people, or of everybody where `people` is null, in these applications. */
export interface Watched {
  readonly apps: readonly string[];
  readonly people: readonly string[] | null;
  /** Whether what the people hold in any other application counts, too. */
  readonly everywhere: boolean;
}

/**
 * Whether the change log has a change of `watched` after `mark`, or a grant has begun or ended since; `unknown` for a revision that
 * this history never made. A pruned revision counts as changed.
 */
export async function changedSince(
  tx: Tx,
  mark: RevisionToken,
  watched: Watched,
): Promise<'same' | 'changed' | 'unknown'> {
  const known = await sql<{ head: number; nonce: string | null }>`
    select coalesce(max(revision), 0) as head, (select nonce from policy_change where revision = ${mark.number}) as nonce
      from policy_change`.execute(tx.kysely);
  const { head, nonce } = known.rows[0] ?? { head: 0, nonce: null };
  if (mark.number > head) return 'unknown';
  // Revision 0 has no row, and is issued without a nonce.
  const isInvented = mark.number === 0 && mark.nonce !== null;
  if (isInvented || isOfOtherHistory(mark, nonce)) return 'unknown';
  if (mark.number > 0 && nonce === null) return 'changed';
  const { rows } = await sql<{ changed: boolean }>`
    select exists (select from policy_change c, unnest(c.scopes) s
                    where c.revision > ${mark.number} and (${touching(mark, watched)}))
      or ${passedSince(mark, watched)} as changed`.execute(tx.kysely);
  return rows[0]?.changed === false ? 'same' : 'changed';
}

/**
 * Locks the numbering until the transaction ends, so that no other write adds to the log before this one commits. To be called as
 * late as possible, since every other write to the policy waits.
 */
export async function holdNumbering(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${CHANGE_LOCK})`.execute(tx.kysely);
}

function touching(mark: RevisionToken, watched: Watched) {
  const { apps, people } = watched;
  const policies = ['*', ...apps.flatMap((app) => [`p:${app}`, `a:${app}`])];
  if (people === null) return sql`s = any(${policies}::text[]) or ${anybodyIn(apps)}`;
  const named = [
    ...people.map((email) => `u:${email}`),
    ...apps.flatMap((app) => people.map((email) => `m:${app}:${email}`)),
  ];
  const anywhere = watched.everywhere ? sql`or ${anywhereOf(mark, people)}` : sql``;
  return sql`s = any(${[...policies, ...named]}::text[]) ${anywhere}`;
}

/** All access in these applications. A SuperAdmin without a place there has the highest level whatever is written. */
function anybodyIn(apps: readonly string[]) {
  const members = apps.map((app) => `m:${app}:`);
  return sql`exists (select from unnest(${members}::text[]) m where starts_with(s, m))
    or (starts_with(s, 'u:') and exists (
      select from person p, application a
       where p.email = substr(s, 3) and a.code = any(${apps}::text[]) and ${IS_MEMBER}))`;
}

/**
 * The access of these people in any application. A scope `a:APP` stands for a deletion or for many changes, whose people are unknown,
 * so it counts, except for the creation of an application, in which these people have no access yet.
 */
function anywhereOf(mark: RevisionToken, people: readonly string[]) {
  return sql`(starts_with(s, 'm:') and substr(s, 3 + strpos(substr(s, 3), ':')) = any(${people}::text[]))
    or (starts_with(s, 'a:') and not (
      exists (select from application a where a.code = substr(s, 3) and a.created_at > ${atOf(mark)})
      and (select count(*) from policy_change d where d.revision > ${mark.number} and s = any(d.scopes)) = 1))`;
}

/**
 * Whether a grant of these people has begun or ended since the revision was made: that is a change from its instant on, whether or not
 * the log has it yet (docs/reference/time.md#changes).
 */
function passedSince(mark: RevisionToken, { apps, people, everywhere }: Watched) {
  const there = sql`x.application_id in (select id from application where code = any(${apps}::text[]))`;
  const theirs = sql`x.person_id in (select id from person where email = any(${people ?? []}::text[]))`;
  const which = people === null ? there : everywhere ? theirs : sql`${there} and ${theirs}`;
  const passed = GRANT_TABLES.flatMap((table) =>
    (['starts_at', 'ends_at'] as const).map(
      (column) => sql`exists (select from ${sql.table(table)} x
        where x.${sql.ref(column)} > ${atOf(mark)} and x.${sql.ref(column)} <= statement_timestamp() and ${which})`,
    ),
  );
  return sql`${sql.join(passed, sql` or `)}`;
}

/** When that revision was made: a little after its transaction began. */
function atOf({ number }: RevisionToken) {
  return sql`coalesce((select at from policy_change where revision = ${number}), '-infinity')`;
}
