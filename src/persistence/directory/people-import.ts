/** Statements of an import of people (docs/reference/people.md#import). */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';
import { unlessHeldSql } from '../windows.ts';
import type { Names } from './profiles.ts';

/** A role by its names, locked against deletion until the transaction ends. */
export interface ImportedRole {
  app: string;
  role: string;
  appId: number;
  roleId: number;
}

/** Those of the roles `app/role` that exist, and the applications among them that do. */
export async function holdNamedRoles(
  tx: Tx,
  named: readonly { app: string; role: string }[],
): Promise<{ roles: ImportedRole[]; apps: ReadonlySet<string> }> {
  const apps = [...new Set(named.map(({ app }) => app))];
  const known = await tx.kysely
    .selectFrom('application')
    .select(['id', 'code'])
    .where('code', 'in', ['', ...apps])
    .execute();
  const { rows } = await sql<ImportedRole>`
    select a.code as app, r.code as role, a.id as app_id, r.id as role_id
      from role r join application a on a.id = r.application_id
     where r.application_id = any(${known.map(({ id }) => id)}::bigint[])
       and r.code = any(${[...new Set(named.map(({ role }) => role))]}::text[])
     order by a.id, r.id for key share`.execute(tx.kysely);
  return { roles: rows, apps: new Set(known.map(({ code }) => code)) };
}

/** The ids of brands by slug, locked against deletion until the transaction ends. */
export async function holdBrands(tx: Tx, slugs: readonly string[]): Promise<Map<string, number>> {
  if (slugs.length === 0) return new Map();
  const { rows } = await sql<{ id: number; slug: string }>`
    select id, slug from brand where slug = any(${slugs}::text[]) order by id for key share`.execute(tx.kysely);
  return new Map(rows.map(({ id, slug }) => [slug, id]));
}

/** What an import compares and writes of a profile. */
export interface ImportedProfile
  extends Names,
    Pick<Row<'profile'>, 'locale' | 'timezone' | 'brandId' | 'namesChangedAt' | 'namesKept'> {
  id: number;
  email: string;
}

/** The profiles of these addresses, locked against other writes until the transaction ends. */
export async function lockProfiles(tx: Tx, emails: readonly string[]): Promise<Map<string, ImportedProfile>> {
  const { rows } = await sql<ImportedProfile>`
    select f.person_id as id, p.email, f.first_name, f.last_name, f.display_name, f.locale, f.timezone, f.brand_id,
      f.names_changed_at, f.names_kept
    from person p join profile f on f.person_id = p.id
    where p.email = any(${emails}::text[]) order by p.id for no key update of f`.execute(tx.kysely);
  return new Map(rows.map((row) => [row.email, row]));
}

/** Writes these profiles as they are given. */
export async function writeProfiles(tx: Tx, profiles: readonly ImportedProfile[]): Promise<void> {
  if (profiles.length === 0) return;
  const of = <T>(pick: (profile: ImportedProfile) => T) => profiles.map(pick);
  await sql`
    update profile f set first_name = n.first_name, last_name = n.last_name, display_name = n.display_name,
      locale = n.locale, timezone = n.timezone, brand_id = n.brand_id, updated_at = now()
    from unnest(${of(({ id }) => id)}::bigint[], ${of((one) => one.firstName)}::text[], ${of((one) => one.lastName)}::text[],
      ${of((one) => one.displayName)}::text[], ${of((one) => one.locale)}::text[], ${of((one) => one.timezone)}::text[],
      ${of((one) => one.brandId)}::bigint[])
      as n (person_id, first_name, last_name, display_name, locale, timezone, brand_id)
    where f.person_id = n.person_id`.execute(tx.kysely);
}

/** Gives these roles to people who lack them; returns which were given. */
export async function giveRoles(
  tx: Tx,
  given: readonly { person: number; appId: number; roleId: number }[],
): Promise<{ person: number; roleId: number }[]> {
  if (given.length === 0) return [];
  const { rows } = await sql<{ person: number; roleId: number }>`
    insert into user_role (person_id, application_id, role_id)
    select distinct g.* from unnest(${given.map(({ person }) => person)}::bigint[], ${given.map(({ appId }) => appId)}::bigint[],
      ${given.map(({ roleId }) => roleId)}::bigint[]) as g (person_id, application_id, role_id)
    order by person_id, application_id, role_id
    on conflict (person_id, application_id, role_id) ${sql.raw(unlessHeldSql('user_role'))}
    returning person_id as person, role_id`.execute(tx.kysely);
  return rows;
}
