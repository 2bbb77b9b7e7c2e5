/** What a comparison with the identity provider reads of people, and where it keeps how the last one ended. */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import { getSetting, putSetting } from '../settings.ts';

/** A known address as a comparison sees it. */
export interface KnownPerson
  extends Pick<Row<'profile'>, 'stateChangedAt' | 'firstName' | 'lastName' | 'displayName' | 'namesChangedAt'> {
  id: number;
  email: string;
  /** Whether they have a record of their own; otherwise the address only appears in other records. */
  registered: boolean;
  /** The provider's flag, not the administrators'. */
  active: boolean;
  /** The provider's user whose account signs the person in; null without one. */
  ownUserId: string | null;
  /** Those of the requested applications in which they have preferences. */
  applications: readonly number[];
}

/** $1 addresses, $2 ids of applications, $3 the provider's issuer. */
const KNOWN = new Prepared<KnownPerson>(
  'reconciled_people',
  `
    select p.id, p.email, f.person_id is not null as registered, p.provider_active as active,
      f.state_changed_at, f.first_name, f.last_name, f.display_name, f.names_changed_at,
      (select a.user_id from person_account a where a.person_id = p.id and a.signs_in and a.issuer = $3::text) as own_user_id,
      array(select l.application_id from app_preference l
        where l.person_id = p.id and l.application_id = any($2::bigint[])) as applications
    from person p left join profile f on f.person_id = p.id where p.email = any($1::text[])`,
);

/** By address; addresses without a row are left out. */
export async function knownPeople(
  tx: Tx,
  emails: readonly string[],
  applications: readonly number[],
  issuer: string,
): Promise<Map<string, KnownPerson>> {
  const rows = await KNOWN.rows(tx, emails, applications, issuer);
  return new Map(rows.map((row) => [row.email, row]));
}

/** $1 the provider's issuer, $2 its users. */
const OWNERS = new Prepared<{ userId: string; email: string }>(
  'owners_of_accounts',
  `
    select distinct on (a.user_id) a.user_id, p.email
    from person_account a join person p on p.id = a.person_id
    where a.issuer = $1::text and a.user_id = any($2::text[])
      and (a.signs_in or not exists (select from person_account s
        where s.person_id = a.person_id and s.issuer = a.issuer and s.signs_in))
    order by a.user_id, a.signs_in desc, a.seen_at desc, p.id desc`,
);

/**
 * The address here of each of the provider's users that is known by its account. Of a person whose account signs in, other accounts stand
 * for the person only while they have the address: they may be anybody's.
 */
export async function ownersOfAccounts(
  tx: Tx,
  issuer: string,
  userIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await OWNERS.rows(tx, issuer, userIds);
  return new Map(rows.map(({ userId, email }) => [userId, email]));
}

/**
 * People of the provider whom it is said to have active: with a record, and signed in by an account of `issuer` or by none. Those of
 * another issuer were never at the provider. Ascending by id, after `after`.
 */
export async function activePeople(
  tx: Tx,
  issuer: string | null,
  { after, limit }: { after: number; limit: number },
): Promise<{ id: number; email: string }[]> {
  return await ofProvider(tx, issuer)
    .select(['p.id', 'p.email'])
    .where('p.id', '>', after)
    .orderBy('p.id')
    .limit(limit)
    .execute();
}

function ofProvider({ kysely }: Tx, issuer: string | null) {
  return kysely
    .selectFrom('person as p')
    .innerJoin('profile as f', 'f.personId', 'p.id')
    .where('p.providerActive', '=', true)
    .leftJoin('person_account as a', (join) => join.onRef('a.personId', '=', 'p.id').on('a.signsIn', '=', true))
    .where(sql<boolean>`(a.issuer is null or a.issuer = ${issuer}::text)`);
}

/** The application of each organization: the configured one, else the stored one. Unknown codes are left out. */
export async function applicationsOfOrganizations(
  tx: Tx,
  configured: ReadonlyMap<string, string>,
): Promise<Map<string, number>> {
  const stored = await tx.kysely
    .selectFrom('organization as o')
    .innerJoin('application as a', 'a.id', 'o.applicationId')
    .select(['o.orgId as org', 'a.id'])
    .execute();
  const codes = [...new Set(configured.values())];
  const named =
    codes.length === 0
      ? []
      : await tx.kysely.selectFrom('application').select(['id', 'code']).where('code', 'in', codes).execute();
  const ids = new Map(named.map(({ id, code }) => [code, id]));
  const all = new Map(stored.map(({ org, id }) => [org, id]));
  for (const [org, code] of configured) {
    const id = ids.get(code);
    // A configured organization belongs to no other application, also where that one does not exist.
    if (id === undefined) all.delete(org);
    else all.set(org, id);
  }
  return all;
}

const LAST = 'idp.reconciliation';

/** How a comparison ended; readers check its shape. */
export async function lastReconciliation(tx: Tx): Promise<unknown> {
  return await getSetting(tx, LAST);
}

export async function keepReconciliation(tx: Tx, ended: unknown): Promise<void> {
  await putSetting(tx, LAST, ended);
}

const NIGHT = 'idp.reconciliation-night';

/** The last night whose comparison was made. */
export async function lastNight(tx: Tx): Promise<unknown> {
  return await getSetting(tx, NIGHT);
}

export async function keepNight(tx: Tx, night: string): Promise<void> {
  await putSetting(tx, NIGHT, night);
}
