/** What a person has in each application, and handing it over (docs/reference/people.md#offboarding). */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { held, unlessHeldSql, type WindowJson, windowJsonSql } from '../windows.ts';

/** What a person has in one application. */
export interface Holding {
  code: string;
  admin: boolean;
  /** Codes. */
  roles: string[];
  overrides: number;
  /** Of the seat and the roles that have a beginning or an end. */
  windows: HoldingWindow[];
}

/** `role` null: of the seat. */
export interface HoldingWindow extends WindowJson {
  role: string | null;
}

/** By code; only applications in which the person has something. */
export async function readHoldings({ kysely }: Tx, person: number): Promise<Holding[]> {
  const { rows } = await sql<Holding>`
    with o as (select application_id, count(*)::int as overrides from ${held('resource_override')} x where x.person_id = ${person} group by 1),
    w as (
      select application_id, null as role, starts_at, ends_at from ${held('app_admin')} m where m.person_id = ${person}
      union all
      select u.application_id, r.code, u.starts_at, u.ends_at from ${held('user_role')} u join role r on r.id = u.role_id
        where u.person_id = ${person})
    select a.code, exists (select from ${held('app_admin')} m where m.person_id = ${person} and m.application_id = a.id) as admin,
      array(select r.code from ${held('user_role')} u join role r on r.id = u.role_id
        where u.person_id = ${person} and u.application_id = a.id order by r.code) as roles,
      coalesce(o.overrides, 0) as overrides,
      coalesce((select json_agg(json_build_object('role', w.role, ${sql.raw(windowJsonSql('w'))}) order by w.role nulls first)
        from w where w.application_id = a.id and coalesce(w.starts_at, w.ends_at) is not null), '[]') as windows
    from application a left join o on o.application_id = a.id
    where o.overrides is not null or a.id in (
      select application_id from w)
    order by a.code`.execute(kysely);
  return rows;
}

/** The codes of the applications that an address administers, by code. */
export async function administeredBy({ kysely }: Tx, email: string): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    select a.code from ${held('app_admin')} m join application a on a.id = m.application_id
    where m.person_id = (select id from person where email = ${email}) order by a.code`.execute(kysely);
  return rows.map(({ code }) => code);
}

/**
 * Makes one person an administrator of another one's applications, for as long as that one was to be; returns the codes of those that
 * are new to them.
 */
export async function handOverAdministration({ kysely }: Tx, from: number, to: number): Promise<string[]> {
  const { rows } = await sql<{ code: string }>`
    with given as (
      insert into app_admin (person_id, application_id, starts_at, ends_at)
      select ${to}, m.application_id, m.starts_at, m.ends_at from ${held('app_admin')} m where m.person_id = ${from}
        order by m.application_id
      on conflict (person_id, application_id) ${sql.raw(unlessHeldSql('app_admin'))}
      returning application_id)
    select a.code from given g join application a on a.id = g.application_id order by a.code`.execute(kysely);
  return rows.map(({ code }) => code);
}
