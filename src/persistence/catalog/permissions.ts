import type { Tx } from '../database.ts';

/** Those of the application's permissions that `ids` name, by id. */
export async function findPermissions(
  tx: Tx,
  app: number,
  ids: readonly number[],
): Promise<Map<number, { code: string; tiered: boolean; global: boolean }>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.kysely
    .selectFrom('permission')
    .select(['id', 'code', 'tiered', 'global'])
    .where('application_id', '=', app)
    .where('id', 'in', [...new Set(ids)])
    .execute();
  return new Map(rows.map(({ id, ...permission }) => [id, permission]));
}
