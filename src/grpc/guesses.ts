/**
 * Wrong keys a minute, as at the gateway (docs/reference/http.md#limits): of a connection, and of an address where a proxy says whose
 * it is. The keys of a caller that has guessed more often are not examined any more: else a correct guess would be recognizable.
 */

import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { networkOf } from '../base/ip-address.ts';

const MINUTE_MS = 60_000;
/** Addresses that are remembered; the oldest are forgotten. */
const MOST_ADDRESSES = 10_000;

export interface GuessLimits {
  /** `http.rateLimit`. */
  readonly perMinute: number;
  /** `http.trustProxy`: the last entry of `x-forwarded-for` is the caller's own address. */
  readonly trustProxy: boolean;
}

/** Counts from the first guess on, for a minute. */
interface Count {
  guesses: number;
  until: number;
}

export class Guesses {
  readonly #limits: GuessLimits;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #byAddress = new Map<string, Count>();

  constructor(limits: GuessLimits, clock: Pick<Clock, 'monotonic'>) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Those of a connection. */
  open(): ConnectionGuesses {
    const own: Count = { guesses: 0, until: 0 };
    const countsOf = (forwardedFor: string | undefined): Count[] => [own, ...this.#ofAddress(forwardedFor)];
    return {
      check: (forwardedFor) => {
        for (const count of countsOf(forwardedFor)) this.#check(count);
      },
      guessed: (forwardedFor) => {
        this.#remember(forwardedFor);
        for (const count of countsOf(forwardedFor)) this.#add(count);
      },
    };
  }

  #ofAddress(forwardedFor: string | undefined): Count[] {
    const address = this.#addressOf(forwardedFor);
    const count = address === null ? undefined : this.#byAddress.get(address);
    return count === undefined ? [] : [count];
  }

  #addressOf(forwardedFor: string | undefined): string | null {
    if (!this.#limits.trustProxy || forwardedFor === undefined) return null;
    return networkOf(forwardedFor.slice(forwardedFor.lastIndexOf(',') + 1).trim());
  }

  #remember(forwardedFor: string | undefined): void {
    const address = this.#addressOf(forwardedFor);
    if (address === null || this.#byAddress.has(address)) return;
    for (const oldest of this.#byAddress.keys()) {
      if (this.#byAddress.size < MOST_ADDRESSES) break;
      this.#byAddress.delete(oldest);
    }
    this.#byAddress.set(address, { guesses: 0, until: 0 });
  }

  #check({ guesses, until }: Count): void {
    const left = until - this.#clock.monotonic();
    const { perMinute } = this.#limits;
    if (guesses <= perMinute || left <= 0) return;
    throw new UsherError('RATE_LIMITED', `More than ${perMinute} wrong keys in a minute; wait a little.`, {
      retryAfter: Math.ceil(left / 1000),
    });
  }

  #add(count: Count): void {
    const now = this.#clock.monotonic();
    if (now >= count.until) {
      count.guesses = 0;
      count.until = now + MINUTE_MS;
    }
    count.guesses++;
  }
}

/** The wrong keys of a connection. `forwardedFor` is the call's `x-forwarded-for`. */
export interface ConnectionGuesses {
  /** Throws RATE_LIMITED where too many were wrong. */
  check(forwardedFor: string | undefined): void;
  guessed(forwardedFor: string | undefined): void;
}

/** Whether a key was wrong, and not merely too weak. Of a call without a key it says nothing. */
export function isWrongKey(error: unknown): boolean {
  return error instanceof UsherError && error.code === 'UNAUTHENTICATED';
}

export function isGuesser(error: unknown): boolean {
  return error instanceof UsherError && error.code === 'RATE_LIMITED';
}
