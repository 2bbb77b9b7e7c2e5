import { sql } from 'kysely';
import type { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { Prepared, planByIndex } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import { endsWithin, type GrantWindow, hasEndedSql, held, heldSql, isHeldSql, timesOf } from '../windows.ts';

/** A person's level on one resource, regardless of roles; level 0 denies. */
export interface OverrideRow extends Pick<Row<'resource_override'>, 'permissionId' | 'tiered' | 'level'>, GrantWindow {
  code: string;
}

/** One of all overrides of a person in an application. */
export type PlacedOverrideRow = OverrideRow & Resource & Pick<Row<'resource_override'>, 'createdAt'>;

/** The place after which a list of overrides continues. */
export type OverridePlace = Pick<PlacedOverrideRow, 'resourceType' | 'resourceId' | 'permissionId'>;

/** A single resource of an application: its entity type, and the identifier that the application gave it. */
export type Resource = Pick<Row<'resource_override'>, 'resourceType' | 'resourceId'>;

const OVERRIDES = new Prepared<OverrideRow>(
  'overrides',
  `select o.permission_id, p.code, o.tiered, o.level, o.starts_at, o.ends_at
   from ${heldSql('resource_override')} o join permission p on p.id = o.permission_id
   where o.person_id = $1 and o.application_id = $2 and o.resource_type = $3 and o.resource_id = $4 order by p.code`,
);

/** The overrides of a person for one resource, by permission code. */
export async function readOverrides(
  tx: Tx,
  app: number,
  person: number,
  { resourceType, resourceId }: Resource,
): Promise<OverrideRow[]> {
  return await OVERRIDES.rows(tx, person, app, resourceType, resourceId);
}

const REPLACE = new Prepared<never>(
  'replace_overrides',
  `with gone as (
    delete from resource_override x
    where x.person_id = $1 and x.application_id = $2 and x.resource_type = $3 and x.resource_id = $4
      and x.permission_id <> all ($5::bigint[]) and ${isHeldSql('x')})
   insert into resource_override (person_id, application_id, resource_type, resource_id, permission_id, tiered, level, starts_at, ends_at)
   select $1, p.application_id, $3, $4, p.id, p.tiered, w.level, w.starts_at, w.ends_at
   from unnest($5::bigint[], $6::smallint[], $7::timestamptz[], $8::timestamptz[]) as w (id, level, starts_at, ends_at)
   join permission p on p.id = w.id and p.application_id = $2
   order by p.id
   on conflict (person_id, application_id, resource_type, resource_id, permission_id)
    do update set level = excluded.level, starts_at = excluded.starts_at, ends_at = excluded.ends_at,
      created_at = case when ${hasEndedSql('resource_override')} then now() else resource_override.created_at end
     where (resource_override.level, resource_override.starts_at, resource_override.ends_at)
       is distinct from (excluded.level, excluded.starts_at, excluded.ends_at)`,
);

/** Makes the set for that resource exactly this, in one statement. The permissions must be the application's, and the levels of their types. */
export async function replaceOverrides(
  tx: Tx,
  app: number,
  person: number,
  { resourceType, resourceId }: Resource,
  wanted: readonly ({ permissionId: number; level: Level } & GrantWindow)[],
): Promise<void> {
  const ids = wanted.map(({ permissionId }) => permissionId);
  const levels = wanted.map(({ level }) => level);
  const { startsAt, endsAt } = timesOf(wanted);
  await REPLACE.rows(tx, person, app, resourceType, resourceId, ids, levels, startsAt, endsAt);
}

/** The rows that a replacement keeps locked until the transaction ends. */
export interface HeldForOverrides {
  /** Against deletion; null for an unknown application. */
  app: number | null;
  /** The requested permissions of the application, by id, against deletion and change of type. */
  permissions: ReadonlyMap<number, { code: string; tiered: boolean; global: boolean }>;
  /** Against other writes about the same person; null for an unknown address. */
  person: number | null;
}

type HeldPermission = [id: number, code: string, tiered: boolean, global: boolean];

// One lock order for all writers, so that they cannot deadlock: the application, its permissions by id, the person. Everything that
// depends on these rows is read by the next statement, which sees what was committed while this one waited.
const HOLD = new Prepared<{ app: number | null; permissions: HeldPermission[]; person: number | null }>(
  'hold_for_overrides',
  `with a as materialized (select id from application where code = $1 for key share),
    p as materialized (select id, code, tiered, global from permission
      where application_id = (select id from a) and id = any($2::bigint[]) order by id for key share)
   select (select id from a) as app,
    coalesce((select json_agg(json_build_array(id, code, tiered, global)) from p), '[]') as permissions,
    (select id from person where email = $3 for no key update) as person`,
);

/** Locks everything that a replacement of a person's overrides depends on, except the type, in one statement. */
export async function holdForOverrides(
  tx: Tx,
  app: string,
  ids: readonly number[],
  email: string,
): Promise<HeldForOverrides> {
  const { permissions, ...held } = await HOLD.row(tx, app, ids, email);
  return {
    ...held,
    permissions: new Map(permissions.map(([id, code, tiered, global]) => [id, { code, tiered, global }])),
  };
}

/**
 * Whether a new override may be of that type: the catalog lists it, or is empty. The entity is locked until the transaction
 * ends: a concurrent deletion or renaming waits, and then finds it in use.
 */
export async function holdResourceType(tx: Tx, app: number, type: string): Promise<boolean> {
  const held = await tx.kysely
    .selectFrom('entity')
    .select('id')
    .where('applicationId', '=', app)
    .where('code', '=', type)
    .forKeyShare()
    .executeTakeFirst();
  if (held !== undefined) return true;
  const any = await tx.kysely
    .selectFrom('entity')
    .select('id')
    .where('applicationId', '=', app)
    .limit(1)
    .executeTakeFirst();
  return any === undefined;
}

/** All overrides of a person in an application, by type, identifier and permission; at most `limit`, after `after`. */
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
  // The page first, on the index alone: a person may have ten thousand.
  const { rows } = await sql<PlacedOverrideRow>`
    select o.resource_type, o.resource_id, o.permission_id, p.code, o.tiered, o.level, o.created_at, o.starts_at, o.ends_at
    from (select * from ${held('resource_override')} o
        where o.person_id = ${person} and o.application_id = ${app} and ${behind} and ${found}
        order by o.resource_type, o.resource_id, o.permission_id limit ${limit}) o
      join permission p on p.id = o.permission_id
    order by o.resource_type, o.resource_id, o.permission_id`.execute(tx.kysely);
  return rows;
}

