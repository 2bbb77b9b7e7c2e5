import { Migration } from '@mikro-orm/migrations';

/**
 * Accounts at identity providers, in a table of their own: a person may have several, and an event may name nothing but one. Processes
 * of the version before go on with the columns of `profile` that held one account: triggers carry what either version writes to the other.
 * A later version drops these columns and the triggers.
 */
export class Migration0018Accounts extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // signs_in: the account whose tokens are the person's; the others are known from events and comparisons.
  // may_rule: whether its tokens may also sign in an address that rules (docs/reference/callers.md#accounts).
  // organization: the claim of the token that made it the person's. seen_at: the provider's time of what told of it last.
  `create table person_account (
    issuer text collate "C" not null,
    user_id text collate "C" not null,
    person_id bigint not null references person (id) on delete cascade,
    signs_in boolean not null default false,
    may_rule boolean not null default false,
    organization text collate "C",
    seen_at timestamptz(3) not null default now(),
    primary key (issuer, user_id, person_id)
  )`,
  `create unique index person_account_signs_in on person_account (person_id) where signs_in`,
  `create index person_account_person on person_account (person_id)`,
  `insert into person_account (issuer, user_id, person_id, signs_in, may_rule, seen_at)
    select coalesce(issuer, ''), subject, person_id, true, true, updated_at from profile where subject is not null`,
  // What the version before writes. At depth 1 only: the other trigger's writes are no news.
  `create function account_of_profile() returns trigger language plpgsql as $$
    declare kept person_account;
    begin
      if pg_trigger_depth() > 1 then
        return null;
      end if;
      if tg_op = 'INSERT' then
        select * into kept from person_account where person_id = new.person_id and signs_in;
        if found then
          update profile set issuer = kept.issuer, subject = kept.user_id where person_id = new.person_id;
          return null;
        end if;
      end if;
      update person_account set signs_in = false where person_id = new.person_id and signs_in
        and (issuer, user_id) is distinct from (coalesce(new.issuer, ''), new.subject);
      if new.subject is not null then
        insert into person_account (issuer, user_id, person_id, signs_in)
          values (coalesce(new.issuer, ''), new.subject, new.person_id, true)
          on conflict (issuer, user_id, person_id) do update set signs_in = true;
      end if;
      return null;
    end $$`,
  `create trigger profile_has_account after insert on profile for each row execute function account_of_profile()`,
  `create trigger profile_changes_account after update of issuer, subject on profile for each row
    when ((old.issuer, old.subject) is distinct from (new.issuer, new.subject)) execute function account_of_profile()`,
  // What this version writes, for the version before.
  `create function profile_of_account() returns trigger language plpgsql as $$
    begin
      if pg_trigger_depth() > 1 then
        return null;
      end if;
      if tg_op <> 'INSERT' and old.signs_in then
        update profile set issuer = null, subject = null
          where person_id = old.person_id and issuer = old.issuer and subject = old.user_id;
      end if;
      if tg_op <> 'DELETE' and new.signs_in then
        update profile set issuer = new.issuer, subject = new.user_id where person_id = new.person_id;
      end if;
      return null;
    end $$`,
  `create trigger account_is_shown after insert or update or delete on person_account
    for each row execute function profile_of_account()`,
];
