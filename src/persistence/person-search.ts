import { type RawBuilder, sql } from 'kysely';
import type { Tx } from './database.ts';

/** So many people are looked at first: of a text that is not rare, they fill a page. */
const WINDOW = 4000;
/** More than this share of the people meant are to be members for going on in order; else those meant are looked up. */
const OFTEN = 0.02;
/** So many of those meant are compared with the members at first. */
const SAMPLE = 400;
/** So many members are simply looked at. */
const FEW_MEMBERS = 1000;
/** So many people are looked up by the index of pieces; when more are meant, people are walked in order. */
const FEW = 40_000;
/** How long the pieces are that the index holds; at the end of a text they are shorter. */
const PIECE = 3;
/** More pieces of one text find hardly fewer people. */
const MAX_PIECES = 5;

/** Rows that make a person one of those asked about: of one of these tables, in one of these applications (ids). */
export interface Members {
  tables: readonly ('user_role' | 'resource_override' | 'app_preference' | 'app_admin')[];
  apps: readonly number[];
  /** Holders of this role only; of `user_role` alone. */
  role?: number;
  /** People who are known to be so: the tables are asked about others. */
  known?: readonly number[];
}

export interface PeopleFilter {
  /** Text in the address or the display name, case aside; as text, never as a pattern. */
  search: string | null;
  active: boolean | null;
  /** Null: everybody. */
  members: Members | null;
}

/** `limit` people at most, behind the id `after`. */
export interface PeoplePage {
  limit: number;
  after: number;
}

/**
 * The ids of the people that a filter lets through, ascending. Whatever is rare is looked up, and what is common soon fills a page:
 * few members are looked at one by one; a few thousand people in order, of whom a common text means enough; those whom a rare text
 * means, by the index of pieces. Only where text and members are common both and hardly ever meet is there nothing but to look on,
 * along the rarer of the two.
 */
export async function findPeople(tx: Tx, filter: PeopleFilter, page: PeoplePage): Promise<number[]> {
  const { search, active, members } = filter;
  if (members !== null) {
    if (search === null && active !== false) return await walkMembers(tx, members, filter, page);
    return await findMembers(tx, members, filter, page);
  }
  if (search === null) return await walkEverybody(tx, filter, page);
  return (await amongInactive(tx, filter, page)) ?? (await searchEverybody(tx, search, filter, page));
}

async function findMembers(tx: Tx, members: Members, filter: PeopleFilter, page: PeoplePage): Promise<number[]> {
  const next = await nextMembers(tx, members, page.after);
  if (next.tables.length === 0) return await among(tx, next.known, filter, page);
  const narrowed = { ...filter, members: { ...members, ...next } };
  const inactive = await amongInactive(tx, narrowed, page);
  if (inactive !== null) return inactive;
  if (filter.search === null) return await walkMembers(tx, members, filter, page);
  const { meant, fitting } = await sample(tx, filter.search, narrowed, page);
  if (fitting.length === page.limit) return fitting;
  // Ids stand for places: how far the first of each reach says how thick they lie.
  const isCommon = meant.length === SAMPLE;
  if (isCommon && next.spacing > spacing(meant)) return await walkMembers(tx, members, filter, page);
  const isOften = fitting.length >= OFTEN * SAMPLE;
  const few = isCommon && isOften ? null : await lookUp(tx, filter.search, narrowed, page);
  return few ?? (await walkOn(tx, filter.search, narrowed, page));
}

async function searchEverybody(tx: Tx, search: string, filter: PeopleFilter, page: PeoplePage): Promise<number[]> {
  const first = await walkNext(tx, search, filter, page, WINDOW);
  if (first.length === page.limit) return first;
  const rest = { limit: page.limit - first.length, after: first.at(-1) ?? page.after };
  return [...first, ...((await lookUp(tx, search, filter, rest)) ?? (await walkOn(tx, search, filter, rest)))];
}

/** Those of the inactive whom the filter lets through; null where it asks for others, or when they are many. */
async function amongInactive(tx: Tx, filter: PeopleFilter, page: PeoplePage): Promise<number[] | null> {
  if (filter.active !== false) return null;
  const inactive = await fewInactive(tx, page.after);
  return inactive === null ? null : await among(tx, inactive, filter, page);
}

/** The mean distance of ascending ids. */
function spacing(ids: readonly number[]): number {
  return ids.length < 2 ? Infinity : ((ids.at(-1) ?? 0) - (ids[0] ?? 0)) / (ids.length - 1);
}

/** Whether somebody is meant by `search`: a text `s.searched` holds it. */
function meant(search: string): RawBuilder<boolean> {
  const texts = spellings(search).map((text) => sql`s.searched like ${`%${text.replace(/[\\%_]/g, '\\$&')}%`}`);
  return sql<boolean>`(${sql.join(texts, sql` or `)})`;
}

