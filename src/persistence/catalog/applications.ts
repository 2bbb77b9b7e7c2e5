import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { planByIndex } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import { GRANT_TABLES, hasEnded, held, memberRows } from '../windows.ts';

export interface ApplicationRecord extends Row<'application'> {
  /** In the order given by the administrator. */
  supportedLanguages: string[];
}

/** The writable fields of an application, apart from its languages. */
export type ApplicationFields = Pick<Row<'application'>, 'name' | 'description' | 'strictCodes' | 'tellEndings'>;

/** The id of the application, locked against deletion until the transaction ends; null for an unknown one. */
export async function holdApplication(tx: Tx, code: string): Promise<number | null> {
  return (await idOf(tx, code).forKeyShare().executeTakeFirst())?.id ?? null;
}

/**
 * Like `holdApplication`, but exclusive: other holders, and inserts of rows that refer to the application, wait until the
 * transaction ends, so that what is read after this call stays true.
 */
export async function holdApplicationAlone(tx: Tx, code: string): Promise<number | null> {
  return (await idOf(tx, code).forUpdate().executeTakeFirst())?.id ?? null;
}

/** The id of the application; null for an unknown one. For reads. */
export async function findApplicationId(tx: Tx, code: string): Promise<number | null> {
  return (await idOf(tx, code).executeTakeFirst())?.id ?? null;
}

const idOf = ({ kysely }: Tx, code: string) => kysely.selectFrom('application').select('id').where('code', '=', code);

const records = (which: RawBuilder<unknown>): RawBuilder<ApplicationRecord> => sql<ApplicationRecord>`
  select id, code, name, description, strict_codes, tell_endings, array(
    select language_code from application_language where application_id = application.id order by position
  ) as supported_languages, created_at, updated_at
  from application ${which}`;

/** What applications are searched by: all of them, or these. In no order. */
export async function readNames(
  { kysely }: Tx,
  ids: readonly number[] | null,
): Promise<readonly { code: string; name: string }[]> {
  const which = ids === null ? sql`true` : sql`a.id = any(${ids}::bigint[])`;
  // In one row, as in application-pages.ts.
  const { rows } = await sql<{ codes: string[]; names: string[] }>`
    select coalesce(array_agg(a.code), '{}') as codes, coalesce(array_agg(a.name), '{}') as names
    from application a where ${which}`.execute(kysely);
  const [{ codes, names } = { codes: [], names: [] }] = rows;
  return codes.map((code, at) => ({ code, name: names[at] ?? '' }));
}

/** All of them, by code. */
export async function listApplications({ kysely }: Tx): Promise<ApplicationRecord[]> {
  return (await records(sql`order by code`).execute(kysely)).rows;
}

/** Those of them that exist, in no order. */
export async function readApplications({ kysely }: Tx, ids: readonly number[]): Promise<ApplicationRecord[]> {
  return (await records(sql`where id = any(${ids}::bigint[])`).execute(kysely)).rows;
}

export async function readApplication({ kysely }: Tx, code: string): Promise<ApplicationRecord | undefined> {
  return (await records(sql`where code = ${code}`).execute(kysely)).rows[0];
}

/** Roles, permissions and administrators of each of these applications that has any, in one statement; by id. */
export async function countContents(
  tx: Tx,
  ids: readonly number[],
): Promise<Map<number, { roles: number; permissions: number; admins: number }>> {
  await planByIndex(tx);
  const counted = (table: 'role' | 'permission' | 'app_admin') => sql`
    select application_id, ${table}::text as of, count(*) as n from ${table === 'app_admin' ? held(table) : sql.table(table)} c
    where application_id = any(${ids}::bigint[]) group by application_id`;
  const { rows } = await sql<{ id: number; roles: number; permissions: number; admins: number }>`
    select application_id as id, coalesce(sum(n) filter (where of = 'role'), 0)::int as roles,
      coalesce(sum(n) filter (where of = 'permission'), 0)::int as permissions,
      coalesce(sum(n) filter (where of = 'app_admin'), 0)::int as admins
    from (${sql.join((['role', 'permission', 'app_admin'] as const).map(counted), sql` union all `)}) c
    group by application_id`.execute(tx.kysely);
  return new Map(rows.map(({ id, ...counts }) => [id, counts]));
}

