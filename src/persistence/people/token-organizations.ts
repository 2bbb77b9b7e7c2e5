/** The organizations of the identity provider that are known here (docs/reference/callers.md#several-organizations). */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';

/** More are not kept: all that counts is whether there are several. */
const MAX_KEPT = 1000;

/** Keeps the organization of an admitted token. */
export async function keepOrganization({ kysely }: Tx, organization: string): Promise<void> {
  await sql`
    insert into token_organization (id) select ${organization}::text
    where (select count(*) from token_organization) < ${MAX_KEPT} on conflict (id) do nothing`.execute(kysely);
}

/**
 * Whether a token of this organization (null: it names none) comes from the only one that is known. `configured`: those that the
 * configuration names. Of two transactions that bring a new organization each, the second sees the first one's.
 */
export async function isOnlyOrganization(
  tx: Tx,
  organization: string | null,
  configured: readonly string[],
): Promise<boolean> {
  if (organization !== null) {
    const { rows } = await sql`select from token_organization where id = ${organization}`.execute(tx.kysely);
    if (rows.length === 0) {
      await sql`lock table token_organization in share row exclusive mode`.execute(tx.kysely);
      await keepOrganization(tx, organization);
    }
  }
  const known = await knownOrganizations(tx, organization === null ? configured : [organization, ...configured], 2);
  return known.length <= 1;
}

/** $1 those that the configuration names, $2 how many at most. */
export const KNOWN_ORGANIZATIONS_SQL = `
  (select idp_org_id as id from brand where idp_org_id is not null
    union select org_id from organization
    union (select id from token_organization limit $2::int)
    union select unnest($1::text[])) order by id limit $2::int`;

const KNOWN = new Prepared<{ id: string }>('known_organizations', KNOWN_ORGANIZATIONS_SQL);

/** The first `limit` of those that brands, set-up, admitted tokens or `configured` name. */
export async function knownOrganizations(tx: Tx, configured: readonly string[], limit: number): Promise<string[]> {
  return (await KNOWN.rows(tx, configured, limit)).map(({ id }) => id);
}
