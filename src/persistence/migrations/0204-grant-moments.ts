import { Migration } from '@mikro-orm/migrations';

/**
 * What is to be done about grants with a window before they end (docs/reference/time.md#the-timekeeper): their beginning is noted, and
 * their holder is told that they end soon. A row is due once and then gone. Triggers plan it with the window, whoever sets that, so the
 * large tables of grants need neither a column nor an index for it.
 */
export class Migration0204GrantMoments extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

/** `object_id`: the role, or the permission of an override; 0 for a seat. Overrides alone have a resource. */
const KEY = 'kind, person_id, application_id, object_id, resource_type, resource_id';
const keyOf = (row: string, json: string): string => `tg_argv[0], ${row}.person_id, ${row}.application_id,
  coalesce(${json} ->> 'role_id', ${json} ->> 'permission_id', '0')::bigint,
  coalesce(${json} ->> 'resource_type', ''), coalesce(${json} ->> 'resource_id', '')`;

const GRANTS = { user_role: 'role', resource_override: 'override', app_admin: 'app_admin' };
const HAS = (row: string): string => `${row}.starts_at is not null or ${row}.ends_at is not null`;
const trigger = (table: string, name: string, on: string, when: string, kind: string): string =>
  `create trigger ${table}_${name} after ${on} on ${table} for each row when (${when})
    execute function plan_grant_moments('${kind}')`;

const STATEMENTS = [
  `create table grant_moment (
    kind text collate "C" not null check (kind in ('role', 'override', 'app_admin')),
    person_id bigint not null,
    application_id bigint not null,
    object_id bigint not null,
    resource_type text collate "C" not null,
    resource_id text collate "C" not null,
    what text collate "C" not null check (what in ('begin', 'warning')),
    at timestamptz(3) not null,
    primary key (${KEY}, what)
  )`,
  `create index grant_moment_due on grant_moment (what, at)`,
  // Three days before the end of a grant that runs for more than seven. A moment that has passed when the window is set is none.
  `create function plan_grant_moments() returns trigger language plpgsql as $$
    declare
      held jsonb;
    begin
      if tg_op <> 'INSERT' then
        held := to_jsonb(old);
        delete from grant_moment where (${KEY}) = (${keyOf('old', 'held')});
      end if;
      if tg_op <> 'DELETE' then
        held := to_jsonb(new);
        insert into grant_moment (${KEY}, what, at)
          select ${keyOf('new', 'held')}, w.what, w.at
            from (values ('begin', new.starts_at),
                    ('warning', case when new.ends_at - coalesce(new.starts_at, new.created_at) > interval '7 days'
                                     then new.ends_at - interval '3 days' end)) as w (what, at)
           where w.at > now();
      end if;
      return null;
    end $$`,
  ...Object.entries(GRANTS).flatMap(([table, kind]) => [
    trigger(table, 'plans', 'insert', HAS('new'), kind),
    trigger(
      table,
      'plans_anew',
      'update of starts_at, ends_at, person_id',
      `(${HAS('old')} or ${HAS('new')}) and
        (old.person_id, old.starts_at, old.ends_at) is distinct from (new.person_id, new.starts_at, new.ends_at)`,
      kind,
    ),
    trigger(table, 'plans_no_more', 'delete', HAS('old'), kind),
  ]),
  // Whether people are told by the application that something of theirs ends soon.
  `alter table application add column tell_endings boolean not null default true`,
];
