import type { Statement, Tx } from '../database.ts';
import { asOnly } from '../driver/dialect.ts';
import { Prepared } from '../driver/prepared.ts';

/** $1 the names. */
const NOTE = new Prepared<never>(
  'note_key_uses',
  `insert into internal_key_use (name, last_used_at) select name, now() from unnest($1::text[]) as u (name) order by name
    on conflict (name) do update set last_used_at = greatest(internal_key_use.last_used_at, excluded.last_used_at)`,
);

/** Notes that the keys of these names were used just now. */
export function noteKeyUses(names: readonly string[]): Statement<never> {
  return asOnly(NOTE.with(names));
}

/** When each key was last used, by name. */
export async function readKeyUses(tx: Tx): Promise<ReadonlyMap<string, Date>> {
  const rows = await tx.kysely.selectFrom('internal_key_use').select(['name', 'lastUsedAt']).execute();
  return new Map(rows.map(({ name, lastUsedAt }) => [name, lastUsedAt]));
}
