import { type RawBuilder, sql } from 'kysely';
import type { Tx } from './database.ts';

/** So many are looked at first. */
const SAMPLE = 1000;
/**
 * A text is common where so many of them are meant: to walk on until a page is full is then cheaper than to look it up. People and
 * their profiles side by side cost little; of the members of an application each is looked at by itself.
 */
const COMMON = { people: 10, members: 40 } as const;
/** More people than this have a common text: whoever walks the people in order soon fills his page. */
const FEW = 1000;
/** How long the pieces are that the indexes hold; at the end of a text they are shorter. */
const PIECE = 3;
/** More pieces of one text find hardly fewer people. */
const MAX_PIECES = 10;

/**
 * Whether a person `p` with a profile `f` is one that `search` means: text in the address or in the display name, case aside.
 * As text, never as a pattern: nothing in it has a meaning of its own. Null means everybody.
 */
export function named(search: string | null): RawBuilder<boolean> {
  if (search === null) return sql<boolean>`true`;
  const folded = search.toLowerCase();
  const parts = [
    sql`strpos(p.email, ${folded}) > 0`,
    sql`strpos(lower(f.display_name), ${folded}) > 0`,
    ...(isFoldedAlike(search) ? [] : [sql`strpos(f.display_name, ${search}) > 0`]),
  ];
  return sql<boolean>`(${sql.join(parts, sql` or `)})`;
}

/** Whether a database's small letters are JavaScript's: not those of other alphabets, and not a Turkish I. */
function isFoldedAlike(text: string): boolean {
  return /^[ -HJ-~]*$/.test(text);
}

/**
 * The ids of all whom `search` means, in no order, when they are few; null when they are many (of those behind the id `after`,
 * at least): who `walks` people, or the members of an application, soon has a page then. Found by the indexes of pieces of
 * texts: a text that stands in another has all its pieces there.
 */
export async function findFew(
  tx: Tx,
  search: string,
  after: number,
  walks: keyof typeof COMMON,
): Promise<number[] | null> {
  if ((await foundInSample(tx, search, after)) >= COMMON[walks]) return null;
  const folded = search.toLowerCase();
  const name = sql`text_pieces((display_name || ' ' || lower(display_name)) collate "C")`;
  // A part of each text and of each spelling, with a condition of pieces each: of two in one, the pieces of every row found would
  // be made anew.
  const parts = [
    sql`select id from person where text_pieces(email) @@ ${piecesOf(folded)}::tsquery and strpos(email, ${folded}) > 0`,
    sql`select person_id from profile
      where ${name} @@ ${piecesOf(folded)}::tsquery and strpos(lower(display_name), ${folded}) > 0`,
  ];
  if (!isFoldedAlike(search)) {
    parts.push(sql`select person_id from profile
      where ${name} @@ ${piecesOf(search)}::tsquery and strpos(display_name, ${search}) > 0`);
  }
  const bounded = parts.map((part) => sql`(${part} limit ${FEW + 1})`);
  const { rows } = await sql<{ id: number }>`${sql.join(bounded, sql` union `)}`.execute(tx.kysely);
  return rows.length > FEW ? null : rows.map(({ id }) => id);
}

/**
 * How many of the next people are meant. Of a common text the index would give thousands, of which a page needs fifty. Both tables
 * in order and no further than the sample: the profiles of so many people are among as many profiles.
 */
async function foundInSample(tx: Tx, search: string, after: number): Promise<number> {
  const { rows } = await sql<{ found: number }>`
    select count(*)::int as found
    from (select id, email from person where id > ${after} order by id limit ${SAMPLE}) p
      left join (select person_id, display_name from profile where person_id > ${after} order by person_id limit ${SAMPLE}) f
        on f.person_id = p.id
    where ${named(search)}`.execute(tx.kysely);
  return rows[0]?.found ?? 0;
}

/**
 * What must be among the pieces of every text that holds this one, as a tsquery: some of its pieces, from all over it; of a text
 * shorter than a piece that one begins with it.
 */
function piecesOf(text: string): string {
  const characters = Array.from(text);
  const last = characters.length - PIECE;
  if (last < 0) return `${lexeme(text)}:*`;
  const step = Math.max(1, last / (MAX_PIECES - 1));
  const starts = new Set<number>([last]);
  for (let at = 0; at < last; at += step) starts.add(Math.floor(at));
  const pieces = [...starts].map((at) => characters.slice(at, at + PIECE).join(''));
  return [...new Set(pieces)].map(lexeme).join(' & ');
}

/** One word of a tsquery, whatever is in it. */
function lexeme(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** The ids of all inactive people behind the id `after`, ascending, when they are few; null when they are many. */
export async function findFewInactive(tx: Tx, after: number): Promise<number[] | null> {
  const { rows } = await sql<{ id: number }>`
    select id from person where (blocked or not provider_active) and id > ${after} order by id limit ${FEW + 1}`.execute(
    tx.kysely,
  );
  return rows.length > FEW ? null : rows.map(({ id }) => id);
}
