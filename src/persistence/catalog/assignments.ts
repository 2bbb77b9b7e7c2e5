import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { findFew, named } from '../person-search.ts';

/** A role that somebody holds. */
export interface AssignedRole {
  id: number;
  code: string;
  description: string | null;
}

/** Who holds a role. */
export interface HolderRow {
  id: number;
  email: string;
  displayName: string | null;
  registered: boolean;
  active: boolean;
  assignedAt: Date;
}

/** The roles that a person holds in an application, by code. */
export async function readUserRoles(tx: Tx, app: number, person: number): Promise<AssignedRole[]> {
  return await tx.kysely
    .selectFrom('user_role as ur')
    .innerJoin('role as r', 'r.id', 'ur.role_id')
    .select(['r.id', 'r.code', 'r.description'])
    .where('ur.person_id', '=', person)
    .where('ur.application_id', '=', app)
    .orderBy('r.code')
    .execute();
}

/** Those of the application's roles that `ids` name, by id, held against deletion until the transaction ends. */
export async function holdRoles(tx: Tx, app: number, ids: readonly number[]): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  // In one order for everybody, so that no two writers wait for each other.
  const { rows } = await sql<{ id: number; code: string }>`
    select id, code from role where application_id = ${app} and id = any(${ids}::bigint[])
    order by id for key share`.execute(tx.kysely);
  return new Map(rows.map(({ id, code }) => [id, code]));
}

export async function hasRole(tx: Tx, app: number, id: number): Promise<boolean> {
  const { rows } = await sql`select from role where application_id = ${app} and id = ${id}`.execute(tx.kysely);
  return rows.length > 0;
}

/** Makes the set exactly this, in two statements. The roles must be the application's. */
export async function replaceUserRoles(tx: Tx, app: number, person: number, ids: readonly number[]): Promise<void> {
  await sql`
    delete from user_role
    where person_id = ${person} and application_id = ${app} and role_id <> all (${ids}::bigint[])`.execute(tx.kysely);
  await sql`
    insert into user_role (person_id, application_id, role_id)
    select ${person}, ${app}, id from unnest(${ids}::bigint[]) as w (id)
    on conflict (person_id, application_id, role_id) do nothing`.execute(tx.kysely);
}

/** Who holds a role, in the order in which the addresses were first mentioned; at most `limit`, behind the id `after`. */
export async function listHolders(
  tx: Tx,
  app: number,
  role: number,
  { limit, after, search }: { limit: number; after: number | null; search: string | null },
): Promise<HolderRow[]> {
  const few = search === null ? null : await findFew(tx, search, after ?? 0);
  // The page first, by a scalar subquery and a limit of its own: a planner that joined would read everybody for it.
  const fits =
    search === null
      ? sql`true`
      : few !== null
        ? sql`m.person_id = any(${few}::bigint[])`
        : sql`(select ${named(search)} from person p left join profile f on f.person_id = p.id where p.id = m.person_id)`;
  const { rows } = await sql<HolderRow>`
    select p.id, p.email, f.display_name as "displayName", p.registered_at is not null as registered,
      p.provider_active and not p.blocked as active, ur.created_at as "assignedAt"
    from (select m.person_id, m.created_at from user_role m
        where m.application_id = ${app} and m.role_id = ${role} and m.person_id > ${after ?? 0} and ${fits}
        order by m.person_id limit ${limit}) ur
      join person p on p.id = ur.person_id
      left join profile f on f.person_id = p.id
    order by p.id`.execute(tx.kysely);
  return rows;
}
