import { type RawBuilder, sql } from 'kysely';
import type { Tx } from './database.ts';
import { PreparedFamily, planByIndex } from './driver/prepared.ts';

/** By what they ask for one text each, whoever is looked for: planning takes longer than finding. */
const STATEMENTS = new PreparedFamily('people');

/** How long the pieces are that the index holds; at the end of a text they are shorter. */
const PIECE = 3;
/** So many characters of a text have one piece to find it by; more pieces find hardly fewer people, and each takes its time. */
const PIECE_EVERY = 4;
const MAX_PIECES = 5;
/** At so many places all over the order people are asked whether a text is common; a prime, so that nothing regular in the order meets it. */
const PLACES = 43;
/** So many at each: to come to a place takes longer than to read on there. */
const AT_A_PLACE = 3;
/** With so many of them, three in a hundred, it is: the index of pieces would find thousands, and a walk soon finds a page. */
const COMMON = 4;

/** What one page costs at most; each some milliseconds of a server. */
export interface PageBounds {
  /** So many people are examined by their text alone. */
  examined: number;
  /** So many, where each is looked up in other tables: members, the inactive, people of applications. */
  probed: number;
  /** Members of so many applications are examined, each of which takes a look at every table; of more, people are asked instead. */
  apps: number;
}

const BOUNDS: PageBounds = { examined: 4000, probed: 1000, apps: 50 };

