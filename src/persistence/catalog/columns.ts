import { type RawBuilder, sql } from 'kysely';

/** The column of a field, by rule: `emailEnabled` is `email_enabled`. */
export type Column<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Column<Rest>}`
  : '';

export function columnOf<Field extends string>(field: Field): Column<Field> {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as Column<Field>;
}

/** `a, b`, or `t.a, t.b`. */
export function listed(columns: readonly string[], table?: string): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql.ref(table === undefined ? column : `${table}.${column}`)));
}

/** `a = excluded.a, b = excluded.b`. */
export function replaced(columns: readonly string[]): RawBuilder<unknown> {
  return sql.join(columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`));
}
