import { sql } from 'kysely';
import type { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';

/** An application, and whether somebody is an administrator of it. */
export interface ApplicationOf {
  id: number;
  code: string;
  admin: boolean;
}

/** Every application, by code, with whether `email` is in its list of administrators. */
export async function applicationsOf(tx: Tx, email: string): Promise<ApplicationOf[]> {
  const { rows } = await sql<ApplicationOf>`
    select a.id, a.code, m.person_id is not null as admin
    from application a left join app_admin m
      on m.application_id = a.id and m.person_id = (select id from person where email = ${email})
    order by a.code`.execute(tx.kysely);
  return rows;
}

/** The levels that a person's overrides of one permission say, by the resource's identifier; level 0 denies. */
export async function levelsByResource(
  tx: Tx,
  of: { email: string; app: string; permission: string; resourceType: string },
): Promise<Map<string, Level>> {
  const { rows } = await sql<{ id: string; level: Level }>`
    select o.resource_id as id, o.level
    from resource_override o join permission p on p.id = o.permission_id
    where o.person_id = (select id from person where email = ${of.email})
      and o.application_id = (select id from application where code = ${of.app})
      and o.resource_type = ${of.resourceType} and p.code = ${of.permission}`.execute(tx.kysely);
  return new Map(rows.map(({ id, level }) => [id, level]));
}