/** In small letters; and as it is, where a database's small letters may not be JavaScript's: other alphabets, a Turkish I. */
function spellings(search: string): string[] {
  const folded = search.toLowerCase();
  return /^[ -HJ-~]*$/.test(search) || folded === search ? [folded] : [folded, search];
}

/** All that is asked of the person `id` beside the text. Scalar subqueries: a planner would join, and read a table for a page. */
function fits({ active, members }: PeopleFilter, id: RawBuilder<unknown>): RawBuilder<boolean> {
  const state = active === null ? [] : [sql`(select ${activeIs(active)} from person p where p.id = ${id})`];
  return sql<boolean>`(${sql.join([sql`true`, ...state, ...(members === null ? [] : [isOf(members, id)])], sql` and `)})`;
}

function isOf({ tables, apps, role, known = [] }: Members, id: RawBuilder<unknown>): RawBuilder<boolean> {
  const which = role === undefined ? sql`true` : sql`m.role_id = ${role}`;
  const [only] = apps;
  const app = apps.length === 1 ? sql`m.application_id = ${only}` : sql`m.application_id = any(${apps}::bigint[])`;
  const parts = tables.map(
    (table) => sql`coalesce((
      select true from ${sql.table(table)} m where m.person_id = ${id} and ${app} and ${which} limit 1), false)`,
  );
  if (known.length > 0) parts.unshift(sql`${id} = any(${known}::bigint[])`);
  return sql<boolean>`(${sql.join(parts, sql` or `)})`;
}

function activeIs(active: boolean): RawBuilder<boolean> {
  return active
    ? sql<boolean>`(p.provider_active and not p.blocked)`
    : sql<boolean>`(p.blocked or not p.provider_active)`;
}

const SEARCHED = sql`s.person_id`;