/** One of all overrides of an application. */
export interface AppOverrideRow extends Resource, GrantWindow {
  personId: number;
  email: string;
  permissionId: number;
  code: string;
  level: Level;
  createdAt: Date;
}

/** The place after which a list of an application's overrides continues. */
export type AppOverridePlace = Pick<AppOverrideRow, 'permissionId' | 'resourceType' | 'resourceId' | 'personId'>;

/** Null: any. */
export interface OverrideFilter {
  person: number | null;
  permission: number | null;
  resourceType: string | null;
  resourceId: string | null;
  endingWithinDays: number | null;
}

/** The overrides of an application, by permission, type, identifier and person; at most `limit`, after `after`. */
export async function listAppOverrides(
  tx: Tx,
  app: number,
  { person, permission, resourceType, resourceId, endingWithinDays }: OverrideFilter,
  { limit, after }: { limit: number; after: AppOverridePlace | null },
): Promise<AppOverrideRow[]> {
  await planByIndex(tx);
  const fits = sql.join(
    [
      resourceType === null ? sql`true` : sql`o.resource_type = ${resourceType}`,
      resourceId === null ? sql`true` : sql`o.resource_id = ${resourceId}`,
      after === null
        ? sql`true`
        : sql`(o.permission_id, o.resource_type, o.resource_id, o.person_id) >
            (${after.permissionId}, ${after.resourceType}, ${after.resourceId}, ${after.personId})`,
    ],
    sql` and `,
  );
  const order = sql`o.permission_id, o.resource_type, o.resource_id, o.person_id`;
  const which = permission === null ? sql`true` : sql`p.id = ${permission}`;
  // Those that end soon by their ends. Of a person by the primary key. Of everybody permission by permission, each by its index, until the page is full.
  const own = sql`${person === null ? sql`true` : sql`o.person_id = ${person}`}
    and ${permission === null ? sql`true` : sql`o.permission_id = ${permission}`}`;
  const page =
    endingWithinDays !== null
      ? sql`select o.* from resource_override o where ${endsWithin('o', endingWithinDays)} and o.application_id = ${app}
          and ${own} and ${fits} order by ${order} limit ${limit}`
      : person === null
        ? sql`select o.* from (select p.id from permission p
            where p.application_id = ${app} and p.id >= ${after?.permissionId ?? 0} and ${which} order by p.id) p
          cross join lateral (select * from ${held('resource_override')} o
            where o.application_id = ${app} and o.permission_id = p.id and ${fits}
            order by o.resource_type, o.resource_id, o.person_id limit ${limit}) o
          order by p.id, o.resource_type, o.resource_id, o.person_id limit ${limit}`
        : sql`select o.* from own o
          where ${permission === null ? sql`true` : sql`o.permission_id = ${permission}`} and ${fits}
          order by ${order} limit ${limit}`;
  const { rows } = await sql<AppOverrideRow>`
    with own as materialized (
      select * from ${held('resource_override')} o where person_id = ${person ?? 0} and application_id = ${app})
    select o.person_id, n.email, o.resource_type, o.resource_id, o.permission_id, c.code, o.level, o.created_at, o.starts_at, o.ends_at
    from (${page}) o join person n on n.id = o.person_id join permission c on c.id = o.permission_id
    order by ${order}`.execute(tx.kysely);
  return rows;
}

/** An override by the ids of its person and permission. */
export interface OverrideKey extends Resource {
  personId: number;
  permissionId: number;
}

/** Those of the overrides that exist, with their levels. The people must be locked against other writes. */
export async function findOverrides(
  tx: Tx,
  app: number,
  keys: readonly OverrideKey[],
): Promise<(OverrideKey & { level: Level } & GrantWindow)[]> {
  await planByIndex(tx);
  const { rows } = await sql<OverrideKey & { level: Level } & GrantWindow>`
    select o.person_id, o.resource_type, o.resource_id, o.permission_id, o.level, o.starts_at, o.ends_at
    from ${named(keys)} join ${held('resource_override')} o on ${isNamed(app)}`.execute(tx.kysely);
  return rows;
}

export async function deleteOverrides(tx: Tx, app: number, keys: readonly OverrideKey[]): Promise<void> {
  await sql`delete from resource_override o using ${named(keys)} where ${isNamed(app)}`.execute(tx.kysely);
}

function named(keys: readonly OverrideKey[]) {
  return sql`unnest(${keys.map(({ personId }) => personId)}::bigint[], ${keys.map(({ resourceType }) => resourceType)}::text[],
    ${keys.map(({ resourceId }) => resourceId)}::text[], ${keys.map(({ permissionId }) => permissionId)}::bigint[])
    as w (person, type, id, permission)`;
}

function isNamed(app: number) {
  return sql`o.person_id = w.person and o.application_id = ${app} and o.resource_type = w.type and o.resource_id = w.id
    and o.permission_id = w.permission`;
}
