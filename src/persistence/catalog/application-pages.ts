import { type RawBuilder, sql } from 'kysely';
import type { Tx } from '../database.ts';
import { spellings } from '../people/text-pieces.ts';

/** By code; by name, ignoring case; or by the last change, the newest first. */
export type StoredOrder = 'code' | 'name' | 'updatedAt';

/** The place of an application in an order. Codes are unique, so each place is. */
export interface ApplicationPlace {
  key: string | number | Date;
  code: string;
}

export interface ApplicationFilter {
  /** Null: all of them. */
  ids: readonly number[] | null;
  /** Text in code, name or description, ignoring case; literal, never a pattern. */
  search: string | null;
}

interface OrderedApplications extends ApplicationFilter {
  order: StoredOrder;
  limit: number;
  /** Null: from the start. */
  after: ApplicationPlace | null;
}

interface PlacedApplication extends ApplicationPlace {
  id: number;
}

/** The next applications in an order. Reads every application, but only sorts out the first: there are thousands at most. */
export async function findApplicationsInOrder(
  { kysely }: Tx,
  { order, limit, after, ...filter }: OrderedApplications,
): Promise<PlacedApplication[]> {
  const { key, descending } = KEYS[order];
  const direction = descending ? sql`desc` : sql`asc`;
  const behind =
    after === null
      ? sql`true`
      : descending
        ? sql`(${key} < ${after.key} or ${key} = ${after.key} and a.code > ${after.code})`
        : sql`(${key}, a.code) > (${after.key}, ${after.code})`;
  const { rows } = await sql<PlacedApplication>`
    select a.id, a.code, ${key} as key from application a where ${fits(filter)} and ${behind}
    order by ${key} ${direction}, a.code limit ${limit}`.execute(kysely);
  return rows;
}

/** Every application that fits, by code: for orders that no column has. */
export async function findApplicationIds(
  { kysely }: Tx,
  filter: ApplicationFilter,
): Promise<readonly { id: number; code: string }[]> {
  // In one row: an embedded database takes longer to hand over rows than to find them.
  const { rows } = await sql<{ ids: number[]; codes: string[] }>`
    select coalesce(array_agg(f.id), '{}') as ids, coalesce(array_agg(f.code), '{}') as codes
    from (select a.id, a.code from application a where ${fits(filter)} order by a.code) f`.execute(kysely);
  const [{ ids, codes } = { ids: [], codes: [] }] = rows;
  return ids.map((id, at) => ({ id, code: codes[at] ?? '' }));
}

const KEYS: Readonly<Record<StoredOrder, { key: RawBuilder<unknown>; descending: boolean }>> = {
  code: { key: sql`a.code`, descending: false },
  name: { key: sql`lower(a.name)`, descending: false },
  updatedAt: { key: sql`a.updated_at`, descending: true },
};

function fits({ ids, search }: ApplicationFilter): RawBuilder<boolean> {
  const seen = ids === null ? sql`true` : sql`a.id = any(${ids}::bigint[])`;
  if (search === null) return sql<boolean>`${seen}`;
  const text = sql`lower(concat_ws(E'\n', a.code, a.name, a.description))`;
  const found = spellings(search).map((part) => sql`position(${part} in ${text}) > 0`);
  return sql<boolean>`(${seen} and (${sql.join(found, sql` or `)}))`;
}
