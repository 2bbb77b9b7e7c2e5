import { type RawBuilder, sql } from 'kysely';

/** The columns of these fields: `a, b`, or `t.a, t.b`. */
export function listed(fields: readonly string[], table?: string): RawBuilder<unknown> {
  return sql.join(fields.map((field) => sql.ref(table === undefined ? field : `${table}.${field}`)));
}

/** `a = excluded.a, b = excluded.b`. */
export function replaced(fields: readonly string[]): RawBuilder<unknown> {
  return sql.join(fields.map((field) => sql`${sql.ref(field)} = ${sql.ref(`excluded.${field}`)}`));
}
