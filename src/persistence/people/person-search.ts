import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { PreparedFamily, planByIndex } from '../driver/prepared.ts';
import { folded } from './folding.ts';
import { isOf, type Members, type NamedMembers, nextMembers } from './members.ts';
import { cut, piecesOf } from './text-pieces.ts';

/** One text for each shape of the question, independent of the values: planning takes longer than finding. */
const STATEMENTS = new PreparedFamily('people');

/** Sample places, spread over all people, that estimate whether a text is common; a prime, so that no regularity of the order coincides. */
const PLACES = 43;
/** People read at each place: reaching a place takes longer than reading on. */
const AT_A_PLACE = 3;
/** This many matches in the sample, three in a hundred, make a text common: the index would return thousands, and a walk soon fills a page. */
const COMMON = 4;

/** The limits of one page; each costs some milliseconds of the server. */
export interface PageBounds {
  /** People examined by their text alone. */
  examined: number;
  /** People examined with look-ups in other tables: members, the inactive, people of applications. */
  probed: number;
  /** Up to this many applications are scanned member by member; beyond that the scan runs over people. */
  apps: number;
}

const BOUNDS: PageBounds = { examined: 4000, probed: 1000, apps: 50 };

export interface PeopleFilter {
  /** Text in the address or a name, folded (folding.ts); literal, never a pattern. */
  search: string | null;
  active: boolean | null;
  /** Null: everybody. */
  members: Members | null;
  /** People must match each of these, too; only looked up, never listed. */
  also?: readonly Members[];
  /** Addresses that begin with this; of ASCII characters, as addresses are. */
  emailPrefix?: string;
}

/** At most `limit` people, after the id `after`. */
export interface PeoplePage {
  limit: number;
  after: number;
}

/** A page, which may be short. */
export interface FoundPeople {
  /** Ascending. */
  ids: number[];
  /** The id after which the page following a short one begins; null when the page is full, or nobody is left to examine. */
  behind: number | null;
}

/**
 * The matching people, ascending. A page costs some milliseconds at most, however many people there are: each strategy examines a
 * bounded number, in order the inactive, the members or everybody, or by trigram the people who match a rare text. Where none
 * fills the page or reaches the end, for example when text and members are both common and hardly ever coincide, the page is
 * short, and ends at the last person examined.
 */
export async function findPeople(
  tx: Tx,
  filter: PeopleFilter,
  page: PeoplePage,
  bounds: PageBounds = BOUNDS,
): Promise<FoundPeople> {
  await planByIndex(tx);
  let furthest: { ids: number[]; behind: number } = { ids: [], behind: page.after };
  for (const way of waysOf(filter, bounds)) {
    const found = await way(tx, filter, page, bounds);
    if (found === null) continue;
    const { ids, behind } = found;
    if (behind === null) return { ids, behind };
    // Each finds everybody up to its end.
    if (behind > furthest.behind) furthest = { ids, behind };
    // The people who match a rare text are all that need examining.
    if (way === lookUp) break;
  }
  return furthest;
}

/** Null: this strategy does not fit the text. */
type Way = (tx: Tx, filter: PeopleFilter, page: PeoplePage, bounds: PageBounds) => Promise<FoundPeople | null>;

/** The strategies, tried until a page is full or complete. */
function waysOf({ search, active, members }: PeopleFilter, { apps: most }: PageBounds): Way[] {
  const inactive: Way[] = active === false ? [walkInactive] : [];
  const named: Way[] = search === null ? [] : [lookUp];
  // Without members, a text that is not rare soon fills a page.
  if (members === null) return active === false ? [...inactive, ...named] : [walkEverybody, ...named];
  const ways = [...inactive, ...named];
  const { apps } = members;
  if (apps !== null && apps.length <= most) ways.push((tx, ...rest) => walkMembers(tx, { ...members, apps }, ...rest));
  // With several applications, only a few members of each are examined.
  if (apps === null || apps.length > 1) ways.push(walkEverybody);
  return ways;
}