/**
 * Users of each of these applications that has any (docs/reference/administration.md#users), by id. Reads all of their entries in
 * four indexes, application by application: people alone are sorted in two thirds of the time that pairs of both take. Those whose
 * grants there have all ended are counted off: they are few, and found by their ends.
 */
export async function countPeople(tx: Tx, ids: readonly number[]): Promise<Map<number, number>> {
  await planByIndex(tx);
  const tables = ['user_role', 'resource_override', 'app_preference', 'app_admin'] as const;
  const members = tables.map((table) => sql`select person_id from ${sql.table(table)} where application_id = a.id`);
  const ended = GRANT_TABLES.map(
    (table) => sql`select x.person_id from ${sql.table(table)} x where ${hasEnded('x')} and x.application_id = a.id`,
  );
  const stays = tables.map(
    (table) =>
      sql`exists (select from ${memberRows(table)} m where m.person_id = e.person_id and m.application_id = a.id)`,
  );
  const { rows } = await sql<{ id: number; people: number }>`
    select a.id, (select count(distinct m.person_id)::int from (${sql.join(members, sql` union all `)}) m)
        - (select count(distinct e.person_id)::int from (${sql.join(ended, sql` union all `)}) e
            where not (${sql.join(stays, sql` or `)})) as people
    from unnest(${ids}::bigint[]) as a (id)`.execute(tx.kysely);
  return new Map(rows.map(({ id, people }) => [id, people]));
}

/** Creates the application; returns its id, or null when the code is taken. */
export async function insertApplication(tx: Tx, app: ApplicationFields & { code: string }): Promise<number | null> {
  const { code, name, description, strictCodes, tellEndings } = app;
  const row = await tx.kysely
    .insertInto('application')
    .values({ code, name, description, strictCodes, tellEndings })
    .onConflict((oc) => oc.column('code').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id ?? null;
}

export async function updateApplication(
  tx: Tx,
  id: number,
  { name, description, strictCodes, tellEndings }: ApplicationFields,
): Promise<void> {
  await tx.kysely
    .updateTable('application')
    .set({ name, description, strictCodes, tellEndings, updatedAt: sql<Date>`now()` })
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

/** Replaces the set, in this order. */
export async function replaceLanguages({ kysely }: Tx, app: number, codes: readonly string[]): Promise<void> {
  await sql`delete from application_language where application_id = ${app}`.execute(kysely);
  if (codes.length === 0) return;
  await sql`
    insert into application_language (application_id, language_code, position)
    select ${app}, code, position from unnest(${codes}::text[]) with ordinality as t (code, position)`.execute(kysely);
}

/** Deletes everything that belongs to it. Lock the application alone first: the notifications of a concurrent send would be missed. */
export async function deleteApplication(tx: Tx, id: number): Promise<void> {
  await sql`delete from notification where application_id = ${id}`.execute(tx.kysely);
  await tx.kysely.deleteFrom('application').where('id', '=', id).execute();
}

/**
 * Deletes the overrides for one resource in an application; returns the addresses of their people. The panel's levels on an
 * application are such overrides, in the panel's own application.
 */
export async function deleteOverridesOfResource(
  tx: Tx,
  app: string,
  resourceType: string,
  resourceId: string,
): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    with gone as (
      delete from resource_override
      where application_id = (select id from application where code = ${app})
        and resource_type = ${resourceType} and resource_id = ${resourceId}
      returning person_id)
    select distinct email from gone join person on person.id = gone.person_id order by email`.execute(tx.kysely);
  return rows.map(({ email }) => email);
}

/** Whose overrides those are, by address. */
export async function holdersOfResource(
  tx: Tx,
  app: string,
  resourceType: string,
  resourceId: string,
): Promise<string[]> {
  const { rows } = await sql<{ email: string }>`
    select distinct p.email from ${held('resource_override')} o join person p on p.id = o.person_id
     where o.application_id = (select id from application where code = ${app})
       and o.resource_type = ${resourceType} and o.resource_id = ${resourceId}
     order by p.email`.execute(tx.kysely);
  return rows.map(({ email }) => email);
}

/** When the application was created; undefined for an unknown one. */
export async function findApplicationBirth(tx: Tx, code: string): Promise<Date | undefined> {
  const row = await tx.kysely.selectFrom('application').select('createdAt').where('code', '=', code).executeTakeFirst();
  return row?.createdAt;
}
