import type { Tx } from '../database.ts';

/** The ids of an application's roles or permissions by their codes; unknown codes are left out. */
export async function idsByCode(
  tx: Tx,
  table: 'role' | 'permission',
  app: string,
  codes: readonly string[],
): Promise<Map<string, number>> {
  if (codes.length === 0) return new Map();
  const rows = await tx.kysely
    .selectFrom(table)
    .select(['id', 'code'])
    .where('applicationId', '=', (eb) => eb.selectFrom('application').select('id').where('code', '=', app))
    .where('code', 'in', [...new Set(codes)])
    .execute();
  return new Map(rows.map(({ id, code }) => [code, id]));
}
