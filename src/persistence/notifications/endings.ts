/** People who are to be told that a grant of theirs ends soon (docs/reference/time.md#notices-of-ends). */

import { sql } from 'kysely';
import { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import type { Row } from '../entities/schema.ts';
import { type GrantTable, heldSql } from '../windows.ts';

/** A moment that is due, and its grant. */
export interface EndingGrant extends Omit<Row<'grant_moment'>, 'what'> {
  app: string;
  appName: string;
  email: string;
  /** Whether the person is to be told: the application says so, and the grant gives something. */
  isTold: boolean;
  /** Code and name of a role; null for other grants. */
  role: string | null;
  roleName: string | null;
  endsAt: Date;
  /** The person's language and time zone; null where they have chosen none. */
  locale: string | null;
  timezone: string | null;
  /** Whether the application has a template for it. */
  hasTemplate: boolean;
}

const held = (table: GrantTable) => sql.raw(heldSql(table));

/** Moments from which groups are made. */
const LOOKED_AT = 1000;

/** Everything that is due for at most `limit` pairs of person and application, the earliest first. */
export async function findEndings(tx: Tx, limit: number, template: string): Promise<EndingGrant[]> {
  const { rows } = await sql<EndingGrant>`
    with whom as materialized (
      select application_id, person_id from (
        select application_id, person_id, at from grant_moment
         where what = 'warning' and at <= now() order by at limit ${LOOKED_AT}) m
       group by application_id, person_id order by min(at), person_id limit ${limit})
    select m.kind, m.person_id, m.application_id, m.object_id, m.resource_type, m.resource_id, m.at,
      a.code as app, a.name as app_name, p.email, r.code as role, r.name as role_name, f.locale, f.timezone,
      a.tell_endings and case m.kind when 'role' then u.role_id is not null when 'override' then o.level <> ${Level.NONE}
        else s.person_id is not null end is true as is_told,
      case m.kind when 'role' then u.ends_at when 'override' then o.ends_at else s.ends_at end as ends_at,
      exists (select from template x join notification_type t on t.id = x.notification_type_id
         where t.application_id = a.id and t.code = 'generic' and x.key = ${template}) as has_template
    from whom w
      join grant_moment m on m.person_id = w.person_id and m.application_id = w.application_id
      join person p on p.id = m.person_id join application a on a.id = m.application_id
      left join profile f on f.person_id = p.id
      left join ${held('user_role')} u on m.kind = 'role'
        and (u.person_id, u.application_id, u.role_id) = (m.person_id, m.application_id, m.object_id)
      left join role r on r.id = u.role_id
      left join ${held('resource_override')} o on m.kind = 'override'
        and (o.person_id, o.application_id, o.resource_type, o.resource_id, o.permission_id)
          = (m.person_id, m.application_id, m.resource_type, m.resource_id, m.object_id)
      left join ${held('app_admin')} s on m.kind = 'app_admin'
        and (s.person_id, s.application_id) = (m.person_id, m.application_id)
    where m.what = 'warning' and m.at <= now()
    order by ends_at, m.kind, r.code, m.resource_type, m.resource_id, m.object_id`.execute(tx.kysely);
  return rows;
}

/**
 * Takes the moments of these grants, all or none: false where a grant has changed since it was read, or another process has them.
 * Their taker tells the person in this transaction.
 */
export async function takeEndings(tx: Tx, grants: readonly EndingGrant[]): Promise<boolean> {
  const keys = JSON.stringify(
    grants.map(({ kind, personId, applicationId, objectId, resourceType, resourceId, at }) => ({
      kind,
      person_id: personId,
      application_id: applicationId,
      object_id: objectId,
      resource_type: resourceType,
      resource_id: resourceId,
      at,
    })),
  );
  const wanted = sql`jsonb_to_recordset(${keys}::jsonb) as k (kind text, person_id bigint, application_id bigint,
    object_id bigint, resource_type text, resource_id text, at timestamptz)`;
  const isIt = sql`m.what = 'warning' and m.at = k.at
    and (m.kind, m.person_id, m.application_id, m.object_id, m.resource_type, m.resource_id)
      = (k.kind, k.person_id, k.application_id, k.object_id, k.resource_type, k.resource_id)`;
  const { rows } = await sql`
    select from grant_moment m join ${wanted} on ${isIt} for update of m skip locked`.execute(tx.kysely);
  if (rows.length < grants.length) return false;
  await sql`delete from grant_moment m using ${wanted} where ${isIt}`.execute(tx.kysely);
  return true;
}
