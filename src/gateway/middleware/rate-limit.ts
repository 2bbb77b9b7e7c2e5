/** Requests per minute and caller, counted in memory (docs/reference/http.md#limits: `http.rateLimit`, none by default). */

import { UsherError } from '../../base/errors.ts';
import { lazy } from '../../base/lazy.ts';

export interface RateLimit {
  /** Counts one request of `caller` (`user:<email>`, `key:<name>`, `ip:<address>`); throws RATE_LIMITED. */
  take(caller: string): Promise<void>;
  /** Counts a wrong internal key or webhook secret from an address; throws RATE_LIMITED past the limit. */
  guessed(address: string): Promise<void>;
  /**
   * Throws RATE_LIMITED while an address has guessed more often than the limit. Its secret is then not even examined, or a
   * correct guess would be recognizable.
   */
  refuseGuesser(address: string): Promise<void>;
}

export function createRateLimit(requestsPerMinute: number | null): RateLimit | null {
  if (requestsPerMinute === null) return null;
  const open = lazy(async () => {
    const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible');
    return { limiter: new RateLimiterMemory({ points: requestsPerMinute, duration: 60 }), RateLimiterRes };
  });
  const refusal = (msBeforeNext: number): UsherError =>
    new UsherError('RATE_LIMITED', `More than ${requestsPerMinute} requests in a minute; wait a little.`, {
      retryAfter: Math.max(1, Math.ceil(msBeforeNext / 1000)),
    });
  const take = async (caller: string): Promise<void> => {
    const { limiter, RateLimiterRes } = await open();
    try {
      await limiter.consume(caller);
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      throw refusal(refused.msBeforeNext);
    }
  };
  return {
    take,
    guessed: (address) => take(`guess:${address}`),
    async refuseGuesser(address) {
      const { limiter } = await open();
      const counted = await limiter.get(`guess:${address}`);
      if (counted !== null && counted.consumedPoints > requestsPerMinute) throw refusal(counted.msBeforeNext);
    },
  };
}

/**
 * Counts a refused caller against its address. Wrong secrets have a count of their own: callers that sent none, and pages
 * open to anybody, must not lock out the backends of the same address.
 */
export async function countRefused(
  rateLimit: RateLimit,
  address: string,
  bringsSecret: boolean,
  error: unknown,
): Promise<void> {
  const isGuess = bringsSecret && error instanceof UsherError && error.code === 'UNAUTHENTICATED';
  await (isGuess ? rateLimit.guessed(address) : rateLimit.take(`ip:${address}`));
}
