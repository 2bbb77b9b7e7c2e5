/**
 * The statements of the lists (docs/reference/lists.md). They only probe indexes, in page order; a test reads
 * their plans at full size. The engine decides; these statements leave out only people who are certainly denied.
 */

import { isCountingSql, nextOfSql } from '../windows.ts';
import { NEWEST_REVISION } from './sql.ts';

/**
 * For the rest of the transaction: one plan for all values, along the indexes and in their order. For an unknown limit the planner
 * assumes a tenth of the table, and would collect and sort that.
 */
export const IN_ORDER_SQL = `
  select set_config(name, value, true) from (values ('plan_cache_mode', 'force_generic_plan'), ('enable_seqscan', 'off'),
    ('enable_bitmapscan', 'off'), ('enable_hashjoin', 'off'), ('enable_mergejoin', 'off'), ('jit', 'off')) as s (name, value)`;

/** Candidates that a page of subjects examines beyond its limit, to skip denied ones within the page. */
export const SPARE = 500;

/** One instant for all statements of a page, after the question came. */
const NOW = 'transaction_timestamp()';

const APPLICATION = `(select id from application where code = $1)`;

/** The nonces of the revisions in a parameter, in its order. */
const nonces = (parameter: string): string => `
  (select json_agg((select nonce from policy_change where revision = r.revision) order by r.position)
     from unnest(${parameter}::bigint[]) with ordinality as r (revision, position)) as nonces`;

/** What a question names: $1 the application, $2 the permission, $3 the resource type. */
const NAMED = `
  (select id from a) as app_id,
  (select json_build_array(id, tiered, global) from p) as permission,
  (select json_agg(json_build_array(role_id, level)) from held) as held,
  $3::text <> '' and exists (select from entity where application_id = (select id from a))
    and not exists (select from entity where application_id = (select id from a) and code = $3::text) as unknown_type`;

const NAMES = `
  a as materialized (select ${APPLICATION} as id),
  p as materialized (
    select id, tiered, global from permission where application_id = (select id from a) and code = $2::text),
  held as materialized (
    select role_id, level from role_permission
      where application_id = (select id from a) and permission_id = (select id from p))`;

/**
 * $1 to $3 as above, $4 the resource's identifier, $5 the required level, $6 the id after which the page begins, $7 the limit,
 * $8 the revisions whose nonces are requested.
 *
 * Everyone who may be allowed is in one of a few indexes in order of id: SuperAdmins, administrators of the application, overrides of
 * each sufficient level, holders of each role that grants one. The next few of each index are read and merged up to the limit: up to
 * the last merged id, no index has further candidates. Only denying overrides are then looked up.
 */
export const SUBJECTS_SQL = `
  with ${NAMES},
  needed as materialized (select case when tiered then greatest($5::int, 2) else 1 end as level from p),
  candidates as materialized (
    select * from (select person_id, -1::bigint as source from superadmin
      where person_id > $6::bigint order by person_id limit $7::int + ${SPARE}) s
    union all
    select * from (select person_id, -2::bigint from app_admin
      where application_id = (select id from a) and person_id > $6::bigint and ${isCountingSql('app_admin', NOW)}
      order by person_id limit $7::int + ${SPARE}) m
    union all
    select o.person_id, -10 - l.level
      from (values (1), (2), (3)) as l (level)
      cross join lateral (select person_id from resource_override
        where application_id = (select id from a) and permission_id = (select id from p where not global)
          and resource_type = $3::text and resource_id = $4::text and level = l.level and person_id > $6::bigint
          and ${isCountingSql('resource_override', NOW)}
        order by person_id limit $7::int + ${SPARE}) o
      where $3::text <> '' and l.level >= (select level from needed)
    union all
    select u.person_id, h.role_id
      from held h
      cross join lateral (select person_id from user_role
        where application_id = (select id from a) and role_id = h.role_id and person_id > $6::bigint
          and ${isCountingSql('user_role', NOW)}
        order by person_id limit $7::int + ${SPARE}) u
      where h.level >= (select level from needed)),
  ids as materialized (
    select person_id, bool_or(source = -1) as superadmin, bool_or(source = -2) as admin,
        json_agg(source) filter (where source > 0) as roles
      from candidates group by person_id order by person_id limit $7::int + ${SPARE}),
  found as materialized (
    select c.*, n.email, o.level as override
      from (select * from ids order by person_id) c
      cross join lateral (select email from person
        where id = c.person_id and provider_active and not blocked limit 1) n
      left join lateral (select level from resource_override
        where person_id = c.person_id and application_id = (select id from a) and resource_type = $3::text
          and resource_id = $4::text and permission_id = (select id from p where not global) and $3::text <> ''
          and ${isCountingSql('resource_override', NOW)} limit 1) o on true
      where c.superadmin or c.admin or o.level is null or o.level >= (select level from needed)
      order by c.person_id limit $7::int)
  select ${NEWEST_REVISION}, ${nonces('$8')}, ${NAMED},
    (select case when count(*) >= $7::int + ${SPARE} then max(person_id) end from ids) as until,
    (select json_agg(json_build_array(person_id, email, superadmin, admin, override, roles) order by person_id) from found)
      as subjects`;

/**
 * $1 to $3 as above, $4 the e-mail address, $5 the revisions whose nonces are requested, $6 the revision after which the
 * log is searched for changes (null: it is not), $7 the scopes to search for, $8 the most rows to search.
 */
export const REACHED_BY_SQL = `
  with ${NAMES},
  n as materialized (select id, provider_active and not blocked as active from person where email = $4::text)
  select ${NEWEST_REVISION}, ${nonces('$5')}, ${NAMED},
    (select id from n) as person_id,
    coalesce((select active from n), true) as active,
    exists (select from superadmin where person_id = (select id from n)) as superadmin,
    exists (select from app_admin
      where person_id = (select id from n) and application_id = (select id from a) and ${isCountingSql('app_admin', NOW)}) as admin,
    (select json_agg(u.role_id) from user_role u
      where u.person_id = (select id from n) and u.application_id = (select id from a)
        and u.role_id in (select role_id from held) and ${isCountingSql('u', NOW)}) as roles,
    (select floor(extract(epoch from min(g.next)) * 1000)::bigint from (
        select ${nextOfSql('m', NOW)} as next from app_admin m
          where m.person_id = (select id from n) and m.application_id = (select id from a)
        union all
        select ${nextOfSql('u', NOW)} from user_role u
          where u.person_id = (select id from n) and u.application_id = (select id from a)
        union all
        select ${nextOfSql('o', NOW)} from resource_override o
          where o.person_id = (select id from n) and o.application_id = (select id from a)
            and (o.starts_at is not null or o.ends_at is not null)
            and o.resource_type = $3::text and o.permission_id = (select id from p)) g) as boundary,
    exists (select from policy_change
      where revision > $6::bigint and revision <= $6::bigint + $8::bigint and scopes && $7::text[]) as changed`;

/**
 * $1 the person, $2 the application, $3 the resource type, $4 the permission, $5 the levels, $6 and $7 where the page begins, $8 how
 * many are wanted. By the primary key, which has the order of pages: the addition keeps the planner from the index of subjects, where
 * the overrides of everybody for a record stand together.
 */
export const RESOURCES_SQL = `
  select resource_id as resource from resource_override
    where person_id = $1::bigint and application_id = $2::bigint and resource_type = $3::text and resource_id >= $6::text
      and permission_id + 0 = $4::bigint and level = any($5::smallint[]) and ${isCountingSql('resource_override', NOW)}
    order by resource_id offset $7::int limit $8::int`;
