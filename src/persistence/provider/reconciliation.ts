/** What a comparison with the identity provider reads of people, and where it keeps how the last one ended. */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';
import { getSetting, putSetting } from '../settings.ts';

/** A known address as a comparison sees it. */
export interface KnownPerson {
  id: number;
  email: string;
  /** Whether they have a record of their own; otherwise the address only appears in other records. */
  registered: boolean;
  /** The provider's flag, not the administrators'. */
  active: boolean;
  stateChangedAt: Date | null;
  firstName: string | null;
  lastName: string | null;
  displayName: string | null;
  namesChangedAt: Date | null;
  /** Those of the requested applications in which they have preferences. */
  applications: readonly number[];
}

/** $1 addresses, $2 ids of applications. */
const KNOWN = new Prepared<KnownPerson>(
  'reconciled_people',
  `
    select p.id, p.email, f.person_id is not null as registered, p.provider_active as active,
      f.state_changed_at as "stateChangedAt", f.first_name as "firstName", f.last_name as "lastName",
      f.display_name as "displayName", f.names_changed_at as "namesChangedAt",
      array(select l.application_id from app_preference l
        where l.person_id = p.id and l.application_id = any($2::bigint[])) as applications
    from person p left join profile f on f.person_id = p.id where p.email = any($1::text[])`,
);

/** By address; addresses without a row are left out. */
export async function knownPeople(
  tx: Tx,
  emails: readonly string[],
  applications: readonly number[],
): Promise<Map<string, KnownPerson>> {
  const rows = await KNOWN.rows(tx, emails, applications);
  return new Map(rows.map((row) => [row.email, row]));
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
    .innerJoin('profile as f', 'f.person_id', 'p.id')
    .where('p.provider_active', '=', true)
    .leftJoin('person_account as a', (join) => join.onRef('a.person_id', '=', 'p.id').on('a.signs_in', '=', true))
    .where(sql<boolean>`(a.issuer is null or a.issuer = ${issuer}::text)`);
}

/** The application of each organization: the configured one, else the stored one. Unknown codes are left out. */
export async function applicationsOfOrganizations(
  tx: Tx,
  configured: ReadonlyMap<string, string>,
): Promise<Map<string, number>> {
  const stored = await tx.kysely
    .selectFrom('organization as o')
    .innerJoin('application as a', 'a.id', 'o.application_id')
    .select(['o.org_id as org', 'a.id'])
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
