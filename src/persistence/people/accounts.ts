/** Accounts at identity providers, and whose they are (docs/reference/callers.md#accounts). */

import { sql } from 'kysely';
import type { Statement, Tx } from '../database.ts';
import { asOnly } from '../driver/dialect.ts';
import { Prepared } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import { heldSql } from '../windows.ts';

/** An account at an identity provider: the claims `iss` and `sub` of its tokens. */
export interface Subject {
  readonly issuer: string;
  readonly subject: string;
}

/** An account, with what is known of it. */
export interface AccountRow
  extends Subject,
    Pick<Row<'person_account'>, 'signsIn' | 'mayRule' | 'organization' | 'seenAt'> {
  /** Whose it is. */
  readonly email: string;
}

/** An account to be kept as a person's. */
export interface NewAccount
  extends Subject,
    Pick<Row<'person_account'>, 'personId' | 'organization' | 'mayRule' | 'seenAt'> {}

/**
 * Whether the person rules: is a SuperAdmin, administers an application, or holds anything in `auth`. `person` is a column or a parameter.
 */
function rulesOf(person: string): string {
  return `(exists (select from superadmin s where s.person_id = ${person})
    or exists (select from ${heldSql('app_admin')} m where m.person_id = ${person})
    or exists (select from ${heldSql('user_role')} u where u.person_id = ${person}
      and u.application_id = (select id from application where code = 'auth'))
    or exists (select from ${heldSql('resource_override')} o where o.person_id = ${person}
      and o.application_id = (select id from application where code = 'auth')))`;
}

/**
 * The person whom an event about the account concerns; undefined for an unknown one. Says nothing about what the account may do: accounts
 * that never signed in are found as well. Of several people with one account (the address was changed at the provider) the one who had it last.
 */
export async function personOfAccount(
  { kysely }: Tx,
  { issuer, subject }: Subject,
): Promise<{ id: number; email: string } | undefined> {
  const { rows } = await sql<{ id: number; email: string }>`
    select p.id, p.email from person_account a join person p on p.id = a.person_id
    where a.issuer = ${issuer} and a.user_id = ${subject}
    order by a.seen_at desc, a.signs_in desc, p.id desc limit 1`.execute(kysely);
  return rows[0];
}

/**
 * The person as whom tokens of the account are admitted; undefined where there is none. `bound`: where accounts are bound
 * (`auth.bindSubject`), an account that may not rule signs nobody in while its address rules.
 */
export async function personSignedInBy(
  { kysely }: Tx,
  { issuer, subject }: Subject,
  bound: boolean,
): Promise<{ id: number; email: string } | undefined> {
  const { rows } = await sql<{ id: number; email: string }>`
    select id, email from (
      select p.id, p.email, a.may_rule from person_account a join person p on p.id = a.person_id
      where a.issuer = ${issuer} and a.user_id = ${subject} and a.signs_in
      order by a.seen_at desc, p.id desc limit 1) p
    where not ${bound}::boolean or may_rule or not ${sql.raw(rulesOf('p.id'))}`.execute(kysely);
  return rows[0];
}

/** As `personSignedInBy`, of several accounts of one issuer: the address of each. Those that sign nobody in are left out. */
export async function peopleSignedInBy(
  { kysely }: Tx,
  issuer: string,
  subjects: readonly string[],
  bound: boolean,
): Promise<Map<string, string>> {
  const { rows } = await sql<{ subject: string; email: string }>`
    select subject, email from (
      select distinct on (a.user_id) a.user_id as subject, p.id, p.email, a.may_rule
      from person_account a join person p on p.id = a.person_id
      where a.issuer = ${issuer} and a.user_id = any(${subjects}::text[]) and a.signs_in
      order by a.user_id, a.seen_at desc, p.id desc) p
    where not ${bound}::boolean or may_rule or not ${sql.raw(rulesOf('p.id'))}`.execute(kysely);
  return new Map(rows.map(({ subject, email }) => [subject, email]));
}

/** The accounts of people, by address and then the one that signs in first. Addresses without one are left out. */
export async function accountsOf({ kysely }: Tx, emails: readonly string[]): Promise<AccountRow[]> {
  const { rows } = await sql<AccountRow>`
    select p.email, a.issuer, a.user_id as subject, a.signs_in, a.may_rule, a.organization, a.seen_at
    from person p join person_account a on a.person_id = p.id where p.email = any(${emails}::text[])
    order by p.email, a.signs_in desc, a.issuer, a.user_id`.execute(kysely);
  return rows;
}

