import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { PreparedFamily, planByIndex } from '../driver/prepared.ts';
import { beginsWith, fewPeople, isMatch, type PeopleFilter } from './person-search.ts';

const STATEMENTS = new PreparedFamily('people_in_order');

/** By address; or by a date, the newest first and no date last. */
export type PeopleOrder = 'email' | 'createdAt' | 'lastLoginAt';

/** A person's place in an order. */
export interface PersonPlace {
  /** The address, or the date; null for none, behind all dates. */
  key: string | Date | null;
  /** The greater one first, among people of one date. */
  id: number;
}

export interface OrderedPage {
  order: PeopleOrder;
  /** Logins count in these applications (ids); null: in all. */
  apps: readonly number[] | null;
  limit: number;
  /** Null: from the start. */
  after: PersonPlace | null;
}

/** The limits of one page; each costs some milliseconds of the server. */
interface OrderBounds {
  /** Up to this many people who may match are read whole and sorted. */
  few: number;
  /** Entries of an index that are examined where more may match. */
  examined: number;
}

const BOUNDS: OrderBounds = { few: 2000, examined: 2000 };

export interface OrderedPeople {
  places: PersonPlace[];
  /** The place after which the page following a short one begins; null when the page is full, or nobody is left to examine. */
  behind: PersonPlace | null;
}

/**
 * The matching people in that order. A page costs some milliseconds at most, however many people there are: where few may
 * match they are sorted, else everybody is examined along an index, up to a bound. Then a page may be short.
 */
export async function findPeopleInOrder(
  tx: Tx,
  filter: PeopleFilter,
  page: OrderedPage,
  bounds: OrderBounds = BOUNDS,
): Promise<OrderedPeople> {
  await planByIndex(tx);
  const few = await fewPeople(tx, filter, bounds.few);
  if (few !== null) return { places: await sorted(tx, filter, page, few), behind: null };
  const found: OrderedPeople = { places: [], behind: null };
  for (const streams of phasesOf(filter, page)) {
    const limit = page.limit - found.places.length;
    const { places, behind } = await walk(tx, filter, { ...page, limit }, { streams, examined: bounds.examined });
    found.places.push(...places);
    if (behind !== null) return { ...found, behind };
    if (found.places.length === page.limit) break;
  }
  return found;
}

/** Those of `ids` who match, sorted. */
async function sorted(
  tx: Tx,
  filter: PeopleFilter,
  { order, apps, limit, after }: OrderedPage,
  ids: readonly number[],
): Promise<PersonPlace[]> {
  const key = { email: EMAIL, createdAt: CREATED, lastLoginAt: lastLogin(apps) }[order];
  const direction = order === 'email' ? sql`o.key` : sql`o.key desc nulls last, o.id desc`;
  return await STATEMENTS.rows(
    tx,
    sql<PersonPlace>`
    select o.key, o.id from (select s.person_id as id, ${key} as key from unnest(${ids}::bigint[]) as s (person_id)
      where ${isMatch(filter)} offset 0) o
    where ${isBehind(order, after)} order by ${direction} limit ${limit}`,
  );
}

const EMAIL = sql`(select p.email from person p where p.id = s.person_id)`;
const CREATED = sql`coalesce((select f.created_at from profile f where f.person_id = s.person_id),
  (select p.created_at from person p where p.id = s.person_id))`;

function lastLogin(apps: readonly number[] | null): RawBuilder<unknown> {
  return sql`(select max(l.last_login_at) from app_preference l where l.person_id = s.person_id and ${among(apps)})`;
}

/** Whether the login `l` counts. */
function among(apps: readonly number[] | null): RawBuilder<unknown> {
  return apps === null ? sql`true` : sql`l.application_id = any(${apps}::bigint[])`;
}

function isBehind(order: PeopleOrder, after: PersonPlace | null): RawBuilder<unknown> {
  if (after === null) return sql`true`;
  const { key, id } = after;
  if (order === 'email') return sql`o.key > ${key}::text`;
  if (key === null) return sql`o.key is null and o.id < ${id}`;
  return sql`(o.key is null or (o.key, o.id) < (${key}::timestamptz, ${id}::bigint))`;
}

/** People along an index: `person_id` and `key`, in order, of everybody after a place. */
interface Stream {
  /** The next `most` entries. */
  entries: (most: number) => RawBuilder<unknown>;
  /** Whether the entry `s` is the place of its person, who may have several. */
  isPlace: RawBuilder<unknown>;
}

