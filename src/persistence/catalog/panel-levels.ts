import type { Level } from '../../engine/types.ts';
import type { Tx } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';
import { countingSql } from '../windows.ts';

/** An application, and whether a person is an administrator of it. */
export interface ApplicationWithAdmin {
  id: number;
  code: string;
  admin: boolean;
}

const applications = (which: string): string => `
    select a.id, a.code, m.person_id is not null as admin
    from application a left join ${countingSql('app_admin')} m
      on m.application_id = a.id and m.person_id = (select id from person where email = $1)
    ${which}`;
/** $1 the e-mail. In one row: an embedded database takes longer to hand over thousands of rows than to find them. */
const APPLICATIONS = new Prepared<{ ids: number[]; codes: string[]; admins: boolean[] }>(
  'applications_of',
  `select coalesce(array_agg(id), '{}') as ids, coalesce(array_agg(code), '{}') as codes,
     coalesce(array_agg(admin), '{}') as admins from (${applications('order by a.code')}) a`,
);
/** $1 the e-mail, $2 the application. */
const APPLICATION = new Prepared<ApplicationWithAdmin>('application_of', applications('where a.code = $2'));

/** Every application, by code, with whether `email` is an administrator of it; only the one `code` where it is not null. */
export async function applicationsWithAdmin(
  tx: Tx,
  email: string,
  code: string | null,
): Promise<ApplicationWithAdmin[]> {
  if (code !== null) return await APPLICATION.rows(tx, email, code);
  const { ids, codes, admins } = await APPLICATIONS.row(tx, email);
  return ids.map((id, at) => ({ id, code: codes[at] ?? '', admin: admins[at] === true }));
}

/** $1 the e-mail, $2 the application, $3 the resource type, $4 the permission. */
const LEVELS = new Prepared<{ id: string; level: Level }>(
  'levels_by_resource',
  `
    select o.resource_id as id, o.level
    from ${countingSql('resource_override')} o join permission p on p.id = o.permission_id
    where o.person_id = (select id from person where email = $1)
      and o.application_id = (select id from application where code = $2)
      and o.resource_type = $3 and p.code = $4`,
);

/** The levels in a person's overrides of one permission, by the resource's identifier; level 0 denies. */
export async function levelsByResource(
  tx: Tx,
  { email, app, permission, resourceType }: { email: string; app: string; permission: string; resourceType: string },
): Promise<Map<string, Level>> {
  const rows = await LEVELS.rows(tx, email, app, resourceType, permission);
  return new Map(rows.map(({ id, level }) => [id, level]));
}