/** Examines people in order. */
async function walkEverybody(
  tx: Tx,
  filter: PeopleFilter,
  page: PeoplePage,
  { examined, probed }: PageBounds,
): Promise<FoundPeople> {
  const { search, members } = filter;
  // With members, each match is also looked up in their tables.
  const size = search === null ? probed : Math.ceil(members === null ? examined : examined / 2);
  const people = (most: number): RawBuilder<unknown> => sql`
    select person_id, searched from person_search where person_id > ${page.after} order by person_id limit ${most}`;
  const byText = search === null ? sql`true` : matches(search);
  return await walk(tx, { next: people, size, fitting: sql`${byText} and ${fits(filter, EXAMINED)}` }, page);
}

/** Examines the inactive in order, by an index of them alone. */
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

/** Examines members in order, an equal number of each application. */
async function walkMembers(
  tx: Tx,
  members: NamedMembers,
  filter: PeopleFilter,
  page: PeoplePage,
  { probed }: PageBounds,
): Promise<FoundPeople> {
  const { search, active, also = [], emailPrefix } = filter;
  const { apps } = members;
  const next = (most: number): RawBuilder<unknown> => nextMembers(members, page.after, most);
  const isPlain = search === null && active === null && also.length === 0 && emailPrefix === undefined;
  const size = isPlain ? page.limit : Math.ceil(probed / Math.max(1, apps.length));
  const fitting = sql`${named(filter)} and ${fits(filter, EXAMINED)}`;
  return await walk(tx, { next, once: true, size, fitting, apps }, page);
}

/** The people that a walk examines: the next `size`, for each of the applications (`a.id` in `next`), if any. */
interface Walk {
  next: (most: number) => RawBuilder<unknown>;
  /** Reads them only once, where that costs more than reading on in a table: then only their ids are known. */
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
  // The first person not examined is needed only where the page is not full.
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
 * The people who match a rare text, in order; null when there are many. By the trigram index: a text contained in another has all
 * its trigrams there.
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
  const { isCommon, frequent } = await sampled(tx, search, { after, few });
  if (isCommon) return null;
  // With members, each person is looked up in several tables.
  const one = members === null ? probed : Math.ceil(probed / 2);
  const size = isPlain ? few : Math.min(few, one);
  // Ordered before the membership test: only as many are tested as the page needs.
  const [row] = await STATEMENTS.rows(
    tx,
    sql<{ isMore: boolean; ids: number[]; behind: number | null }>`
    with m as materialized (${withPieces(search, frequent, { after, most: few + 1 })})
    select n.total > ${few} as is_more,
      array(select s.person_id from (select person_id from m where n.total <= ${few} order by person_id limit ${size}) s
        where ${fits(filter, EXAMINED)} order by s.person_id limit ${limit}) as ids,
      (select person_id - 1 from m order by person_id offset ${size} limit 1) as behind
    from (select count(*) as total from m) n`,
  );
  if (row === undefined || row.isMore) return null;
  return { ids: row.ids, behind: row.ids.length === limit ? null : row.behind };
}

/**
 * At most `most` people after `after` whose text contains `search`, by the index. As a subquery, so that all texts share one plan;
 * restricted to that index, because another plan would read all people by id.
 */
function withPieces(
  search: string,
  frequent: ReadonlySet<string>,
  { after, most }: { after: number; most: number },
): RawBuilder<unknown> {
  return sql`(select s.person_id from person_search s
    where text_pieces(s.searched) @@ (select ${piecesOf(comparable(search), frequent)}::tsquery) and ${matches(search)}
      and s.person_id + 0 > ${after}
    limit ${most})`;
}

/** The most applications whose members `fewPeople` counts. */
const MAX_COUNTED_APPS = 20;

/**
 * Everybody who may match, when one of the conditions alone leaves at most `few` people: the text, being inactive, or being
 * a member. Null when each leaves more. The other conditions are not tested here.
 */
export async function fewPeople(tx: Tx, filter: PeopleFilter, few: number): Promise<number[] | null> {
  const { search, active, members } = filter;
  const atMost = async (people: RawBuilder<unknown>): Promise<number[] | null> => {
    const [row] = await STATEMENTS.rows(
      tx,
      sql<{ ids: number[] }>`select array(select distinct c.person_id from (${people}) c limit ${few + 1}) as ids`,
    );
    return row === undefined || row.ids.length > few ? null : row.ids;
  };
  if (search !== null) {
    const { isCommon, frequent } = await sampled(tx, search, { after: 0, few });
    const found = isCommon ? null : await atMost(withPieces(search, frequent, { after: 0, most: few + 1 }));
    if (found !== null) return found;
  }
  if (active === false) {
    const found = await atMost(sql`select p.id as person_id from person p where ${activeIs(false)} limit ${few + 1}`);
    if (found !== null) return found;
  }
  if (members === null || members.apps === null || members.apps.length > MAX_COUNTED_APPS) return null;
  const { apps } = members;
  return await atMost(sql`select n.person_id from unnest(${apps}::bigint[]) as a (id)
    cross join lateral (${nextMembers({ ...members, apps }, 0, few + 1)}) n`);
}

