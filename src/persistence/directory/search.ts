import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { planByIndex } from '../driver/prepared.ts';
import type { FoundPeople } from '../people/person-search.ts';
import { PIECE, piecesOf } from '../people/text-pieces.ts';
import { findUserIds, findUsersInOrder, readUsers, type UserRow } from './users.ts';

/** A role or a permission, with its application. */
export interface FoundCode {
  appCode: string;
  id: number;
  code: string;
  description: string | null;
  /** Of a role. */
  name?: string | null;
  /** Of a permission: whether it is tiered. */
  tiered?: boolean;
}

/** What stands before the display name where people are searched: no question holds it. */
const NAME_BEGINS = '\u0001';
/** People whose name begins with the text, from whom the exact ones are chosen. */
const NAMES = 100;
/** Short pages of a search of people that are followed. */
const MAX_PAGES = 3;
/** Codes that are examined for a text which is too short for the index. */
const MAX_EXAMINED = 20_000;

/** Candidates for the best matches among the users of these applications (null: everybody), some of each kind; in no order. */
export async function searchUsers(
  tx: Tx,
  search: string,
  apps: readonly number[] | null,
  limit: number,
): Promise<UserRow[]> {
  const everybody = { search: null, active: null, apps };
  const emailPrefix = search.toLowerCase();
  const byAddress = await findUsersInOrder(
    tx,
    { ...everybody, emailPrefix },
    { order: 'email', apps, limit, after: null },
  );
  const byName = await findUserIds(
    tx,
    { ...everybody, search: `${NAME_BEGINS}${search}` },
    { limit: NAMES, after: null },
  );
  const ids = new Set([...byAddress.places.map(({ id }) => id), ...byName.ids]);
  for (let after: number | null = 0, page = 0; after !== null && page < MAX_PAGES && ids.size < limit; page++) {
    const { ids: more, behind }: FoundPeople = await findUserIds(tx, { ...everybody, search }, { limit, after });
    for (const id of more) ids.add(id);
    after = behind;
  }
  return await readUsers(tx, [...ids], apps);
}

/** The roles or permissions of these applications (null: of all) whose code contains the text: exact, then by the beginning, then others. */
export async function searchCodes(
  tx: Tx,
  table: 'role' | 'permission',
  search: string,
  apps: readonly number[] | null,
  limit: number,
): Promise<FoundCode[]> {
  await planByIndex(tx);
  const text = search.toLowerCase();
  const seen = apps === null ? sql`true` : sql`t.application_id = any(${apps}::bigint[])`;
  const found: RawBuilder<unknown> =
    Array.from(text).length < PIECE
      ? sql`select t.* from ${sql.table(table)} t where ${seen} order by t.id limit ${MAX_EXAMINED}`
      : sql`select t.* from ${sql.table(table)} t
          where text_pieces(lower(t.code)) @@ (select ${piecesOf(text)}::tsquery) and ${seen} offset 0`;
  const { rows } = await sql<FoundCode>`
    select a.code as app_code, f.id, f.code, f.description ${table === 'permission' ? sql`, f.tiered` : sql`, f.name`}
    from (${found}) f join application a on a.id = f.application_id
    where strpos(lower(f.code), ${text}) > 0
    order by lower(f.code) <> ${text}, not starts_with(lower(f.code), ${text}), f.code, a.code limit ${limit}`.execute(
    tx.kysely,
  );
  return rows;
}
