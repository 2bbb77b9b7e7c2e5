import { Migration } from '@mikro-orm/migrations';

/**
 * Native events of the identity provider: how far each of its users is known, and events whose person could not be found yet. Processes of
 * the version before know neither table and go on.
 */
export class Migration0021NativeEvents extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // state_at: what the last event about the state made the time of the person's last change of state. Sequences are those of the last event that was taken, by what it is about. email: as the provider said last.
  `create table provider_user (
    issuer text collate "C" not null,
    user_id text collate "C" not null,
    org_id text,
    active boolean,
    email text collate "C",
    state_sequence bigint,
    state_at timestamptz(3),
    names_sequence bigint,
    email_sequence bigint,
    email_changed_at timestamptz(3),
    primary key (issuer, user_id)
  )`,
  `create index provider_user_email on provider_user (email) where email is not null`,
  `create table unresolved_event (
    id bigint generated always as identity primary key,
    issuer text collate "C" not null,
    user_id text collate "C" not null,
    sequence bigint not null,
    event_type text not null,
    org_id text,
    email text collate "C",
    event jsonb not null,
    reason text not null,
    tries int not null default 1,
    at timestamptz(3) not null default now(),
    unique (issuer, user_id, sequence, event_type)
  )`,
  `create index unresolved_event_email on unresolved_event (email) where email is not null`,
];
