import { sql } from 'kysely';
import type { Tx } from './database.ts';

/** What this database remembers about itself, by key. Values are plain JSON; who reads one checks its shape. */
export async function getSetting(tx: Tx, key: string): Promise<unknown> {
  const row = await tx.kysely.selectFrom('setting').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value;
}

export async function putSetting(tx: Tx, key: string, value: unknown): Promise<void> {
  await tx.kysely
    .insertInto('setting')
    .values({ key, value: JSON.stringify(value) })
    .onConflict((oc) =>
      oc.column('key').doUpdateSet((eb) => ({ value: eb.ref('excluded.value'), updated_at: sql<Date>`now()` })),
    )
    .execute();
}

/**
 * Keeps `value` where nothing is kept under `key` yet; true when it was kept. Of several at once exactly one is told true,
 * and the others only after its commit.
 */
export async function claimSetting(tx: Tx, key: string, value: unknown): Promise<boolean> {
  const row = await tx.kysely
    .insertInto('setting')
    .values({ key, value: JSON.stringify(value) })
    .onConflict((oc) => oc.column('key').doNothing())
    .returning('key')
    .executeTakeFirst();
  return row !== undefined;
}

/** Forgets what is kept under `key`. */
export async function dropSetting(tx: Tx, key: string): Promise<void> {
  await tx.kysely.deleteFrom('setting').where('key', '=', key).execute();
}

/**
 * Claims `key` for `holder`, so that others are told false until it is released, or for so many seconds. Of several at once
 * exactly one is told true.
 */
export async function claimLease(tx: Tx, key: string, holder: string, seconds: number): Promise<boolean> {
  const row = await tx.kysely
    .insertInto('setting')
    .values({ key, value: JSON.stringify(holder) })
    .onConflict((oc) =>
      oc
        .column('key')
        .doUpdateSet((eb) => ({ value: eb.ref('excluded.value'), updated_at: sql<Date>`now()` }))
        .where('setting.updated_at', '<', sql<Date>`now() - make_interval(secs => ${seconds})`),
    )
    .returning('key')
    .executeTakeFirst();
  return row !== undefined;
}

/** Gives a claim back; false, and nothing happens, where it ran out and is another's now, or was. */
export async function releaseLease(tx: Tx, key: string, holder: string): Promise<boolean> {
  const { numAffectedRows } =
    await sql`delete from setting where key = ${key} and value = ${JSON.stringify(holder)}::jsonb`.execute(tx.kysely);
  return numAffectedRows === 1n;
}

const SECRET_KEY = 'secretKey';

/** The secret key of this installation: `proposed` where none is kept yet. */
export async function keepSecretKey(tx: Tx, proposed: string): Promise<string> {
  const kept = (await claimSetting(tx, SECRET_KEY, proposed)) ? proposed : await getSetting(tx, SECRET_KEY);
  if (typeof kept !== 'string' || kept.length < 16) throw new Error('The kept secret key is damaged.');
  return kept;
}
