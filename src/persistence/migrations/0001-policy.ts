import { Migration } from '@mikro-orm/migrations';
import { STAMPS } from './stamps.ts';

/** Held by a transaction from its log row to past its commit. Any number of its own. */
export const CHANGE_LOCK = 7_411_532_002;
/** What a migration once made stays as it is: what the program says today is another matter (persistence/audit.ts). */
const INSERT_AUDIT_SQL = `
        insert into audit (actor, action, app_code, subject, before, after, request_id)
        select r.actor, r.action, r.app_code, r.subject, r.before, r.after, r.request_id from jsonb_to_recordset($1)
          as r (actor text, action text, app_code text, subject text, before jsonb, after jsonb, request_id text)`;

/**
 * People, applications and what decides a permission; the change log; settings and audit.
 *
 * E-mail stands once, in `person`; all else refers to it. Composite foreign keys that carry `application_id` and `tiered`
 * make it impossible, by the database's word, to mix rows of two applications or to hold a level that does not fit the
 * permission's type. Text that is compared is `collate "C"`: byte order, the same on every machine.
 * Levels: 0 denies (overrides only), 1 allowed, 2 view, 3 edit.
 */
export class Migration0001Policy extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // What follows each character of a text, three characters of it, at the end fewer: an index over these pieces finds a text by any
  // part of it, a short one by the pieces that begin with it, on any PostgreSQL, without an extension (persistence/people/person-search.ts). By
  // its cost the planner looks pieces up rather than making them again; nor is it to start workers for what takes a millisecond.
  // A loop, since a query inside would cost more than its work.
  `create function text_pieces(text text) returns tsvector language plpgsql immutable strict parallel restricted cost 1000000 as $$
    declare pieces text[] := '{}';
    begin
      for i in 1 .. length(text) loop pieces[i] := substr(text, i, 3); end loop;
      return array_to_tsvector(pieces);
    end $$`,
  // A row as soon as an address is first mentioned; a user's record once registered_at is set.
  // Active when the provider says so and no administrator has blocked it: two flags (docs/reference/callers.md#active-and-inactive).
  `create table person (
    id bigint generated always as identity primary key,
    email text collate "C" not null unique check (email <> '' and length(email) <= 254),
    registered_at timestamptz(3),
    provider_active boolean not null default true,
    blocked boolean not null default false,
    created_at timestamptz(3) not null default now()
  )`,
  `create index person_inactive on person (id) where blocked or not provider_active`,
  // What people are searched by, in one narrow table: address and display name in small letters, with a character between them that
  // no question holds. One LIKE reads it, in the order of pages, in a fraction of the time that person and profile side by side take.
  `create table person_search (
    person_id bigint primary key references person (id) on delete cascade,
    searched text collate "C" not null
  )`,
  // What waits to be merged into such an index is read by every search, so it is kept short.
  `create index person_search_pieces on person_search using gin (text_pieces(searched)) with (gin_pending_list_limit = 1024)`,
  // What a database's lower() may leave alone is found as it is written, too: a name of other letters, or with a Turkish I.
  `create function searched_text(email text, display_name text) returns text language sql immutable parallel safe as $$
    select email || coalesce(chr(1) || lower(display_name), '')
      || case when display_name collate "C" ~ '[^ -HJ-~]' then chr(1) || display_name else '' end $$`,
  // Whoever comes to write such a row holds the person or the profile that it follows, each made or changed by him: nobody waits here
  // who did not wait there. One statement may make both, and then the profile is there already.
  `create function search_new_person() returns trigger language plpgsql as $$
    begin
      insert into person_search (person_id, searched) values (new.id,
        searched_text(new.email, (select f.display_name from profile f where f.person_id = new.id)));
      return null;
    end $$`,
  `create trigger person_is_searched after insert on person for each row execute function search_new_person()`,
  `create table superadmin (
    person_id bigint primary key references person (id) on delete cascade,
    created_at timestamptz(3) not null default now()
  )`,
  `create table language (
    code text collate "C" primary key,
    name text not null,
    native_name text not null,
    fallback text collate "C" references language (code),
    check (fallback <> code)
  )`,
  `create table application (
    id bigint generated always as identity primary key,
    code text collate "C" not null unique check (length(code) between 1 and 64),
    name text not null,
    description text,
    ${STAMPS}
  )`,
  `create table application_language (
    application_id bigint not null references application (id) on delete cascade,
    language_code text collate "C" not null references language (code),
    position int not null,
    primary key (application_id, language_code)
  )`,
  `create index application_language_code on application_language (language_code)`,
  `create table entity (
    id bigint generated always as identity primary key,
    application_id bigint not null references application (id) on delete cascade,
    code text collate "C" not null,
    name text not null,
    description text,
    id_label text,
    list_endpoint text,
    ${STAMPS},
    unique (application_id, code)
  )`,
  `create table permission (
    id bigint generated always as identity primary key,
    application_id bigint not null references application (id) on delete cascade,
    code text collate "C" not null,
    description text,
    tiered boolean not null,
    group_name text,
    parent_id bigint,
    global boolean not null default false,
    ${STAMPS},
    unique (application_id, code),
    unique (application_id, id),
    unique (application_id, id, tiered),
    foreign key (application_id, parent_id) references permission (application_id, id) on delete set null (parent_id),
    check (parent_id <> id)
  )`,
  `create index permission_parent on permission (application_id, parent_id) where parent_id is not null`,
  `create table role (
    id bigint generated always as identity primary key,
    application_id bigint not null references application (id) on delete cascade,
    code text collate "C" not null,
    description text,
    ${STAMPS},
    unique (application_id, code),
    unique (application_id, id)
  )`,
  `create table role_permission (
    application_id bigint not null,
    role_id bigint not null,
    permission_id bigint not null,
    tiered boolean not null,
    level smallint not null check (case when tiered then level in (2, 3) else level = 1 end),
    primary key (application_id, role_id, permission_id),
    foreign key (application_id, role_id) references role (application_id, id) on delete cascade,
    foreign key (application_id, permission_id, tiered) references permission (application_id, id, tiered) on delete cascade
  )`,
  `create index role_permission_permission on role_permission (application_id, permission_id)`,
  `create table user_role (
    person_id bigint not null references person (id) on delete cascade,
    application_id bigint not null,
    role_id bigint not null,
    created_at timestamptz(3) not null default now(),
    primary key (person_id, application_id, role_id),
    foreign key (application_id, role_id) references role (application_id, id) on delete cascade
  )`,
  `create index user_role_role on user_role (application_id, role_id, person_id)`,
  // Who is of an application, in the order of pages (users of an application).
  `create index user_role_person on user_role (application_id, person_id)`,
  `create table app_admin (
    person_id bigint not null references person (id) on delete cascade,
    application_id bigint not null references application (id) on delete cascade,
    created_at timestamptz(3) not null default now(),
    primary key (person_id, application_id)
  )`,
  `create index app_admin_application on app_admin (application_id, person_id)`,
  `create table resource_override (
    person_id bigint not null references person (id) on delete cascade,
    application_id bigint not null,
    resource_type text collate "C" not null check (length(resource_type) between 1 and 64),
    resource_id text collate "C" not null check (length(resource_id) between 1 and 256),
    permission_id bigint not null,
    tiered boolean not null,
    level smallint not null check (case when tiered then level in (0, 2, 3) else level in (0, 1) end),
    created_at timestamptz(3) not null default now(),
    primary key (person_id, application_id, resource_type, resource_id, permission_id),
    foreign key (application_id, permission_id, tiered) references permission (application_id, id, tiered) on delete cascade
  )`,
  `create index resource_override_person on resource_override (application_id, person_id)`,
  `create index resource_override_permission on resource_override (application_id, permission_id)`,
  `create index resource_override_type on resource_override (application_id, resource_type)`,
  // What freshness rests on: one row a commit that touched policy, numbered in commit order under an advisory lock.
  `create table policy_change (
    revision bigint primary key,
    at timestamptz(3) not null default clock_timestamp(),
    nonce text not null,
    scopes text[] not null
  )`,
  `create table setting (
    key text collate "C" primary key,
    value jsonb not null,
    updated_at timestamptz(3) not null default now()
  )`,
  `create table audit (
    id bigint generated always as identity primary key,
    at timestamptz(3) not null default now(),
    actor text not null,
    action text not null,
    app_code text collate "C",
    subject text,
    before jsonb,
    after jsonb,
    request_id text
  )`,
  // In the order of pages, for each filter; for two filters, either of which alone may let through most of the records, too.
  `create index audit_at on audit (at, id)`,
  `create index audit_app on audit (app_code, at, id)`,
  `create index audit_actor on audit (actor, at, id)`,
  `create index audit_subject on audit (subject, at, id)`,
  `create index audit_action on audit (action, at, id)`,
  `create index audit_app_actor on audit (app_code, actor, at, id)`,
  `create index audit_app_action on audit (app_code, action, at, id)`,
  `create index audit_actor_action on audit (actor, action, at, id)`,
  // The end of a write: its audit records, then its row in the change log. The lock is held from here to past the commit, so that
  // revisions are commit order; every statement of a volatile function has a snapshot of its own, so the last one sees what was
  // committed while the lock was waited for (docs/adr/0002).
  `create function log_change(records jsonb, nonce text, scopes text[]) returns bigint language plpgsql volatile as $$
    declare made bigint;
    begin
      if records is not null then
        ${INSERT_AUDIT_SQL};
      end if;
      perform pg_advisory_xact_lock(${CHANGE_LOCK});
      insert into policy_change (revision, nonce, scopes) select coalesce(max(revision), 0) + 1, $2, $3 from policy_change
        returning revision into made;
      return made;
    end $$`,
  `create function audit_is_append_only() returns trigger language plpgsql as $$
    begin raise exception 'audit takes inserts only' using errcode = 'restrict_violation'; end $$`,
  `create trigger audit_append_only before update or delete on audit
    for each statement execute function audit_is_append_only()`,
];