/** What a sample of all people says of a text. */
interface Sampled {
  /** Whether more than `few` match it, or enough that a walk soon fills a page. */
  isCommon: boolean;
  /** Those of its pieces that most people have, such as those of a domain. */
  frequent: ReadonlySet<string>;
}

/** Of all people after `after`: the next ones alone may not be representative. */
async function sampled(tx: Tx, search: string, { after, few }: { after: number; few: number }): Promise<Sampled> {
  const matching = sql`count(*) filter (where ${matches(search)})`;
  const [row] = await STATEMENTS.rows(
    tx,
    sql<{ isCommon: boolean | null; frequent: string[] }>`
    with s as materialized (select l.reach, n.person_id, n.searched
      from (select max(person_id) - ${after}::bigint as reach from person_search) l
        cross join generate_series(0, ${sql.lit(PLACES - 1)}) g
        cross join lateral (select n.person_id, n.searched from person_search n
          where n.person_id > ${after}::bigint + l.reach * g / ${PLACES} order by n.person_id limit ${sql.lit(AT_A_PLACE)}) n)
    select count(distinct s.person_id) filter (where ${matches(search)}) >= ${COMMON}
        or ${matching} > 1 and ${matching} * max(s.reach) > ${few * PLACES * AT_A_PLACE}::bigint as is_common,
      array(select p.piece from unnest(${cut(comparable(search))}::text[]) as p (piece)
        where (select count(*) filter (where strpos(s.searched, p.piece) > 0) * 3 > count(*) * 2 from s)) as frequent
    from s`,
  );
  return { isCommon: row?.isCommon === true, frequent: new Set(row?.frequent) };
}

/** Whether a person's text contains `search`. */
function matches(search: string, searched = sql`s.searched`): RawBuilder<boolean> {
  return sql<boolean>`(${searched} like ${`%${comparable(search).replace(/[\\%_]/g, '\\$&')}%`})`;
}

/** The search as texts are stored. Marks alone would fold to nothing, which everybody has; by themselves nobody has them. */
function comparable(search: string): string {
  return folded(search) || search;
}

/** The conditions on the person `id` beside the text. Scalar subqueries: the planner would join, and read a table for a page. */
function fits({ active, members, also = [], emailPrefix }: PeopleFilter, id: RawBuilder<unknown>): RawBuilder<boolean> {
  const conditions = [sql`true`];
  if (active !== null) conditions.push(sql`(select ${activeIs(active)} from person p where p.id = ${id})`);
  if (emailPrefix !== undefined)
    conditions.push(sql`(select ${beginsWith(emailPrefix)} from person p where p.id = ${id})`);
  conditions.push(...[...(members === null ? [] : [members]), ...also].map((group) => isOf(group, id)));
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/** Whether the address of `p` begins with that: by the order of its index, as no address holds a character behind `~`. */
export function beginsWith(emailPrefix: string): RawBuilder<boolean> {
  return sql<boolean>`(p.email >= ${emailPrefix}::text and p.email < ${`${emailPrefix}\u007f`}::text)`;
}

function activeIs(active: boolean): RawBuilder<boolean> {
  return active
    ? sql<boolean>`(p.provider_active and not p.blocked)`
    : sql<boolean>`(p.blocked or not p.provider_active)`;
}

const EXAMINED = sql`s.person_id`;

/** Whether the person `s.person_id` matches in everything. */
export function isMatch(filter: PeopleFilter): RawBuilder<boolean> {
  return sql<boolean>`${named(filter)} and ${fits(filter, EXAMINED)}`;
}

/** Whether the examined person matches, where the walk has no text at hand. */
function named({ search }: PeopleFilter): RawBuilder<boolean> {
  if (search === null) return sql<boolean>`true`;
  return sql<boolean>`(select ${matches(search, sql`n.searched`)} from person_search n where n.person_id = ${EXAMINED})`;
}
