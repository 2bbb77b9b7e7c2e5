import { Migration } from '@mikro-orm/migrations';

/**
 * Names that their owners changed here, and events that go with their application. Processes of the version before go on
 * working: they leave names_kept at its default, and the trigger acts on their deletions, too.
 */
export class Migration0005OwnNames extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  // A set of bits, one a name (persistence/directory/profiles.ts): names changed here where no provider keeps them.
  `alter table profile add column names_kept smallint not null default 0`,
  // The key of an application event is CODE:ID, and no code holds a colon; ';' is the character behind it.
  `create function forget_events_of_application() returns trigger language plpgsql as $$
    begin
      delete from seen_event s using gone
        where s.source = 'application-event' and s.key > gone.code || ':' and s.key < gone.code || ';';
      return null;
    end $$`,
  `create trigger application_takes_events after delete on application
    referencing old table as gone for each statement execute function forget_events_of_application()`,
];
