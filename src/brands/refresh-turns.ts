/** Refresh tokens of brands, used by one process at a time, and those that were given in their place (docs/reference/brands.md#smtp-by-oauth-20). */

import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/wait.ts';
import { type RefreshTurns, TokenFailure } from '../delivery/mail.ts';
import { endTurn, type Turn, takeTurn } from '../persistence/brands/refresh-turns.ts';
import type { Database } from '../persistence/database.ts';
import { renewedTokenContext, type Sealing } from './sealing.ts';

/** Takes a turn, null while it is somebody else's; ends it, with a refresh token to keep. */
export interface TurnStore {
  take(brandId: number, ms: number): Promise<Turn | null>;
  end(brandId: number, refreshToken: string | null): Promise<void>;
}

/** More than a request for a token takes, both ways of naming the client included. After that a process was ended within its turn. */
const TURN_MS = 20_000;
const ASK_AGAIN_MS = 100;
/** How long a database that does not answer is asked again to keep a refresh token. */
const KEEP_MS = 10_000;
/** A mail waits no longer. */
const WAIT_MS = 15_000;

interface Options {
  readonly store: TurnStore;
  readonly sealing: Sealing;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
}

export function refreshTurns({ store, sealing, clock }: Options): RefreshTurns {
  const took = async (brandId: number): Promise<Turn> => {
    const since = clock.monotonic();
    while (clock.monotonic() - since < WAIT_MS) {
      const turn = await store.take(brandId, TURN_MS);
      if (turn !== null) return turn;
      await sleep(clock, ASK_AGAIN_MS);
    }
    throw new TokenFailure('transient', 'token_busy', 'Another process was asking for an access token for too long.');
  };
  /** A refresh token that is not kept may be the only one that is left. */
  const ended = async (brandId: number, refreshToken: string | null): Promise<void> => {
    const since = clock.monotonic();
    for (;;) {
      try {
        return await store.end(brandId, refreshToken);
      } catch (error) {
        if (refreshToken === null || clock.monotonic() - since > KEEP_MS) throw error;
        await sleep(clock, ASK_AGAIN_MS);
      }
    }
  };
  return {
    async use(brandId, account, work) {
      const turn = await took(brandId);
      const context = renewedTokenContext(brandId, account);
      let kept: string | null = null;
      try {
        const renewed = turn.refreshToken === null ? null : sealing.openText(context, turn.refreshToken);
        const { answer, next } = await work(renewed ?? account.refreshToken);
        kept = next === null ? null : sealing.sealText(context, next);
        return answer;
      } finally {
        await ended(brandId, kept);
      }
    },
  };
}

/** The turns of all processes on a database. */
export function turnsOf(database: Pick<Database, 'once'>): TurnStore {
  return {
    take: async (brandId, ms) => (await database.once(takeTurn(brandId, ms)))[0] ?? null,
    end: async (brandId, refreshToken) => void (await database.once(endTurn(brandId, refreshToken))),
  };
}
