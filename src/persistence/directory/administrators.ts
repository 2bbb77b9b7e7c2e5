import type { Tx } from '../database.ts';
import { isCounting } from '../windows.ts';

/** Whether the address is an administrator of any application. */
export async function isAppAdmin(tx: Tx, email: string): Promise<boolean> {
  const row = await tx.kysely
    .selectFrom('person as p')
    .innerJoin('app_admin as a', 'a.personId', 'p.id')
    .select('p.id')
    .where('p.email', '=', email)
    .where(isCounting('a'))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
