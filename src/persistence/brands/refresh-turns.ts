/**
 * Whose turn it is to use a brand's refresh token (docs/reference/brands.md#smtp-by-oauth-20). A token endpoint may give a new one for each use, and take the old one
 * for stolen when it comes again: so one process at a time uses it, and the next one finds what was given.
 */

import type { Statement } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';

/** $1 the brand, $2 for how many milliseconds at most. No row while it is somebody else's turn. */
export const TAKE_TURN_SQL = `
  insert into brand_refresh as r (brand_id, taken_until)
  select id, clock_timestamp() + $2::int * interval '1 millisecond' from brand where id = $1::bigint
  on conflict (brand_id) do update set taken_until = excluded.taken_until
    where r.taken_until is null or r.taken_until < clock_timestamp()
  returning refresh_token as "refreshToken"`;

/** $1 the brand, $2 the sealed refresh token to keep; null leaves the one that is there. */
export const END_TURN_SQL = `
  update brand_refresh set taken_until = null, refresh_token = coalesce($2::text, refresh_token)
   where brand_id = $1::bigint`;

/** The refresh token that was given last, sealed; null for none. */
export interface Turn {
  readonly refreshToken: string | null;
}

const TAKE = new Prepared<Turn>('take_refresh_turn', TAKE_TURN_SQL);
const END = new Prepared<never>('end_refresh_turn', END_TURN_SQL);

export function takeTurn(brandId: number, ms: number): Statement<Turn> {
  return TAKE.with(brandId, ms);
}

export function endTurn(brandId: number, refreshToken: string | null): Statement<never> {
  return END.with(brandId, refreshToken);
}
