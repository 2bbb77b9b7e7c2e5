import type { Level, RevisionToken } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { Prepared, planByIndex } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';
import { type HeadTuple, readNewest } from '../facts/rows.ts';
import { NEWEST_REVISION } from '../facts/sql.ts';
import { countingSql, heldSql, type WindowJson, windowJsonSql } from '../windows.ts';

/** Overrides of an application that are read; the rest is counted. */
const SHOWN_OVERRIDES = 200;

export interface AccessOverrideRow
  extends Pick<Row<'resource_override'>, 'resourceType' | 'resourceId' | 'level'>,
    WindowJson {
  permission: string;
}

/** The roles, overrides and seat of a person in one application. */
export interface AccessRow {
  code: string;
  name: string;
  admin: boolean;
  /** Those that count now. */
  roles: { id: number; code: string }[];
  /** Roles with a window, to come included. */
  roleWindows: ({ code: string } & WindowJson)[];
  /** Those that may be held: for administrators all, else those of the roles. By code. */
  permissions: { id: number; code: string; tiered: boolean; global: boolean }[];
  rolePermissions: { roleId: number; permissionId: number; level: Level }[];
  /** By resource, at most `SHOWN_OVERRIDES` of them. */
  overrides: AccessOverrideRow[];
  overrideCount: number;
  lastLoginAt: Date | null;
}

export interface AccessRead {
  /** Null for an address that was never mentioned. */
  id: number | null;
  /** Of an address that was never mentioned: active, and no SuperAdmin. */
  active: boolean;
  superadmin: boolean;
  /** The newest revision of the snapshot. */
  head: RevisionToken;
}

/** $1 the e-mail. */
const PERSON = new Prepared<Omit<AccessRead, 'head'> & { head: HeadTuple }>(
  'access_person',
  `
    select (select id from person where email = $1) as id,
      coalesce((select provider_active and not blocked from person where email = $1), true) as active,
      exists (select from superadmin where person_id = (select id from person where email = $1)) as superadmin,
      ${NEWEST_REVISION}`,
);

/**
 * $1 the person, $2 the applications among which, null for all, $3 whether every permission may be held. Applications are found from
 * the person, by the beginnings of the primary keys; those of overrides from one to the next. The first overrides are a range of the
 * primary key, in its order: by an index of members, all that somebody has there would be read and sorted. Each of their permissions
 * is looked up once.
 */
const APPLICATIONS = new Prepared<AccessRow>(
  'access_applications',
  `
    with recursive overridden as (
      (select application_id from ${heldSql('resource_override')} r where r.person_id = $1::bigint order by person_id, application_id limit 1)
      union all
      select n.application_id from overridden o cross join lateral (
        select r.application_id from ${heldSql('resource_override')} r
          where (r.person_id, r.application_id) > ($1::bigint, o.application_id) and r.person_id <= $1::bigint
          order by r.person_id, r.application_id limit 1) n),
    held as materialized (
      select application_id, role_id from ${countingSql('user_role')} u where u.person_id = $1::bigint),
    found as materialized (
      select application_id as id from ${heldSql('user_role')} u where u.person_id = $1::bigint
      union select application_id from ${heldSql('app_admin')} m where m.person_id = $1::bigint
      union select application_id from app_preference where person_id = $1::bigint and last_login_at is not null
      union select application_id from overridden)
    select a.code, a.name, m.admin,
      coalesce((select json_agg(json_build_object('id', r.id, 'code', r.code) order by r.code)
        from held h join role r on r.id = h.role_id where h.application_id = a.id), '[]') as roles,
      coalesce((select json_agg(json_build_object('code', r.code, ${windowJsonSql('w')}) order by r.code)
        from ${heldSql('user_role')} w join role r on r.id = w.role_id
        where w.person_id = $1::bigint and w.application_id = a.id and coalesce(w.starts_at, w.ends_at) is not null), '[]') as role_windows,
      coalesce((select json_agg(json_build_object('id', p.id, 'code', p.code, 'tiered', p.tiered, 'global', p.global) order by p.code)
        from permission p where p.application_id = a.id and ($3::boolean or m.admin or exists (
          select from held h join role_permission g on g.role_id = h.role_id and g.application_id = a.id
            where h.application_id = a.id and g.permission_id = p.id))), '[]') as permissions,
      coalesce((select json_agg(json_build_object('roleId', g.role_id, 'permissionId', g.permission_id, 'level', g.level))
        from held h join role_permission g on g.role_id = h.role_id and g.application_id = a.id
        where h.application_id = a.id), '[]') as role_permissions,
      coalesce((select json_agg(json_build_object('resourceType', o.resource_type, 'resourceId', o.resource_id,
            'permission', o.code, 'level', o.level, ${windowJsonSql('o')}) order by o.resource_type, o.resource_id, o.code)
        from (
          with first as materialized (
            select resource_type, resource_id, permission_id, level, starts_at, ends_at from ${heldSql('resource_override')} r
              where (person_id, application_id) >= ($1::bigint, a.id) and (person_id, application_id) <= ($1::bigint, a.id)
              order by person_id, application_id, resource_type, resource_id, permission_id limit ${SHOWN_OVERRIDES}),
          named as materialized (
            select k.id, x.code from (select distinct permission_id as id from first) k
              cross join lateral (select code from permission where id = k.id offset 0) x)
          select f.resource_type, f.resource_id, n.code, f.level, f.starts_at, f.ends_at
            from first f join named n on n.id = f.permission_id) o), '[]') as overrides,
      (select count(*) from ${heldSql('resource_override')} r where person_id = $1::bigint and application_id = a.id) as override_count,
      (select last_login_at from app_preference where person_id = $1::bigint and application_id = a.id) as last_login_at
    from found join application a on a.id = found.id
    cross join lateral (select exists (
      select from ${countingSql('app_admin')} s where s.person_id = $1::bigint and s.application_id = a.id) as admin) m
    where $2::bigint[] is null or a.id = any($2::bigint[])
    order by a.code`,
);

/** The global state of a person. */
export async function readAccessPerson(tx: Tx, email: string): Promise<AccessRead> {
  const { head, ...person } = await PERSON.row(tx, email);
  return { ...person, head: readNewest(head) };
}

/** The access of a person by application code: where they have a role, an override, a seat or a login. */
export async function readAccess(
  tx: Tx,
  person: number,
  apps: readonly number[] | null,
  everything: boolean,
): Promise<AccessRow[]> {
  await planByIndex(tx);
  return await APPLICATIONS.rows(tx, person, apps, everything);
}
