import type { Tx } from '../database.ts';

/** The id of the application, held against deletion until the transaction ends; null when there is none. */
export async function holdApplication(tx: Tx, code: string): Promise<number | null> {
  const row = await tx.kysely
    .selectFrom('application')
    .select('id')
    .where('code', '=', code)
    .forKeyShare()
    .executeTakeFirst();
  return row?.id ?? null;
}

/** The id of the application; null when there is none. For reads. */
export async function findApplicationId(tx: Tx, code: string): Promise<number | null> {
  const row = await tx.kysely.selectFrom('application').select('id').where('code', '=', code).executeTakeFirst();
  return row?.id ?? null;
}

/** When the application was made; undefined when there is none. */
export async function findApplicationBirth(tx: Tx, code: string): Promise<Date | undefined> {
  const row = await tx.kysely
    .selectFrom('application')
    .select('created_at')
    .where('code', '=', code)
    .executeTakeFirst();
  return row?.created_at;
}
