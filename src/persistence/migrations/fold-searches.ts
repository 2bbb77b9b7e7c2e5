/** Folds the texts by which people are searched that an earlier version stored (migration 0025), some people at a time. */

import { type Kysely, sql } from 'kysely';
import type { Schema } from '../entities/schema.ts';
import { FOLDED_UP_TO } from './0025-folded-search.ts';

/** People in one transaction: some tenths of a second. */
const PEOPLE = 2000;

/**
 * Goes on where it was left off, until all are folded. Profiles are locked, so that no text is written over by an older one. Each piece is a statement, so that a process which ends loses one at most; of
 * several processes one works at a time. Returns the number of changed texts.
 */
export async function foldSearches(db: Kysely<Schema>, people: number = PEOPLE): Promise<number> {
  for (let changed = 0; ; ) {
    const { rows } = await sql<{ changed: number }>`
      with place as materialized (
          select value::text::bigint as last from setting where key = ${FOLDED_UP_TO} for update skip locked),
        piece as materialized (
          select s.person_id from person_search s where s.person_id > (select last from place)
            order by s.person_id limit ${people}),
        texts as materialized (
          select p.id, folded_search(p.email, f.display_name, f.first_name, f.last_name) as text
            from piece join person p on p.id = piece.person_id join profile f on f.person_id = p.id
           order by p.id for share of f),
        folded as (
          update person_search s set searched = t.text from texts t
           where s.person_id = t.id and s.searched <> t.text returning 1),
        moved as (
          update setting set value = to_jsonb((select max(person_id) from piece)), updated_at = now()
           where key = ${FOLDED_UP_TO} and exists (select from piece)),
        ended as (
          delete from setting where key = ${FOLDED_UP_TO} and exists (select from place) and not exists (select from piece))
      select (select count(*) from folded)::int as changed where exists (select from piece)`.execute(db);
    const [piece] = rows;
    if (piece === undefined) return changed;
    changed += piece.changed;
  }
}
