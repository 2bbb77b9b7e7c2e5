import { sql } from 'kysely';
import type { Tx } from './database.ts';

/** Settings that the service stores for itself, by key. Values are plain JSON; readers check their shape. */
export async function getSetting(tx: Tx, key: string): Promise<unknown> {
  const row = await tx.kysely.selectFrom('setting').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value;
}

export async function putSetting(tx: Tx, key: string, value: unknown): Promise<void> {
  await tx.kysely
    .insertInto('setting')
    .values({ key, value: JSON.stringify(value) })
    .onConflict((oc) =>
      oc.column('key').doUpdateSet((eb) => ({ value: eb.ref('excluded.value'), updatedAt: sql<Date>`now()` })),
    )
    .execute();
}

/**
 * Stores `value` where `key` has none; true when it was stored. Of concurrent calls exactly one returns true,
 * and the others return only after its commit.
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

/** Removes the value of `key`. */
export async function dropSetting(tx: Tx, key: string): Promise<void> {
  await tx.kysely.deleteFrom('setting').where('key', '=', key).execute();
}

/**
 * Claims `key` for `holder` until it is released, or for `seconds`. Of concurrent calls exactly one returns true;
 * further ones return false.
 */
export async function claimLease(tx: Tx, key: string, holder: string, seconds: number): Promise<boolean> {
  const row = await tx.kysely
    .insertInto('setting')
    .values({ key, value: JSON.stringify(holder) })
    .onConflict((oc) =>
      oc
        .column('key')
        .doUpdateSet((eb) => ({ value: eb.ref('excluded.value'), updatedAt: sql<Date>`now()` }))
        .where('setting.updatedAt', '<', sql<Date>`now() - make_interval(secs => ${seconds})`),
    )
    .returning('key')
    .executeTakeFirst();
  return row !== undefined;
}

/** Lengthens a lease that `holder` still has; false where it has gone to another. */
export async function renewLease(tx: Tx, key: string, holder: string): Promise<boolean> {
  const { numAffectedRows } =
    await sql`update setting set updated_at = now() where key = ${key} and value = ${JSON.stringify(holder)}::jsonb`.execute(
      tx.kysely,
    );
  return numAffectedRows === 1n;
}

/** Releases a lease; false, without effect, where it expired and another holder has, or had, it since. */
export async function releaseLease(tx: Tx, key: string, holder: string): Promise<boolean> {
  const { numAffectedRows } =
    await sql`delete from setting where key = ${key} and value = ${JSON.stringify(holder)}::jsonb`.execute(tx.kysely);
  return numAffectedRows === 1n;
}

const SECRET_KEY = 'secretKey';

/** The secret key that is stored already; so that only the first start of an installation writes. */
export async function readSecretKey(tx: Tx): Promise<string | undefined> {
  const kept = await getSetting(tx, SECRET_KEY);
  return kept === undefined ? undefined : intact(kept);
}

function intact(kept: unknown): string {
  if (typeof kept !== 'string' || kept.length < 16) throw new Error('The stored secret key is damaged.');
  return kept;
}

/** The secret key of this installation: stores `proposed` if none exists yet. */
export async function keepSecretKey(tx: Tx, proposed: string): Promise<string> {
  return (await claimSetting(tx, SECRET_KEY, proposed)) ? proposed : intact(await getSetting(tx, SECRET_KEY));
}
