/**
 * The statements of a miss (docs/freshness.md). Each is one statement, hence one snapshot: the newest revision, the change
 * log after $1, the nonce of the row at $1, and the facts. Index probes only: a test reads their plans at full size.
 *
 * Facts come as JSON, the cheapest format to make and to read. Scalar subqueries and `limit 1` instead of EXISTS and
 * joins, because for a batch of needs the planner might hash a whole table.
 */

import { isCountingSql, nextOfSql } from '../windows.ts';

/** The most log rows of one statement; it reads one more, to detect that there are more. */
export const MAX_CHANGES = 1000;

/** The newest revision of the snapshot, as `head`. */
export const NEWEST_REVISION = `
  (select json_build_array(revision, nonce) from policy_change order by revision desc limit 1) as head`;

const HEAD = `${NEWEST_REVISION},
  (select nonce from policy_change where revision = $1::bigint) as "sinceNonce"`;

const WINDOW = `${HEAD},
  (select json_agg(json_build_array(c.revision, c.nonce, c.scopes) order by c.revision)
     from (select revision, nonce, scopes from policy_change
            where revision > $1::bigint order by revision limit ${MAX_CHANGES + 1}) c) as changes`;

/** Whether this is a standby, for those who wait for a revision. */
const STANDBY = 'pg_is_in_recovery() as standby';

/** $1 since. */
export const CHANGES_SQL = `select ${WINDOW}, ${STANDBY}`;

/**
 * Whether the override `o` of a person is of the application `a` and the record that `n` names. As a range of the primary key: with
 * equalities an index on application and person costs as much by estimate, which knows nothing of people with many overrides in one
 * application, and then all of these are read.
 */
const IS_OF_RESOURCE = `(o.application_id, o.resource_type, o.resource_id) >= (a.id, n.type, n.id)
            and (o.application_id, o.resource_type, o.resource_id) <= (a.id, n.type, n.id)`;

/** Of the grants in `rows`: until when they are as they are. */
interface Boundary {
  /** Of one row; what aggregates is the least. */
  readonly of: (row: string) => string;
  readonly inMs: (least: string) => string;
}

/** How long until that instant, in ms, rounded down; null for none. */
const leftUntil = (instant: string): string =>
  `floor(extract(epoch from (${instant}) - statement_timestamp()) * 1000)::bigint`;

const UNTIL_NEXT: Boundary = { of: nextOfSql, inMs: leftUntil };
/** Of a replica: 0 where there is a beginning or an end at all, past or to come. Its own clock has no say in whether a grant counts. */
const IS_TIMED: Boundary = {
  of: (row) => `case when ${row}.starts_at is not null or ${row}.ends_at is not null then 0 end`,
  inMs: (least) => least,
};

/** `needs` is a relation of e-mails, applications, resource types and resource ids, each with its position. */
const answers = (needs: string, { of, inMs }: Boundary = UNTIL_NEXT): string => `
  (select json_agg(json_build_array(
      coalesce(p.provider_active and not p.blocked, true),
      (select true from superadmin s where s.person_id = p.id),
      a.id,
      m.counts,
      r.ids,
      o.levels,
      ${inMs('least(m.next, r.next)')},
      ${inMs('o.next')}) order by n.position)
    from ${needs}
    left join lateral (select id, provider_active, blocked from person where email = n.email limit 1) p on true
    left join lateral (select id from application where code = n.app limit 1) a on true
    left join lateral (
      select ${isCountingSql('g')} as counts, ${of('g')} as next
        from app_admin g where g.person_id = p.id and g.application_id = a.id limit 1) m on true
    cross join lateral (
      select json_agg(g.role_id) filter (where ${isCountingSql('g')}) as ids, min(${of('g')}) as next
        from user_role g where g.person_id = p.id and g.application_id = a.id) r
    cross join lateral (
      select json_agg(json_build_array(o.permission_id, o.level)) filter (where ${isCountingSql('o')}) as levels, min(${of('o')}) as next
        from resource_override o where n.type <> '' and o.person_id = p.id and ${IS_OF_RESOURCE}) o) as answers`;

const NEEDS =
  'unnest($2::text[], $3::text[], $4::text[], $5::text[]) with ordinality as n (email, app, type, id, position)';

/** $1 since, $2 to $5 the needs' e-mails, applications, resource types and resource ids, of equal length. */
export const MEMBERS_SQL = `select ${WINDOW}, ${answers(NEEDS)}`;

/** The same for a replica. */
export const REPLICA_MEMBERS_SQL = `select ${WINDOW}, ${answers(NEEDS, IS_TIMED)}`;

/**
 * The same for one need, without the log: $1 the e-mail, $2 the application, $3 and $4 the resource. Without a list, whose length
 * a generic plan would have to guess: this one is planned once per connection.
 */
export const MEMBER_SQL = `select ${answers(
  '(select $1::text as email, $2::text as app, $3::text as type, $4::text as id, 1 as position) n',
)}`;

/**
 * What decides one question, with the codes of roles: $1 since, $2 the e-mail, $3 the application, $4 and $5 the resource, $6 the
 * permission.
 */
export const GROUNDS_SQL = `
  with
    p as (select id, registered_at from person where email = $2::text limit 1),
    a as (select id from application where code = $3::text limit 1),
    d as (select id, code, tiered, global, group_name from permission
           where application_id = (select id from a) and code = $6::text limit 1)
  select ${HEAD}, ${STANDBY}, ${answers('(select $2::text as email, $3::text as app, $4::text as type, $5::text as id, 1 as position) n')},
    (select registered_at is not null from p) as "userKnown",
    (select id from a) as "appId",
    (select json_build_array(id, code, tiered, global, group_name) from d) as permission,
    (select json_agg(json_build_array(u.role_id,
        (select code from role where id = u.role_id),
        (select level from role_permission
          where application_id = u.application_id and role_id = u.role_id and permission_id = (select id from d))))
       from user_role u
      where u.person_id = (select id from p) and u.application_id = (select id from a) and ${isCountingSql('u')}) as roles`;

const policy = (app: string): string => `
  (select id from application where code = ${app}) as "appId",
  (select strict_codes from application where code = ${app}) as "strictCodes",
  (select json_agg(e.code order by e.code)
     from entity e where e.application_id = (select id from application where code = ${app})) as "resourceTypes",
  (select json_agg(json_build_array(p.id, p.code, p.tiered, p.global, p.group_name) order by p.code)
     from permission p where p.application_id = (select id from application where code = ${app})) as permissions,
  (select json_agg(json_build_array(r.role_id, r.permission_id, r.level))
     from role_permission r where r.application_id = (select id from application where code = ${app})) as "rolePermissions"`;

/** $1 since, $2 the application's code. */
export const POLICY_SQL = `select ${WINDOW}, ${policy('$2')}`;

/** The same without the log: $1 the application's code. */
export const POLICY_ALONE_SQL = `select ${policy('$1')}`;