/** Those of the next `size` people in order who are meant and fit; a page of them at most. */
async function walkNext(
  tx: Tx,
  search: string,
  filter: PeopleFilter,
  { limit, after }: PeoplePage,
  size: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select s.person_id as id from (${nextPeople(after, size)}) s
    where ${meant(search)} and ${fits(filter, SEARCHED)} order by s.person_id limit ${limit}`.execute(tx.kysely);
  return rows.map(({ id }) => id);
}

function nextPeople(after: number, size: number): RawBuilder<unknown> {
  return sql`select person_id, searched from person_search where person_id > ${after} order by person_id limit ${size}`;
}

/** People in order until the page is full, or nobody is left. */
async function walkOn(tx: Tx, search: string, filter: PeopleFilter, { limit, after }: PeoplePage): Promise<number[]> {
  const found: number[] = [];
  let behind = after;
  for (let size = 8 * WINDOW; ; size *= 2) {
    found.push(...(await walkNext(tx, search, filter, { limit: limit - found.length, after: behind }, size)));
    if (found.length === limit) return found;
    const { rows } = await sql<{ end: number }>`
      select max(n.person_id) as end from (${nextPeople(behind, size)}) n having count(*) = ${size}`.execute(tx.kysely);
    const [last] = rows;
    if (last === undefined) return found;
    behind = last.end;
  }
}

/** The first of the next people who are meant, and those of them who fit: a page of them at most. */
async function sample(
  tx: Tx,
  search: string,
  filter: PeopleFilter,
  { limit, after }: PeoplePage,
): Promise<{ meant: number[]; fitting: number[] }> {
  const { rows } = await sql<{ meant: number[]; fitting: number[] }>`
    select m.meant, array(select s.person_id from unnest(m.meant) with ordinality as s (person_id, place)
      where ${fits(filter, SEARCHED)} limit ${limit}) as fitting
    from (select array(select s.person_id from (${nextPeople(after, WINDOW)}) s
      where ${meant(search)} order by s.person_id limit ${SAMPLE}) as meant) m`.execute(tx.kysely);
  return rows[0] ?? { meant: [], fitting: [] };
}

/**
 * The page, when few people are meant; null when they are many. By the index of pieces: a text that stands in another has all its
 * pieces there.
 */
async function lookUp(
  tx: Tx,
  search: string,
  filter: PeopleFilter,
  { limit, after }: PeoplePage,
): Promise<number[] | null> {
  // A condition of pieces for each spelling: of two in one, the pieces of every row found would be made anew.
  const parts = spellings(search).map(
    (text) => sql`(select s.person_id from person_search s
      where text_pieces(s.searched) @@ ${piecesOf(text)}::tsquery and ${meant(search)} and s.person_id > ${after}
      limit ${FEW + 1})`,
  );
  // In order before it is asked whether they fit: no more are asked than the page needs.
  const { rows } = await sql<{ isMore: boolean; ids: number[] }>`
    with m as materialized (${sql.join(parts, sql` union `)})
    select n.total > ${FEW} as "isMore",
      array(select s.person_id from (select person_id from m where n.total <= ${FEW} order by person_id offset 0) s
        where ${fits(filter, SEARCHED)} limit ${limit}) as ids
    from (select count(*) as total from m) n`.execute(tx.kysely);
  const [row] = rows;
  return row === undefined || row.isMore ? null : row.ids;
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

/** Those of `ids` that the filter lets through. */
async function among(
  tx: Tx,
  ids: readonly number[],
  filter: PeopleFilter,
  { limit, after }: PeoplePage,
): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: number }>`
    select s.person_id as id from person_search s
    where s.person_id = any(${ids}::bigint[]) and s.person_id > ${after}
      and ${filter.search === null ? sql`true` : meant(filter.search)} and ${fits(filter, SEARCHED)}
    order by s.person_id limit ${limit}`.execute(tx.kysely);
  return rows.map(({ id }) => id);
}

/** The ids of all inactive people behind the id `after`, when they are few; null when they are many. */
async function fewInactive(tx: Tx, after: number): Promise<number[] | null> {
  const { rows } = await sql<{ id: number }>`
    select p.id from person p where ${activeIs(false)} and p.id > ${after} order by p.id limit ${FEW_MEMBERS + 1}`.execute(
    tx.kysely,
  );
  return rows.length > FEW_MEMBERS ? null : rows.map(({ id }) => id);
}

/** The members behind `after` by the tables that have few; the other tables, and how far from each other the first of the thickest are. */
async function nextMembers(
  tx: Tx,
  { tables, apps, role }: Members,
  after: number,
): Promise<{ known: number[]; tables: Members['tables']; spacing: number }> {
  const few = FEW_MEMBERS + 1;
  const parts = tables.map(
    (table) => sql`select ${table}::text as "table", array(
      select c.person_id from unnest(${apps}::bigint[]) as a (id)
        cross join lateral (${membersOf(table, role, after, null, few)}) c limit ${few}) as ids`,
  );
  const { rows } = await sql<{ table: string; ids: number[] }>`${sql.join(parts, sql` union all `)}`.execute(tx.kysely);
  const many = new Map(rows.filter(({ ids }) => ids.length === few).map(({ table, ids }) => [table, ids]));
  return {
    known: [...new Set(rows.flatMap(({ table, ids }) => (many.has(table) ? [] : ids)))],
    tables: tables.filter((table) => many.has(table)),
    // Of several applications one after the other, so nothing is known.
    spacing: apps.length > 1 ? 0 : Math.min(...Array.from(many.values(), spacing)),
  };
}

/** The next members of the application `a.id` by one table, in order. */
function membersOf(
  table: Members['tables'][number],
  role: number | undefined,
  after: number,
  fitting: RawBuilder<unknown> | null,
  limit: number,
): RawBuilder<unknown> {
  return sql`select distinct m.person_id from ${sql.table(table)} m
    where m.application_id = a.id and ${role === undefined ? sql`true` : sql`m.role_id = ${role}`} and m.person_id > ${after}
      and ${fitting ?? sql`true`}
    order by m.person_id limit ${limit}`;
}

/** Members in order. Of each application the index gives the next few: the work follows the page and the applications. */
async function walkMembers(
  tx: Tx,
  { tables, apps, role }: Members,
  { search, active }: PeopleFilter,
  { limit, after }: PeoplePage,
): Promise<number[]> {
  const id = sql`m.person_id`;
  const named = search === null ? [] : [sql`(select ${meant(search)} from person_search s where s.person_id = ${id})`];
  const fitting = sql.join([...named, fits({ search, active, members: null }, id)], sql` and `);
  const parts = tables.map((table) => sql`(${membersOf(table, role, after, fitting, limit)})`);
  const { rows } = await sql<{ id: number }>`
    select distinct c.person_id as id
    from unnest(${apps}::bigint[]) as a (id) cross join lateral (${sql.join(parts, sql` union all `)}) c
    order by c.person_id limit ${limit}`.execute(tx.kysely);
  return rows.map(({ id: one }) => one);
}

async function walkEverybody(tx: Tx, { active }: PeopleFilter, { limit, after }: PeoplePage): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select p.id from person p where p.id > ${after} and ${active === null ? sql`true` : activeIs(active)}
    order by p.id limit ${limit}`.execute(tx.kysely);
  return rows.map(({ id }) => id);
}