/**
 * Keeps accounts that a source other than a token tells of (an event, a comparison, set-up). They sign nobody in. Addresses without a row
 * are left out; nothing is written for accounts that are known.
 */
export async function noteAccounts(
  { kysely }: Tx,
  accounts: readonly (Subject & { readonly email: string; readonly seenAt: Date })[],
): Promise<void> {
  if (accounts.length === 0) return;
  const of = <T>(pick: (account: (typeof accounts)[number]) => T): T[] => accounts.map(pick);
  await sql`
    insert into person_account (issuer, user_id, person_id, seen_at)
    select distinct on (g.issuer, g.user_id, p.id) g.issuer, g.user_id, p.id, g.seen_at
    from unnest(${of(({ issuer }) => issuer)}::text[], ${of(({ subject }) => subject)}::text[],
        ${of(({ email }) => email)}::text[], ${of(({ seenAt }) => seenAt.toISOString())}::timestamptz[])
      as g (issuer, user_id, email, seen_at)
    join person p on p.email = g.email
    where not exists (select from person_account a
      where a.issuer = g.issuer and a.user_id = g.user_id and a.person_id = p.id)
    order by g.issuer, g.user_id, p.id, g.seen_at desc
    on conflict (issuer, user_id, person_id) do nothing`.execute(kysely);
}

/**
 * Moves every account to another person. The one that signed in signs in there, unless another does already. Lock both people first.
 */
export async function moveAccounts({ kysely }: Tx, from: number, to: number): Promise<void> {
  await sql`
    with gone as (delete from person_account where person_id = ${from} returning *),
    free as (select not exists (select from person_account where person_id = ${to} and signs_in) as place)
    insert into person_account (issuer, user_id, person_id, signs_in, may_rule, organization, seen_at)
    select issuer, user_id, ${to}, signs_in and place, may_rule and signs_in and place, organization, seen_at from gone, free
    on conflict (issuer, user_id, person_id) do update set signs_in = person_account.signs_in or excluded.signs_in,
      may_rule = person_account.may_rule or excluded.may_rule,
      seen_at = greatest(person_account.seen_at, excluded.seen_at)`.execute(kysely);
}

/** What a token is compared with: the account that signs its address in, and the age of the names. */
export interface KeptAccount {
  /** The person's id. */
  readonly id: number;
  readonly email: string;
  /** Whether the person has a profile. */
  readonly registered: boolean;
  /** Null where no account signs the address in. */
  readonly issuer: string | null;
  readonly subject: string | null;
  /** Whether the address rules and has no account that may: then a token must show that its account may. */
  readonly rulesUnproven: boolean;
  readonly namesChangedAt: Date | null;
  readonly namesKept: number;
}

/** $1 addresses. */
const KEPT = new Prepared<KeptAccount>(
  'kept_accounts',
  `select p.id, p.email, f.person_id is not null as registered, a.issuer, a.user_id as subject,
      case when a.may_rule then false else ${rulesOf('p.id')} end as rules_unproven,
      f.names_changed_at, coalesce(f.names_kept, 0) as names_kept
    from person p left join profile f on f.person_id = p.id
      left join person_account a on a.person_id = p.id and a.signs_in
    where p.email = any($1::text[])`,
);

/** The accounts that sign addresses in; addresses without a row are left out. */
export function keptAccounts(emails: readonly string[]): Statement<KeptAccount> {
  return asOnly(KEPT.with(emails));
}

const LOCK = new Prepared<{ email: string }>(
  'lock_person',
  'select email from person where id = $1::bigint for no key update',
);

/** What every change of a signing account takes first, so that of two the second sees the result of the first. */
async function lock(tx: Tx, person: number): Promise<void> {
  await LOCK.row(tx, person);
}

const SIGNING = new Prepared<Subject & { mayRule: boolean }>(
  'signing_account',
  `select issuer, user_id as subject, may_rule from person_account where person_id = $1::bigint and signs_in`,
);

/** The account that signs the person in, locked with the person until the transaction ends; undefined without one. */
export async function holdSigningAccount(
  tx: Tx,
  person: number,
): Promise<(Subject & { mayRule: boolean }) | undefined> {
  await lock(tx, person);
  return (await SIGNING.rows(tx, person))[0];
}

