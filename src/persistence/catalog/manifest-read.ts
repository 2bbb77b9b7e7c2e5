import { type RawBuilder, sql } from 'kysely';
import type { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';
import { type GrantWindow, held } from '../windows.ts';
import type { EntityFields } from './entities.ts';
import type { PermissionFields } from './permissions.ts';

/** The content of a manifest as the tables hold it, by codes and addresses instead of ids. An entity is that of entities.ts. */
export interface PermissionRow extends Omit<PermissionFields, 'parentPermissionId'> {
  code: string;
  parent: string | null;
}
export type RoleRow = Pick<Row<'role'>, 'code' | 'name' | 'description'>;
export interface RolePermissionRow {
  role: string;
  permission: string;
  level: Level;
}
export interface AdminRow extends GrantWindow {
  email: string;
}
export interface AssignmentRow extends GrantWindow {
  email: string;
  role: string;
}
export interface OverrideRow extends GrantWindow {
  email: string;
  resourceType: string;
  resourceId: string;
  permission: string;
  level: Level;
}

/** Rows of one statement: PGlite runs on this process's event loop, and one page is the longest it may block it. */
export const PAGE = 1000;

/** Tries to become the only apply of a manifest to `code` until the transaction ends. Does not wait. */
export async function tryClaim({ kysely }: Tx, code: string): Promise<boolean> {
  // Two keys: the change log's lock has one, and the two kinds of key never meet.
  const { rows } = await sql<{ claimed: boolean }>`
    select pg_try_advisory_xact_lock(${CLAIM}::int, hashtext(${code})) as claimed`.execute(kysely);
  return rows[0]?.claimed ?? false;
}

const CLAIM = 0x6d616e69;

/**
 * Locks the application, its permissions and its roles against everybody else until the transaction ends: no row that refers to
 * them can be added meanwhile, so what is read after this call is still true when the plan is carried out.
 */
export async function lockApplication({ kysely }: Tx, code: string): Promise<void> {
  await sql`select id from application where code = ${code} for update`.execute(kysely);
  for (const table of ['permission', 'role']) {
    await sql`
      select id from ${sql.table(table)} where application_id = (select id from application where code = ${code})
      order by id for update`.execute(kysely);
  }
}

/** The codes of the language registry. */
export async function readLanguages({ kysely }: Tx): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`select code from language`.execute(kysely);
  return rows.map(({ code }) => code);
}

export function readEntities(tx: Tx, app: number): AsyncGenerator<EntityFields[]> {
  return pages(
    tx,
    sql<EntityFields>`
    select code, name, description, id_label, list_endpoint, list_search from entity where application_id = ${app}`,
  );
}

export function readPermissions(tx: Tx, app: number): AsyncGenerator<PermissionRow[]> {
  return pages(
    tx,
    sql<PermissionRow>`
    select p.code, p.tiered, p.description, p.group_name, parent.code as parent, p.global
    from permission p left join permission parent on parent.application_id = p.application_id and parent.id = p.parent_id
    where p.application_id = ${app}`,
  );
}

export function readRoles(tx: Tx, app: number): AsyncGenerator<RoleRow[]> {
  return pages(tx, sql<RoleRow>`select code, name, description from role where application_id = ${app}`);
}

export function readRolePermissions(tx: Tx, app: number): AsyncGenerator<RolePermissionRow[]> {
  return pages(
    tx,
    sql<RolePermissionRow>`
    select r.code as role, p.code as permission, rp.level
    from role_permission rp
      join role r on r.application_id = rp.application_id and r.id = rp.role_id
      join permission p on p.application_id = rp.application_id and p.id = rp.permission_id
    where rp.application_id = ${app}`,
  );
}

/** The rows to read: everybody's, those of these addresses, or those that belong to these roles or permissions. */
export type Wanted = { all: true } | { emails: readonly string[] } | { with: readonly string[] };

export function readAdmins(tx: Tx, app: number, wanted: Wanted): AsyncGenerator<AdminRow[]> {
  return each(
    tx,
    wanted,
    (chosen) => sql<AdminRow>`
    select person.email, x.starts_at, x.ends_at from ${held('app_admin')} x join person on person.id = x.person_id
    where x.application_id = ${app} and ${chosen ? byEmail(chosen) : sql`true`}`,
  );
}

