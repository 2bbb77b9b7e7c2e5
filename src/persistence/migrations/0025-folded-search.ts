import { Migration } from '@mikro-orm/migrations';
import { foldingSql } from '../people/folding.ts';

/**
 * People are searched by address, display name, first and last name, folded (folding.ts). What is stored already follows in pieces
 * (fold-searches.ts), since one transaction over all people would hold their rows for minutes; until then a person is found as before
 * by what folding leaves as it is.
 */
export const FOLDED_SEARCH = '0025-folded-search';

/** In `setting`: the last person whose text is folded; absent when all are. */
export const FOLDED_UP_TO = 'people.search-folded-up-to';

export class Migration0025FoldedSearch extends Migration {
  override up(): void {
    for (const statement of statements()) this.addSql(statement);
  }
}

const CHANGED = (row: string): string =>
  ['display_name', 'first_name', 'last_name'].map((name) => `old.${name} is distinct from new.${name}`).join(row);

/** Made here, not with the module: all letters of Unicode are folded for it, which takes a tenth of a second of each start. */
const statements = (): string[] => [
  foldingSql('folded_name'),
  // First and last name stand by themselves only where the display name lacks them.
  `create function folded_search(email text, display_name text, first_name text, last_name text) returns text
    language sql immutable parallel safe as $$
    select email || coalesce(chr(1) || n.shown, '') || case when strpos(n.shown, n.whole) = 0 then chr(1) || n.whole else '' end
      from (select coalesce(folded_name(nullif(btrim(display_name), '')), f.whole) as shown, f.whole from (
        select folded_name(nullif(btrim(concat_ws(' ', nullif(btrim(first_name), ''), nullif(btrim(last_name), ''))), '')) as whole) f) n $$`,
  `create or replace function search_new_person() returns trigger language plpgsql as $$
    begin
      insert into person_search (person_id, searched) values (new.id, coalesce(
        (select folded_search(new.email, f.display_name, f.first_name, f.last_name) from profile f where f.person_id = new.id),
        new.email));
      return null;
    end $$`,
  `create or replace function search_new_name() returns trigger language plpgsql as $$
    declare text text;
    begin
      select folded_search(p.email, new.display_name, new.first_name, new.last_name) into text from person p where p.id = new.person_id;
      update person_search s set searched = text where s.person_id = new.person_id and s.searched <> text;
      return null;
    end $$`,
  'drop trigger profile_is_searched on profile',
  'drop trigger profile_is_renamed on profile',
  `create trigger profile_is_searched after insert on profile for each row
    when (coalesce(new.display_name, new.first_name, new.last_name) is not null) execute function search_new_name()`,
  `create trigger profile_is_renamed after update on profile for each row
    when (${CHANGED(' or ')}) execute function search_new_name()`,
  'drop function searched_text(text, text)',
  `insert into setting (key, value) select '${FOLDED_UP_TO}', '0' where exists (select from profile)`,
];
