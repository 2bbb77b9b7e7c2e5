/** Requests a minute and caller, kept in memory (contract 2: `http.rateLimit`, none by default). */

import { UsherError } from '../errors.ts';
import { onDemand } from '../on-demand.ts';

export interface RateLimit {
  /** Counts one request of `caller` (`user:<email>`, `key:<name>`, `ip:<address>`); throws RATE_LIMITED. */
  take(caller: string): Promise<void>;
}

export function createRateLimit(requestsPerMinute: number | null): RateLimit | null {
  if (requestsPerMinute === null) return null;
  const open = onDemand(async () => {
    const { RateLimiterMemory, RateLimiterRes } = await import('rate-limiter-flexible');
    return { limiter: new RateLimiterMemory({ points: requestsPerMinute, duration: 60 }), RateLimiterRes };
  });
  return {
    async take(caller) {
      const { limiter, RateLimiterRes } = await open();
      try {
        await limiter.consume(caller);
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        const retryAfter = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
        throw new UsherError('RATE_LIMITED', `More than ${requestsPerMinute} requests in a minute; wait a little.`, {
          retryAfter,
        });
      }
    },
  };
}
