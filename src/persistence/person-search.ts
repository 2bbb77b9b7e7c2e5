import { type RawBuilder, sql } from 'kysely';
import type { Tx } from './database.ts';

/** So many are looked at first, and where so many of them are meant, the text is common. */
const SAMPLE = 250;
const COMMON = 10;
/** More people than this have a common text: whoever walks the people in order soon fills his page. */
const FEW = 1000;
/** How long the pieces are that the indexes hold. */
const PIECE = 3;
/** More pieces of one text find hardly fewer people. */
const MAX_PIECES = 24;

/**
 * Whether a person `p` with a profile `f` is one that `search` means: text in the address or in the display name, case aside.
 * As text, never as a pattern: nothing in it has a meaning of its own. Null means everybody.
 */
export function named(search: string | null): RawBuilder<boolean> {
  if (search === null) return sql<boolean>`true`;
  const folded = search.toLowerCase();
  return sql<boolean>`(strpos(p.email, ${folded}) > 0 or strpos(lower(f.display_name), ${folded}) > 0
    or strpos(f.display_name, ${search}) > 0)`;
}

/**
 * The ids of all whom `search` means, in no order, when they are few; null when they are many (of those behind the id `after`,
 * at least) or the text is too short. Found by the indexes of pieces of texts: a text that stands in another has all its pieces there.
 */
export async function findFew(tx: Tx, search: string, after: number): Promise<number[] | null> {
  // What is shorter has no piece; most such texts are common.
  if (Array.from(search).length < PIECE || (await isCommon(tx, search, after))) return null;
  const folded = search.toLowerCase();
  const name = sql`text_pieces((display_name || ' ' || lower(display_name)) collate "C")`;
  // One condition of pieces a part: of two in one, the pieces of every row found would be made anew.
  const { rows } = await sql<{ id: number }>`
    (select id from person where text_pieces(email) @> ${piecesOf(folded)}::text[] and strpos(email, ${folded}) > 0 limit ${FEW + 1})
    union
    (select person_id from profile
      where ${name} @> ${piecesOf(folded)}::text[] and strpos(lower(display_name), ${folded}) > 0 limit ${FEW + 1})
    union
    (select person_id from profile
      where ${name} @> ${piecesOf(search)}::text[] and strpos(display_name, ${search}) > 0 limit ${FEW + 1})`.execute(
    tx.kysely,
  );
  return rows.length > FEW ? null : rows.map(({ id }) => id);
}

/**
 * Of a common text the index would give thousands, of which a page needs fifty. The profile by a
 * scalar subquery: a planner that joined would read all of them.
 */
async function isCommon(tx: Tx, search: string, after: number): Promise<boolean> {
  const { rows } = await sql<{ found: number }>`
    select count(*)::int as found from (select id, email from person where id > ${after} order by id limit ${SAMPLE}) p
    where (select ${named(search)} from (select) one left join profile f on f.person_id = p.id)`.execute(tx.kysely);
  return (rows[0]?.found ?? 0) >= COMMON;
}

/** What must be among the pieces of every text that holds this one. */
function piecesOf(text: string): string[] {
  const characters = Array.from(text);
  const pieces = characters.slice(PIECE - 1).map((_, i) => characters.slice(i, i + PIECE).join(''));
  return [...new Set(pieces)].slice(0, MAX_PIECES);
}

/** The ids of all inactive people behind the id `after`, ascending, when they are few; null when they are many. */
export async function findFewInactive(tx: Tx, after: number): Promise<number[] | null> {
  const { rows } = await sql<{ id: number }>`
    select id from person where (blocked or not provider_active) and id > ${after} order by id limit ${FEW + 1}`.execute(
    tx.kysely,
  );
  return rows.length > FEW ? null : rows.map(({ id }) => id);
}