/** Lists of equal length: $1 people, $2 issuers, $3 accounts, $4 whether they may rule, $5 organizations, $6 times; $7 `bound`. */
const CLAIM = new Prepared<Subject & { personId: number }>(
  'claim_accounts',
  `with given as (
    select * from unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::timestamptz[])
      as g (person_id, issuer, user_id, may_rule, organization, seen_at)),
  claimed as (
    insert into person_account (issuer, user_id, person_id, signs_in, may_rule, organization, seen_at)
    select g.issuer, g.user_id, g.person_id, true, g.may_rule, g.organization, g.seen_at from given g
    where not exists (select from person_account a where a.person_id = g.person_id and a.signs_in)
      and (g.may_rule or not $7::boolean or not ${rulesOf('g.person_id')})
    order by g.person_id
    on conflict (issuer, user_id, person_id) do update set signs_in = true, may_rule = excluded.may_rule,
      organization = excluded.organization, seen_at = greatest(person_account.seen_at, excluded.seen_at)
    returning person_id, issuer, user_id)
  select person_id, issuer, user_id as subject from claimed
  union all
  select a.person_id, a.issuer, a.user_id from person_account a join given g on g.person_id = a.person_id where a.signs_in`,
);

/**
 * Makes each account the one that signs its person in, where the person has none; returns the accounts that do now, by person. `bound`: where
 * accounts are bound, one that may not rule does not become that of a person who rules. The people's rows must be locked.
 */
export async function claimAccounts(
  tx: Tx,
  accounts: readonly NewAccount[],
  bound: boolean,
): Promise<Map<number, Subject>> {
  const of = <T>(pick: (account: NewAccount) => T): T[] => accounts.map(pick);
  const rows = await CLAIM.rows(
    tx,
    of(({ personId }) => personId),
    of(({ issuer }) => issuer),
    of(({ subject }) => subject),
    of(({ mayRule }) => mayRule),
    of(({ organization }) => organization),
    of(({ seenAt }) => seenAt.toISOString()),
    bound,
  );
  return new Map(rows.map(({ personId, issuer, subject }) => [personId, { issuer, subject }]));
}

/** The account that signs the person in may rule from now on, by a token of that organization. */
export async function letRule({ kysely }: Tx, person: number, organization: string | null): Promise<void> {
  await kysely
    .updateTable('person_account')
    .set({ mayRule: true, organization })
    .where('personId', '=', person)
    .where('signsIn', '=', true)
    .execute();
}

/** Whether the person rules. */
export async function isRuling({ kysely }: Tx, person: number): Promise<boolean> {
  const { rows } = await sql<{ rules: boolean }>`
    select ${sql.raw(rulesOf('p.id'))} as rules from person p where p.id = ${person}`.execute(kysely);
  return rows[0]?.rules === true;
}

/**
 * Makes the account the one that signs the person in, whatever did before; that one stays known, for events about it. The person's row must be
 * locked.
 */
export async function replaceAccount(tx: Tx, account: NewAccount): Promise<void> {
  await tx.kysely
    .updateTable('person_account')
    .set({ signsIn: false, mayRule: false })
    .where('personId', '=', account.personId)
    .where('signsIn', '=', true)
    .execute();
  await claimAccounts(tx, [account], false);
}

/**
 * Names the account that signs a person in, also where they rule; returns the one before, null without one. `changed`: whether it was
 * another, or might not rule.
 */
export async function nameAccount(
  tx: Tx,
  person: number,
  { issuer, subject }: Subject,
): Promise<{ before: Subject | null; changed: boolean }> {
  const held = await holdSigningAccount(tx, person);
  const before = held === undefined ? null : { issuer: held.issuer, subject: held.subject };
  const isSame = held?.issuer === issuer && held.subject === subject;
  if (isSame && held.mayRule) return { before, changed: false };
  if (isSame) await letRule(tx, person, null);
  else {
    const { rows } = await sql<{ at: Date }>`select now() as at`.execute(tx.kysely);
    const seenAt = rows[0]?.at ?? new Date(0);
    await replaceAccount(tx, { personId: person, issuer, subject, organization: null, mayRule: true, seenAt });
  }
  return { before, changed: true };
}

/** Forgets the account that signs a person in, so that the next token's does. Returns it; null without one. */
export async function forgetAccount(tx: Tx, person: number): Promise<Subject | null> {
  const held = await holdSigningAccount(tx, person);
  if (held === undefined) return null;
  await tx.kysely.deleteFrom('person_account').where('personId', '=', person).where('signsIn', '=', true).execute();
  return { issuer: held.issuer, subject: held.subject };
}
