import { sql } from 'kysely';
import type { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';

/** What a person may do with one resource, whatever the roles say; level 0 denies. */
export interface OverrideRow {
  permissionId: number;
  code: string;
  tiered: boolean;
  level: Level;
}

/** One of all overrides of a person in an application. */
export interface PlacedOverrideRow extends OverrideRow {
  resourceType: string;
  resourceId: string;
  createdAt: Date;
}

/** Where a list of overrides goes on: behind this one. */
export type OverridePlace = Pick<PlacedOverrideRow, 'resourceType' | 'resourceId' | 'permissionId'>;

/** A concrete record of an application: the type of the entity, and the identifier that its owner gave it. */
export interface Resource {
  resourceType: string;
  resourceId: string;
}

/** The overrides of a person for one resource, by permission code. */
export async function readOverrides(
  tx: Tx,
  app: number,
  person: number,
  { resourceType, resourceId }: Resource,
): Promise<OverrideRow[]> {
  return await tx.kysely
    .selectFrom('resource_override as o')
    .innerJoin('permission as p', 'p.id', 'o.permission_id')
    .select(['o.permission_id as permissionId', 'p.code', 'o.tiered', 'o.level'])
    .where('o.person_id', '=', person)
    .where('o.application_id', '=', app)
    .where('o.resource_type', '=', resourceType)
    .where('o.resource_id', '=', resourceId)
    .orderBy('p.code')
    .execute();
}

/** Makes the set for that resource exactly this, in two statements. The permissions must be the application's, the levels fit. */
export async function replaceOverrides(
  tx: Tx,
  app: number,
  person: number,
  { resourceType, resourceId }: Resource,
  wanted: readonly { permissionId: number; level: Level }[],
): Promise<void> {
  const ids = wanted.map(({ permissionId }) => permissionId);
  const levels = wanted.map(({ level }) => level);
  await sql`
    delete from resource_override
    where person_id = ${person} and application_id = ${app} and resource_type = ${resourceType}
      and resource_id = ${resourceId} and permission_id <> all (${ids}::bigint[])`.execute(tx.kysely);
  await sql`
    insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level)
    select ${person}, p.application_id, ${resourceType}, ${resourceId}, p.id, p.tiered, w.level
    from unnest(${ids}::bigint[], ${levels}::smallint[]) as w (id, level)
    join permission p on p.id = w.id and p.application_id = ${app}
    order by p.id
    on conflict (person_id, application_id, resource_type, resource_id, permission_id)
      do update set level = excluded.level where resource_override.level <> excluded.level`.execute(tx.kysely);
}

/** Those of the application's permissions that `ids` name, by id, held against deletion and change of type. */
export async function holdPermissions(
  tx: Tx,
  app: number,
  ids: readonly number[],
): Promise<Map<number, { code: string; tiered: boolean; global: boolean }>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: number; code: string; tiered: boolean; global: boolean }>`
    select id, code, tiered, global from permission where application_id = ${app} and id = any(${ids}::bigint[])
    order by id for key share`.execute(tx.kysely);
  return new Map(rows.map(({ id, ...permission }) => [id, permission]));
}

/**
 * Whether a new override may be of that type: the catalog lists it, or is empty. The entity is held until the transaction
 * ends, so that nobody can delete or rename it meanwhile: whoever tries waits, and then finds it in use.
 */
export async function holdResourceType(tx: Tx, app: number, type: string): Promise<boolean> {
  const held = await tx.kysely
    .selectFrom('entity')
    .select('id')
    .where('application_id', '=', app)
    .where('code', '=', type)
    .forKeyShare()
    .executeTakeFirst();
  if (held !== undefined) return true;
  const any = await tx.kysely
    .selectFrom('entity')
    .select('id')
    .where('application_id', '=', app)
    .limit(1)
    .executeTakeFirst();
  return any === undefined;
}

/** All overrides of a person in an application, by type, identifier and permission; at most `limit`, behind `after`. */
export async function listOverrides(
  tx: Tx,
  app: number,
  person: number,
  { limit, after, search }: { limit: number; after: OverridePlace | null; search: string | null },
): Promise<PlacedOverrideRow[]> {
  const behind =
    after === null
      ? sql`true`
      : sql`(o.resource_type, o.resource_id, o.permission_id) >
          (${after.resourceType}, ${after.resourceId}, ${after.permissionId})`;
  const found =
    search === null
      ? sql`true`
      : sql`(strpos(o.resource_type, ${search}) > 0 or strpos(o.resource_id, ${search}) > 0 or o.permission_id = any(
          array(select id from permission where application_id = ${app} and strpos(code, ${search}) > 0)))`;
  // The page first, on the index alone: somebody may have ten thousand.
  const { rows } = await sql<PlacedOverrideRow>`
    select o.resource_type as "resourceType", o.resource_id as "resourceId", o.permission_id as "permissionId", p.code,
      o.tiered, o.level, o.created_at as "createdAt"
    from (select * from resource_override o
        where o.person_id = ${person} and o.application_id = ${app} and ${behind} and ${found}
        order by o.resource_type, o.resource_id, o.permission_id limit ${limit}) o
      join permission p on p.id = o.permission_id
    order by o.resource_type, o.resource_id, o.permission_id`.execute(tx.kysely);
  return rows;
}