/** Rows that make a person one of those asked about: of one of these tables, in one of these applications (ids). */
export interface Members {
  tables: readonly ('user_role' | 'resource_override' | 'app_preference' | 'app_admin')[];
  apps: readonly number[];
  /** Holders of this role only; of `user_role` alone. */
  role?: number;
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

/** A page, which may be short. */
export interface FoundPeople {
  /** Ascending. */
  ids: number[];
  /** The id behind which the next page of a short one begins; null when the page is full, or nobody is left to examine. */
  behind: number | null;
}

/**
 * The people that a filter lets through, ascending. A page costs some milliseconds at most, however many people there are: each way to
 * it examines so many, in order the inactive, the members or everybody, by the index of pieces those whom a rare text means. Where none
 * fills the page or comes to the end, as when text and members are common both and hardly ever meet, the page is short, and ends
 * behind the last person examined.
 */
export async function findPeople(
  tx: Tx,
  filter: PeopleFilter,
  page: PeoplePage,
  bounds: PageBounds = BOUNDS,
): Promise<FoundPeople> {
  await planByIndex(tx);
  let furthest = { ids: [] as number[], behind: page.after };
  for (const way of waysOf(filter, bounds)) {
    const found = await way(tx, filter, page, bounds);
    if (found === null) continue;
    const { ids, behind } = found;
    if (behind === null) return { ids, behind };
    // Each finds everybody up to where it ends.
    if (behind > furthest.behind) furthest = { ids, behind };
    // Those whom a rare text means are all that there are to examine.
    if (way === lookUp) break;
  }
  return furthest;
}

/** Null: no way for this text. */
type Way = (tx: Tx, filter: PeopleFilter, page: PeoplePage, bounds: PageBounds) => Promise<FoundPeople | null>;

/** What is tried until a page is full or whole. */
function waysOf({ search, active, members }: PeopleFilter, { apps }: PageBounds): Way[] {
  const inactive: Way[] = active === false ? [walkInactive] : [];
  const named: Way[] = search === null ? [] : [lookUp];
  // Of everybody, a text that is not rare soon fills a page.
  if (members === null) return active === false ? [...inactive, ...named] : [walkEverybody, ...named];
  const ways = [...inactive, ...named];
  if (members.apps.length <= apps) ways.push((tx, ...rest) => walkMembers(tx, members, ...rest));
  // Of several applications a few members each are examined only.
  if (members.apps.length > 1) ways.push(walkEverybody);
  return ways;
}

/** People in order. */
async function walkEverybody(
  tx: Tx,
  filter: PeopleFilter,
  page: PeoplePage,
  { examined, probed }: PageBounds,
): Promise<FoundPeople> {
  const { search, members } = filter;
  // Of members, whoever is meant is looked up in their tables, too.
  const size = search === null ? probed : Math.ceil(members === null ? examined : examined / 2);
  const people = (most: number): RawBuilder<unknown> => sql`
    select person_id, searched from person_search where person_id > ${page.after} order by person_id limit ${most}`;
  const isMeant = search === null ? sql`true` : meant(search);
  return await walk(tx, { next: people, size, fitting: sql`${isMeant} and ${fits(filter, EXAMINED)}` }, page);
}

/** The inactive in order, by an index of them alone. */
async function walkInactive(
  tx: Tx,
  filter: PeopleFilter,
  page: PeoplePage,
  { probed }: PageBounds,
): Promise<FoundPeople> {
  const inactive = (most: number): RawBuilder<unknown> => sql`
    select p.id as person_id from person p where ${activeIs(false)} and p.id > ${page.after} order by p.id limit ${most}`;
  const fitting = sql`${named(filter)} and ${fits({ ...filter, active: null }, EXAMINED)}`;
  return await walk(tx, { next: inactive, size: probed, fitting }, page);
}

/** Members in order, of each application as many as come to it. */
async function walkMembers(
  tx: Tx,
  { tables, apps, role }: Members,
  filter: PeopleFilter,
  page: PeoplePage,
  { probed }: PageBounds,
): Promise<FoundPeople> {
  const { search, active } = filter;
  const which = role === undefined ? sql`true` : sql`m.role_id = ${role}`;
  // Each table's in order and limited first: a planner might read all members otherwise.
  const next = (most: number): RawBuilder<unknown> => {
    const parts = tables.map(
      (table) => sql`(select distinct m.person_id from ${sql.table(table)} m
        where m.application_id = a.id and ${which} and m.person_id > ${page.after} order by m.person_id limit ${most})`,
    );
    return sql`select distinct c.person_id from (${sql.join(parts, sql` union all `)}) c order by c.person_id limit ${most}`;
  };
  const size = search === null && active === null ? page.limit : Math.ceil(probed / Math.max(1, apps.length));
  const fitting = sql`${named(filter)} and ${fits({ ...filter, members: null }, EXAMINED)}`;
  return await walk(tx, { next, once: true, size, fitting, apps }, page);
}

/** Whom a walk examines: the `size` next ones, of each of the applications (`a.id` in `next`), if there are any. */
interface Walk {
  next: (most: number) => RawBuilder<unknown>;
  /** Whether they are read but once, because it takes more than to read on in a table: then only their ids are known. */
  once?: boolean;
  size: number;
  fitting: RawBuilder<unknown>;
  apps?: readonly number[];
}

async function walk(
  tx: Tx,
  { next, once = false, size, fitting, apps = [0] }: Walk,
  { limit }: PeoplePage,
): Promise<FoundPeople> {
  const read = once ? sql`with c as materialized (${next(size + 1)})` : sql``;
  const first = once ? (most: number) => sql`select person_id from c order by person_id limit ${most}` : next;
  // Whoever comes first of those not examined is asked for only where the page is not full.
  const rows = await STATEMENTS.rows(
    tx,
    sql<FoundPeople>`
    select w.ids, w.behind from unnest(${apps}::bigint[]) as a (id) cross join lateral (${read}
      select e.ids, case when cardinality(e.ids) < ${limit} then
        (select s.person_id - 1 from (${first(size + 1)}) s order by s.person_id offset ${size}) end as behind
      from (select array(
        select s.person_id from (${first(size)}) s where ${fitting} order by s.person_id limit ${limit}) as ids offset 0) e) w`,
  );
  const behind = rows.reduce<number>((least, row) => Math.min(least, row.behind ?? Infinity), Infinity);
  const ids = [...new Set(rows.flatMap((row) => row.ids))]
    .filter((id) => id <= behind)
    .toSorted((one, other) => one - other)
    .slice(0, limit);
  return { ids, behind: ids.length === limit || behind === Infinity ? null : behind };
}

/**
 * Those whom a rare text means, in order; null when they are many. By the index of pieces: a text that stands in another has all its
 * pieces there.
 */
async function lookUp(
  tx: Tx,
  filter: PeopleFilter,
  { limit, after }: PeoplePage,
  { examined, probed }: PageBounds,
): Promise<FoundPeople | null> {
  const { search, members, active } = filter;
  if (search === null) return null;
  const isPlain = members === null && active === null;
  const few = isPlain ? examined : Math.ceil(examined / 2);
  if (await isCommon(tx, search, { after, few })) return null;
  // Of members, each is looked up in several tables.
  const one = members === null ? probed : Math.ceil(probed / 2);
  const size = isPlain ? few : Math.min(few, one);
  // A condition of pieces for each spelling: of two in one, the pieces of every row found would be made anew. As a subquery, so that
  // all texts have one plan; by that index alone, none of which would need all people by their ids.
  const parts = spellings(search).map(
    (text) => sql`(select s.person_id from person_search s
      where text_pieces(s.searched) @@ (select ${piecesOf(text)}::tsquery) and ${meant(search)} and s.person_id + 0 > ${after}
      limit ${few + 1})`,
  );
  // In order before it is asked whether they fit: no more are asked than the page needs.
  const [row] = await STATEMENTS.rows(
    tx,
    sql<{ isMore: boolean; ids: number[]; behind: number | null }>`
    with m as materialized (${sql.join(parts, sql` union `)})
    select n.total > ${few} as "isMore",
      array(select s.person_id from (select person_id from m where n.total <= ${few} order by person_id limit ${size}) s
        where ${fits(filter, EXAMINED)} order by s.person_id limit ${limit}) as ids,
      (select person_id - 1 from m order by person_id offset ${size} limit 1) as behind
    from (select count(*) as total from m) n`,
  );
  if (row === undefined || row.isMore) return null;
  return { ids: row.ids, behind: row.ids.length === limit ? null : row.behind };
}

/**
 * Whether more than `few` are meant by `search`, or so many that a walk soon finds a page, as some from all over the people behind
 * `after` tell: those next may all be otherwise.
 */
async function isCommon(tx: Tx, search: string, { after, few }: { after: number; few: number }): Promise<boolean> {
  const [row] = await STATEMENTS.rows(
    tx,
    sql<{ common: boolean }>`
    select count(distinct s.person_id) >= ${COMMON}
      or count(*) > 1 and count(*) * max(s.reach) > ${few * PLACES * AT_A_PLACE}::bigint as common
    from (select l.reach, n.person_id, n.searched
      from (select max(person_id) - ${after}::bigint as reach from person_search) l
        cross join generate_series(0, ${sql.lit(PLACES - 1)}) g
        cross join lateral (select n.person_id, n.searched from person_search n
          where n.person_id > ${after}::bigint + l.reach * g / ${PLACES} order by n.person_id limit ${sql.lit(AT_A_PLACE)}) n) s
    where ${meant(search)}`,
  );
  return row?.common === true;
}

/** Whether somebody is meant by `search`: his text holds it. */
function meant(search: string, searched = sql`s.searched`): RawBuilder<boolean> {
  const texts = spellings(search).map((text) => sql`${searched} like ${`%${text.replace(/[\\%_]/g, '\\$&')}%`}`);
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

function isOf({ tables, apps, role }: Members, id: RawBuilder<unknown>): RawBuilder<boolean> {
  const which = role === undefined ? sql`true` : sql`m.role_id = ${role}`;
  const [only] = apps;
  // Of several not by the index, which an older PostgreSQL would ask for each of them.
  const app = apps.length === 1 ? sql`m.application_id = ${only}` : sql`m.application_id + 0 = any(${apps}::bigint[])`;
  const parts = tables.map(
    (table) => sql`coalesce((
      select true from ${sql.table(table)} m where m.person_id = ${id} and ${app} and ${which} limit 1), false)`,
  );
  return sql<boolean>`(${sql.join(parts, sql` or `)})`;
}

function activeIs(active: boolean): RawBuilder<boolean> {
  return active
    ? sql<boolean>`(p.provider_active and not p.blocked)`
    : sql<boolean>`(p.blocked or not p.provider_active)`;
}

const EXAMINED = sql`s.person_id`;

/** Whether the person examined is meant, where the walk has no text at hand. */
function named({ search }: PeopleFilter): RawBuilder<boolean> {
  if (search === null) return sql<boolean>`true`;
  return sql<boolean>`(select ${meant(search, sql`n.searched`)} from person_search n where n.person_id = ${EXAMINED})`;
}

/**
 * What must be among the pieces of every text that holds this one, as a tsquery: some of its pieces, from all over it; of a text
 * shorter than a piece that one begins with it.
 */
function piecesOf(text: string): string {
  const characters = Array.from(text);
  const last = characters.length - PIECE;
  if (last < 0) return `${lexeme(text)}:*`;
  const steps = last === 0 ? 0 : Math.max(1, Math.min(MAX_PIECES, Math.ceil(characters.length / PIECE_EVERY)) - 1);
  const starts = Array.from({ length: steps + 1 }, (_, step) => Math.floor((last * step) / Math.max(1, steps)));
  const pieces = starts.map((at) => characters.slice(at, at + PIECE).join(''));
  return [...new Set(pieces)].map(lexeme).join(' & ');
}

/** One word of a tsquery, whatever is in it. */
function lexeme(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
