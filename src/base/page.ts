/** Pages of long lists, as features read them and doors show them. */

/** What is asked for. */
export interface PageQuery {
  readonly limit: number;
  /** Only what comes behind this id in the list's order; null for the first page. */
  readonly after: number | null;
}

/** One page: at most the limit's items, and where many are looked through for few, fewer. */
export interface Page<T, Place = number> {
  readonly items: readonly T[];
  /** Where the next page begins behind; null on the last one. */
  readonly next: Place | null;
}

/** The same question for one row more, which tells whether there are more. */
export function oneMore<Query extends { readonly limit: number }>(query: Query): Query {
  return { ...query, limit: query.limit + 1 };
}

/** A page out of rows that were read with `oneMore`; `behind` is where a page ends that is short because more would cost too much. */
export function pageOf<Row extends { readonly id: number }>(
  rows: readonly Row[],
  { limit }: { readonly limit: number },
  behind: number | null = null,
): Page<Row> {
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : behind };
}