/** The streams of an order: those of one phase are merged, and all of them come before the next phase. */
function phasesOf({ emailPrefix }: PeopleFilter, { order, apps, after }: OrderedPage): Stream[][] {
  if (order === 'email') return [[byEmail(emailPrefix, after)]];
  const dated = after?.key === null ? [] : [order === 'createdAt' ? created(after) : [byLogin(apps, after)]];
  return order === 'createdAt' ? dated : [...dated, [withoutLogin(apps, after)]];
}

function byEmail(prefix: string | undefined, after: PersonPlace | null): Stream {
  const from = after === null ? sql`true` : sql`p.email > ${after.key}::text`;
  const which = prefix === undefined ? sql`true` : beginsWith(prefix);
  const entries = (most: number) => sql`
    select p.id as person_id, p.email as key from person p where ${from} and ${which} order by p.email limit ${most}`;
  return { entries, isPlace: sql`true` };
}

/** Profiles; and people without one, by the first mention of their addresses. */
function created(after: PersonPlace | null): Stream[] {
  const profiles = (most: number) => sql`
    select f.person_id, f.created_at as key from profile f where ${isBefore(sql`(f.created_at, f.person_id)`, after)}
    order by f.created_at desc, f.person_id desc limit ${most}`;
  const people = (most: number) => sql`
    select p.id as person_id, p.created_at as key from person p where ${isBefore(sql`(p.created_at, p.id)`, after)}
    order by p.created_at desc, p.id desc limit ${most}`;
  return [
    { entries: profiles, isPlace: sql`true` },
    { entries: people, isPlace: sql`(select true from profile f where f.person_id = s.person_id) is null` },
  ];
}

/**
 * Logins. A person's place is the newest of theirs that counts, at any entry of its moment: the last one that a page examines may
 * lie between two of them.
 */
function byLogin(apps: readonly number[] | null, after: PersonPlace | null): Stream {
  const entries = (most: number) => sql`
    select l.person_id, l.last_login_at as key from app_preference l
    where l.last_login_at is not null and ${isBefore(sql`(l.last_login_at, l.person_id)`, after)}
    order by l.last_login_at desc, l.person_id desc limit ${most}`;
  return { entries, isPlace: sql`s.key = ${lastLogin(apps)}` };
}

function withoutLogin(apps: readonly number[] | null, after: PersonPlace | null): Stream {
  const from = after?.key === null ? sql`p.id < ${after.id}` : sql`true`;
  const entries = (most: number) => sql`
    select p.id as person_id, null::timestamptz as key from person p where ${from} order by p.id desc limit ${most}`;
  return { entries, isPlace: sql`${lastLogin(apps)} is null` };
}

function isBefore(place: RawBuilder<unknown>, after: PersonPlace | null): RawBuilder<unknown> {
  return after === null ? sql`true` : sql`${place} < (${after.key}::timestamptz, ${after.id}::bigint)`;
}

/** Examines the streams of a phase, and merges what it finds. */
async function walk(
  tx: Tx,
  filter: PeopleFilter,
  { limit, order }: OrderedPage,
  { streams, examined }: { streams: readonly Stream[]; examined: number },
): Promise<OrderedPeople> {
  const before = order === 'email' ? isEarlierAddress : isNewer;
  const direction = order === 'email' ? sql`s.key, s.person_id` : sql`s.key desc, s.person_id desc`;
  const found: PersonPlace[] = [];
  let behind: PersonPlace | null = null;
  for (const { entries, isPlace } of streams) {
    // The subquery has this order already: entries are examined one by one, until the page is full.
    const places = await STATEMENTS.rows(
      tx,
      sql<PersonPlace>`select distinct on (s.key, s.person_id) s.key, s.person_id as id from (${entries(examined)}) s
        where ${isPlace} and ${isMatch(filter)} order by ${direction} limit ${limit}`,
    );
    found.push(...places);
    if (places.length === limit) continue;
    const [last, more] = await STATEMENTS.rows(
      tx,
      sql<PersonPlace>`select s.key, s.person_id as id from (${entries(examined + 1)}) s offset ${examined - 1}`,
    );
    // Places after the end of any stream are not known yet.
    if (last !== undefined && more !== undefined && (behind === null || before(last, behind))) behind = last;
  }
  const end = behind;
  const places = found
    .filter((place) => end === null || !before(end, place))
    .toSorted((a, b) => (before(a, b) ? -1 : 1));
  return { places: places.slice(0, limit), behind: places.length >= limit ? null : behind };
}

function isEarlierAddress(one: PersonPlace, other: PersonPlace): boolean {
  return String(one.key) < String(other.key);
}

function isNewer(one: PersonPlace, other: PersonPlace): boolean {
  const [at, otherAt] = [Number(one.key), Number(other.key)];
  return at > otherAt || (at === otherAt && one.id > other.id);
}
