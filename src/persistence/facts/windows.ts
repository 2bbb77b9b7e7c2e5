/**
 * Grants with a beginning and an end, in statements (docs/reference/time.md): which of them count, and until when that stays so. By the
 * clock of the database that executes the statement, which is the same throughout it.
 */

/** Whether the grant of that row counts now. */
export const counts = (row: string, now = 'statement_timestamp()'): string =>
  `(${row}.starts_at is null or ${row}.starts_at <= ${now}) and (${row}.ends_at is null or ${row}.ends_at > ${now})`;

/** When the grant of that row begins or ends next; null where it does neither any more. */
export const nextOf = (row: string, now = 'statement_timestamp()'): string =>
  `case when ${row}.starts_at > ${now} then ${row}.starts_at when ${row}.ends_at > ${now} then ${row}.ends_at end`;

/** How long until that instant, in ms, rounded down; null for none. */
export const leftUntil = (instant: string): string =>
  `floor(extract(epoch from (${instant}) - statement_timestamp()) * 1000)::bigint`;
