import { Migration } from '@mikro-orm/migrations';
import { CHANGE_LOCK } from './0001-policy.ts';

/** As a record is written at this version. */
const INSERT_AUDIT_SQL = `
  insert into audit (actor, action, app_code, subject, before, after, request_id)
  select r.actor, r.action, r.app_code, r.subject, r.before, r.after, r.request_id from jsonb_to_recordset($1)
    as r (actor text, action text, app_code text, subject text, before jsonb, after jsonb, request_id text)`;

/** What the panel's operators watch: who made a revision, the events of the identity provider, the use of internal keys. */
export class Migration0010Operations extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // As audit records name the author. Null: nobody in particular, or a write of the version before.
  'alter table policy_change add column actor text',
  // As the function of three parameters, which the version before still calls during an upgrade.
  `create function log_change(records jsonb, nonce text, scopes text[], actor text) returns bigint
    language plpgsql volatile as $$
    declare made bigint;
    begin
      if records is not null then
        ${INSERT_AUDIT_SQL};
      end if;
      perform pg_advisory_xact_lock(${CHANGE_LOCK});
      insert into policy_change (revision, nonce, scopes, actor)
        select coalesce(max(revision), 0) + 1, $2, $3, $4 from policy_change
        returning revision into made;
      return made;
    end $$`,
  // Bounded by the number of rows. No secret, code, link or text of a mail (docs/reference/identity-provider.md#events).
  `create table provider_event (
    id bigint generated always as identity primary key,
    at timestamptz(3) not null default now(),
    source text not null check (source in ('webhook', 'mail')),
    event_type text,
    org_id text,
    email text,
    outcome text not null check (outcome in ('applied', 'unchanged', 'ignored', 'sent', 'duplicate', 'failed')),
    reason text
  )`,
  // By the key's name, never its value.
  `create table internal_key_use (
    name text collate "C" primary key,
    last_used_at timestamptz(3) not null
  )`,
];
