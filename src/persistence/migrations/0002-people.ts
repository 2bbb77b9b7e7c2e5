import { Migration } from '@mikro-orm/migrations';
import { STAMPS } from './stamps.ts';

/**
 * Brands; profiles, application preferences with their logins; what the identity provider's side remembers.
 * Nothing in here decides a permission: no write of these tables is announced (docs/freshness.md).
 */
export class Migration0002People extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // The password is sealed (brands/sealing.ts); smtp_key names the key that sealed it.
  `create table brand (
    id bigint generated always as identity primary key,
    slug text collate "C" not null unique,
    name text not null,
    is_default boolean not null default false,
    primary_color text,
    background_color text,
    logo_url text,
    icon_url text,
    footer_text text,
    email_from text,
    email_from_name text,
    smtp_host text,
    smtp_port int check (smtp_port between 1 and 65535),
    smtp_secure boolean not null default false,
    smtp_allow_insecure boolean not null default false,
    smtp_user text,
    smtp_password text,
    smtp_key text,
    idp_org_id text collate "C" unique,
    ${STAMPS},
    check ((smtp_host is null) = (smtp_port is null)),
    check ((smtp_password is null) = (smtp_key is null))
  )`,
  // Exactly one: this index allows no second, and nothing deletes or demotes the one.
  `create unique index brand_default on brand (is_default) where is_default`,
  // A user's record (docs/reference/people.md#profiles). brand_id null: the default brand, whichever it is.
  // names_changed_at: the last change of a name known here; decides which source is newer.
  // state_changed_at: the provider's last change of state; a webhook of an earlier moment changes nothing.
  `create table profile (
    person_id bigint primary key references person (id) on delete cascade,
    first_name text,
    last_name text,
    display_name text,
    names_changed_at timestamptz(3),
    avatar_url text,
    locale text collate "C" references language (code),
    theme text not null default 'system' check (theme in ('light', 'dark', 'system')),
    timezone text,
    brand_id bigint references brand (id),
    issuer text collate "C",
    subject text collate "C",
    state_changed_at timestamptz(3),
    ${STAMPS}
  )`,
  `create function search_new_name() returns trigger language plpgsql as $$
    begin
      update person_search s set searched = searched_text(p.email, new.display_name) from person p
        where s.person_id = new.person_id and p.id = new.person_id and s.searched <> searched_text(p.email, new.display_name);
      return null;
    end $$`,
  `create trigger profile_is_searched after insert on profile for each row
    when (new.display_name is not null) execute function search_new_name()`,
  `create trigger profile_is_renamed after update on profile for each row
    when (old.display_name is distinct from new.display_name) execute function search_new_name()`,
  `create index profile_brand on profile (brand_id) where brand_id is not null`,
  `create index profile_locale on profile (locale) where locale is not null`,
  // A row from the first access on; defaults where there is none.
  `create table app_preference (
    person_id bigint not null references person (id) on delete cascade,
    application_id bigint not null references application (id) on delete cascade,
    show_help boolean not null default true,
    notifications_enabled boolean not null default true,
    first_login_at timestamptz(3),
    last_login_at timestamptz(3),
    login_count bigint not null default 0,
    last_activity_at timestamptz(3),
    ${STAMPS},
    primary key (person_id, application_id)
  )`,
  `create index app_preference_application on app_preference (application_id, person_id)`,
  // Logins and logouts, one a row (docs/reference/people.md#logins, events). actor as in audit: user:EMAIL or key:NAME.
  `create table app_event (
    id bigint generated always as identity primary key,
    person_id bigint not null references person (id) on delete cascade,
    application_id bigint not null references application (id) on delete cascade,
    event text not null check (event in ('login', 'logout')),
    actor text not null,
    at timestamptz(3) not null default now()
  )`,
  `create index app_event_member on app_event (person_id, application_id, id)`,
  `create index app_event_application on app_event (application_id)`,
  // Events that were told once already: source is 'application-event', 'webhook' or 'login', key the teller's own name for it.
  `create table seen_event (
    source text collate "C" not null,
    key text collate "C" not null,
    at timestamptz(3) not null default now(),
    primary key (source, key)
  )`,
  `create index seen_event_at on seen_event (at)`,
  // A login component's word about somebody who does not exist yet; kept 24 hours (docs/reference/identity-provider.md#registration-locale).
  `create table registration_locale (
    email text collate "C" not null,
    org_id text collate "C" not null,
    locale text collate "C" not null,
    at timestamptz(3) not null default now(),
    primary key (email, org_id)
  )`,
  `create index registration_locale_at on registration_locale (at)`,
  // Which application an organization of the provider belongs to, beside idp.orgToApp of the configuration.
  `create table organization (
    org_id text collate "C" primary key,
    application_id bigint not null references application (id) on delete cascade,
    ${STAMPS}
  )`,
  `create index organization_application on organization (application_id)`,
];
