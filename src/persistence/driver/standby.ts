import { sql } from 'kysely';
import type { Tx } from '../database.ts';

/** Whether the database is a standby, which takes no writes: never of an embedded one. */
export async function isStandby(tx: Tx): Promise<boolean> {
  const { rows } = await sql<{ standby: boolean }>`select pg_is_in_recovery() as standby`.execute(tx.kysely);
  return rows[0]?.standby === true;
}
