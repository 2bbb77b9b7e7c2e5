/** What a person has in each application, and handing it over (docs/reference/people.md#offboarding). */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** What a person has in one application. */
export interface Holding {
  code: string;
  admin: boolean;
  /** Codes. */
  roles: string[];
  overrides: number;
}

/** By code; only applications in which the person has something. */
export async function readHoldings({ kysely }: Tx, person: number): Promise<Holding[]> {
  const { rows } = await sql<Holding>`
    with o as (select application_id, count(*)::int as overrides from resource_override where person_id = ${person} group by 1)
    select a.code, exists (select from app_admin m where m.person_id = ${person} and m.application_id = a.id) as admin,
      array(select r.code from user_role u join role r on r.id = u.role_id
        where u.person_id = ${person} and u.application_id = a.id order by r.code) as roles,
      coalesce(o.overrides, 0) as overrides
    from application a left join o on o.application_id = a.id
    where o.overrides is not null or a.id in (
      select application_id from user_role where person_id = ${person}
      union select application_id from app_admin where person_id = ${person})
    order by a.code`.execute(kysely);
  return rows;
}

/** The codes of the applications that an address administers, by code. */
export async function administeredBy({ kysely }: Tx, email: string): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select a.code from app_admin m join application a on a.id = m.application_id
    where m.person_id = (select id from person where email = ${email}) order by a.code`.execute(kysely);
  return rows.map(({ code }) => code);
}

/** Makes one person an administrator of another one's applications; returns the codes of those that are new to them. */
export async function handOverAdministration({ kysely }: Tx, from: number, to: number): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    with given as (
      insert into app_admin (person_id, application_id)
      select ${to}, application_id from app_admin where person_id = ${from} order by application_id
      on conflict (person_id, application_id) do nothing
      returning application_id)
    select a.code from given g join application a on a.id = g.application_id order by a.code`.execute(kysely);
  return rows.map(({ code }) => code);
}
