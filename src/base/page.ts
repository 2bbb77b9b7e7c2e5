/** Pages of long lists. */

/** A request for one page. */
export interface PageQuery {
  readonly limit: number;
  /** Only items that come after this id in the list's order; null for the first page. */
  readonly after: number | null;
}

/** One page: at most the limit's items, and fewer where the search had to stop early. */
export interface Page<T, Place = number> {
  readonly items: readonly T[];
  /** Where the next page starts (exclusive); null on the last page. */
  readonly next: Place | null;
}

/** The same query for one row more, which shows whether a next page exists. */
export function oneMore<Query extends { readonly limit: number }>(query: Query): Query {
  return { ...query, limit: query.limit + 1 };
}

/** A page out of rows that were read with `oneMore`; `behind` is the end of a page that was cut short because more would cost too much. */
export function pageOf<Row extends { readonly id: number }>(
  rows: readonly Row[],
  { limit }: { readonly limit: number },
  behind: number | null = null,
): Page<Row> {
  const items = rows.slice(0, limit);
  return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : behind };
}
