import type { Tx } from '../database.ts';

export interface ApplicationRow {
  id: number;
  code: string;
  name: string;
}

/** For reads. */
export async function findApplication(tx: Tx, code: string): Promise<ApplicationRow | undefined> {
  return await tx.kysely
    .selectFrom('application')
    .select(['id', 'code', 'name'])
    .where('code', '=', code)
    .executeTakeFirst();
}

/** Held against deletion until the transaction ends. */
export async function holdApplication(tx: Tx, code: string): Promise<ApplicationRow | undefined> {
  return await tx.kysely
    .selectFrom('application')
    .select(['id', 'code', 'name'])
    .where('code', '=', code)
    .forKeyShare()
    .executeTakeFirst();
}
