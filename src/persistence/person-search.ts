import { type RawBuilder, sql } from 'kysely';

/**
 * Whether a person `p` with a profile `f` is one that `search` means: text in the address or in the display name, case aside.
 * As text, never as a pattern: nothing in it has a meaning of its own. Null means everybody.
 */
export function named(search: string | null): RawBuilder<boolean> {
  if (search === null) return sql<boolean>`true`;
  const folded = search.toLowerCase();
  return sql<boolean>`(strpos(p.email, ${folded}) > 0 or strpos(lower(f.display_name), ${folded}) > 0
    or strpos(f.display_name, ${search}) > 0)`;
}
