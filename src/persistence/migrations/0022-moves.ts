import { Migration } from '@mikro-orm/migrations';

/**
 * People who were moved to another address. Processes of the version before go on: they do not show where somebody has gone. The person's
 * row keeps its id and takes the new address, so that the search has to follow an address that changes.
 */
export class Migration0022Moves extends Migration {
  override up(): void {
    for (const statement of STATEMENTS) this.addSql(statement);
  }
}

const STATEMENTS = [
  `alter table person add column moved_to bigint references person (id) on delete set null`,
  `create index person_moved_to on person (moved_to) where moved_to is not null`,
  `create function forget_searched_address() returns trigger language plpgsql as $$
    begin
      delete from person_search where person_id = new.id;
      return new;
    end $$`,
  `create trigger person_address_is_forgotten before update of email on person
    for each row when (old.email is distinct from new.email) execute function forget_searched_address()`,
  `create trigger person_is_searched_again after update of email on person
    for each row when (old.email is distinct from new.email) execute function search_new_person()`,
];
