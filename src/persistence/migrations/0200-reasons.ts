import { Migration } from '@mikro-orm/migrations';
import { CHANGE_LOCK } from './0001-policy.ts';

/** As a record is written at this version; a process of the version before names no reason. */
const INSERT_AUDIT_SQL = `
  insert into audit (actor, action, app_code, subject, before, after, request_id, reason)
  select r.actor, r.action, r.app_code, r.subject, r.before, r.after, r.request_id, r.reason from jsonb_to_recordset($1)
    as r (actor text, action text, app_code text, subject text, before jsonb, after jsonb, request_id text, reason text)`;

/** Why somebody wrote what they wrote, in their own words (docs/reference/administration.md#reasons). */
export class Migration0200Reasons extends Migration {
  override up(): void {
    this.addSql('alter table audit add column reason text');
    // Reasons are free text: an erasure looks in each for the address.
    this.addSql('create index audit_reasoned on audit (id) where reason is not null');
    // As in migration 0010, with the reason. Processes of the version before call it, too.
    this.addSql(`create or replace function log_change(records jsonb, nonce text, scopes text[], actor text) returns bigint
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
      end $$`);
  }
}
