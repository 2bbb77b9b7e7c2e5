import { Migration } from '@mikro-orm/migrations';

/**
 * Erasure of people. Processes of the version before go on working: they make no rows of the new table, and for a person without one
 * the changed trigger does what it did.
 */
export class Migration0012Erasure extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // One erasure of an address. The address stands here until the last record that names it is changed, so that any process can go on
  // where a killed one stopped; what stays is the receipt.
  `create table erasure (
    id bigint generated always as identity primary key,
    person_id bigint,
    pseudonym text collate "C" not null,
    email text collate "C",
    removed jsonb not null,
    started_at timestamptz(3) not null default now(),
    finished_at timestamptz(3),
    check ((email is null) = (finished_at is not null))
  )`,
  `create index erasure_pseudonym on erasure (pseudonym, id)`,
  `create index erasure_unfinished on erasure (started_at, id) where finished_at is null`,
  // The notifications of a person who is being erased are taken away in pieces, later: there may be any number of them.
  `create or replace function take_notifications_of_person() returns trigger language plpgsql as $$
    begin
      delete from notification n using gone where n.person_id = gone.id
        and not exists (select from erasure e where e.finished_at is null and e.person_id = gone.id);
      return null;
    end $$`,
  // Of a record an erasure changes whom it names, and nothing else.
  `create function audit_takes_pseudonyms() returns trigger language plpgsql as $$
    begin
      if (new.id, new.at, new.action) is distinct from (old.id, old.at, old.action)
        or (new.app_code, new.request_id) is distinct from (old.app_code, old.request_id)
        or not exists (
          select from erasure e where e.finished_at is null
            and (new.actor = old.actor or old.actor = 'user:' || e.email and new.actor = 'user:' || e.pseudonym)
            and (new.subject is not distinct from old.subject
              or starts_with(old.subject, e.email) and new.subject = e.pseudonym || substr(old.subject, length(e.email) + 1)))
      then
        raise exception 'audit takes inserts only' using errcode = 'restrict_violation';
      end if;
      return new;
    end $$`,
  `drop trigger audit_append_only on audit`,
  `create trigger audit_append_only before delete on audit
    for each statement execute function audit_is_append_only()`,
  `create trigger audit_pseudonyms_only before update on audit
    for each row execute function audit_takes_pseudonyms()`,
];
