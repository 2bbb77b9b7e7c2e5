import { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { Prepared, planByIndex } from '../driver/prepared.ts';
import { countingSql } from '../windows.ts';

/** Somebody with a part in the permissions, by the first of these that fits. */
export interface PersonaRow {
  email: string;
  displayName: string | null;
  part: 'superadmin' | 'app_admin' | 'panel_edit' | 'panel_view' | 'user';
  /** The application that they administer, or hold the role in; null for the others. */
  application: string | null;
  /** The code of a role of a `user`. */
  role: string | null;
}

/** The rows of each table that are looked at. */
const LOOKED_AT = 20;

/**
 * $1 the panel's application, $2 its permission to enter, $3 its permission to manage, $4 the level of those who change things.
 * Only active people; of each part the oldest rows first.
 */
const PERSONAS = new Prepared<PersonaRow>(
  'personas',
  `
    with panel as materialized (select id from application where code = $1),
    entry as (select g.role_id from role_permission g join permission p on p.id = g.permission_id
      where p.application_id = (select id from panel) and p.code = $2),
    manage as (select id from permission where application_id = (select id from panel) and code = $3),
    supers as (select person_id, 1 as rank, 'superadmin' as part, null as application, null as role, created_at
      from superadmin order by created_at limit ${LOOKED_AT}),
    admins as (select x.person_id, 2, 'app_admin', a.name, null, x.created_at
      from ${countingSql('app_admin')} x join application a on a.id = x.application_id order by x.created_at limit ${LOOKED_AT}),
    entered as (select distinct on (u.person_id) u.person_id, u.created_at
      from ${countingSql('user_role')} u where u.application_id = (select id from panel) and u.role_id in (select role_id from entry) limit ${LOOKED_AT}),
    panelists as (select e.person_id, 3, case when greatest(
          (select max(g.level) from ${countingSql('user_role')} u join role_permission g on g.role_id = u.role_id
            where u.person_id = e.person_id and u.application_id = (select id from panel)
              and g.permission_id = (select id from manage)),
          (select max(o.level) from ${countingSql('resource_override')} o
            where o.person_id = e.person_id and o.application_id = (select id from panel)
              and o.permission_id = (select id from manage))) >= $4::int then 'panel_edit' else 'panel_view' end,
        null, null, e.created_at
      from entered e),
    users as (select u.person_id, 4, 'user', a.name, r.code, u.created_at
      from (select * from ${countingSql('user_role')} u where application_id <> (select id from panel) order by person_id limit ${LOOKED_AT}) u
      join application a on a.id = u.application_id join role r on r.id = u.role_id),
    found as (select * from supers union all select * from admins union all select * from panelists union all select * from users),
    best as (select distinct on (person_id) * from found order by person_id, rank, application, role)
    select p.email,
      coalesce(nullif(f.display_name, ''), nullif(concat_ws(' ', f.first_name, f.last_name), '')) as display_name, b.part, b.application, b.role
    from best b join person p on p.id = b.person_id left join profile f on f.person_id = p.id
    where p.provider_active and not p.blocked
    order by b.rank, b.part, b.created_at, p.email`,
);

/** The active people among the first of each part. */
export async function readPersonas(
  tx: Tx,
  panel: { app: string; entry: string; manage: string },
): Promise<PersonaRow[]> {
  await planByIndex(tx);
  return await PERSONAS.rows(tx, panel.app, panel.entry, panel.manage, Level.EDIT);
}