/** `with` lists roles. */
export function readAssignments(tx: Tx, app: number, wanted: Wanted): AsyncGenerator<AssignmentRow[]> {
  const choose = 'with' in wanted ? (codes: Texts) => sql`r.code = any(${codes}::text[])` : byEmail;
  return each(
    tx,
    wanted,
    (chosen) => sql<AssignmentRow>`
    select person.email, r.code as role, x.starts_at, x.ends_at
    from ${held('user_role')} x
      join person on person.id = x.person_id
      join role r on r.application_id = x.application_id and r.id = x.role_id
    where x.application_id = ${app} and ${chosen ? choose(chosen) : sql`true`}`,
  );
}

/** `with` lists permissions. */
export function readOverrides(tx: Tx, app: number, wanted: Wanted): AsyncGenerator<OverrideRow[]> {
  const choose = 'with' in wanted ? (codes: Texts) => sql`p.code = any(${codes}::text[])` : byEmail;
  return each(
    tx,
    wanted,
    (chosen) => sql<OverrideRow>`
    select person.email, x.resource_type, x.resource_id, p.code as permission, x.level, x.starts_at, x.ends_at
    from ${held('resource_override')} x
      join person on person.id = x.person_id
      join permission p on p.application_id = x.application_id and p.id = x.permission_id
    where x.application_id = ${app} and ${chosen ? choose(chosen) : sql`true`}`,
  );
}

/**
 * The number of overrides of these permissions, and of these resource types. Zeros are left out. One that has ended holds the type of
 * its permission until its row is gone.
 */
export async function countOverrides(
  { kysely }: Tx,
  app: number,
  permissions: readonly string[],
  types: readonly string[],
): Promise<{ ofPermission: Map<string, number>; ofType: Map<string, number> }> {
  const counted = async (names: Texts, statement: (page: Texts) => RawBuilder<{ name: string; count: number }>) => {
    const counts = new Map<string, number>();
    for (let at = 0; at < names.length; at += PAGE) {
      const { rows } = await statement(names.slice(at, at + PAGE)).execute(kysely);
      for (const { name, count } of rows) counts.set(name, count);
      await turn();
    }
    return counts;
  };
  const ofPermission = await counted(
    permissions,
    (codes) => sql`
      select p.code as name, count(*) as count
      from resource_override x join permission p on p.application_id = x.application_id and p.id = x.permission_id
      where x.application_id = ${app} and p.code = any(${codes}::text[]) group by p.code`,
  );
  const ofType = await counted(
    types,
    (codes) => sql`
      select resource_type as name, count(*) as count from ${held('resource_override')} x
      where application_id = ${app} and resource_type = any(${codes}::text[]) group by resource_type`,
  );
  return { ofPermission, ofType };
}

/** The number of rows that the application has in a table of people, about: those that have ended are among them. */
export async function countRows(
  { kysely }: Tx,
  app: number,
  table: 'app_admin' | 'user_role' | 'resource_override',
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from ${sql.table(table)} where application_id = ${app}`.execute(kysely);
  return rows[0]?.count ?? 0;
}

type Texts = readonly string[];

const byEmail = (emails: Texts) => sql`person.email = any(${emails}::text[])`;

/** Runs the statement once for all, or once for each page of the chosen ones. */
async function* each<T>(
  tx: Tx,
  wanted: Wanted,
  statement: (chosen: Texts | null) => RawBuilder<T>,
): AsyncGenerator<T[]> {
  if ('all' in wanted) {
    yield* pages(tx, statement(null));
    return;
  }
  const chosen = 'emails' in wanted ? wanted.emails : wanted.with;
  for (let at = 0; at < chosen.length; at += PAGE) yield* pages(tx, statement(chosen.slice(at, at + PAGE)));
}

/** A statement's rows a page at a time, of one snapshot, with a turn of the event loop between pages. */
export async function* pages<T>({ kysely }: Tx, statement: RawBuilder<T>): AsyncGenerator<T[]> {
  await sql`declare page no scroll cursor for ${statement}`.execute(kysely);
  try {
    for (;;) {
      const { rows } = await sql<T>`fetch ${sql.lit(PAGE)} from page`.execute(kysely);
      if (rows.length > 0) yield rows;
      if (rows.length < PAGE) break;
      await turn();
    }
  } finally {
    await sql`close page`.execute(kysely);
  }
}

/** Lets everything else that waits run: awaiting PGlite's answers alone never leaves the microtask queue. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
