/** Retry times (docs/reference/notifications.md#retries): exponential backoff with jitter, at most eight attempts over about a day. */

export const MAX_ATTEMPTS = 8;

const FIRST_MS = 4000;
const FACTOR = 5;

/** The pause after the given attempt, counted from 1, without jitter: 4 s, 20 s, 100 s, 8 min, 42 min, 3.5 h, 17 h. */
export function pauseAfter(attempt: number): number {
  return FIRST_MS * FACTOR ** (attempt - 1);
}

/**
 * Milliseconds until the next attempt; null after the last one. At least `retryAfterMs`, which the server asked for. `random`, in
 * [0, 1), moves the pause by up to a fifth, so that deliveries that failed together are not retried together.
 */
export function nextAttemptIn(attempt: number, random: number, retryAfterMs = 0): number | null {
  if (attempt >= MAX_ATTEMPTS) return null;
  return Math.max(retryAfterMs, pauseAfter(attempt) * (0.8 + 0.4 * random));
}

/** The pauses after each attempt but the last. */
export const PAUSES_MS: readonly number[] = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, at) => pauseAfter(at + 1));

const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Milliseconds that a `Retry-After` header asks for, at most a day; null for an unreadable one (RFC 9110 10.2.3). */
export function readRetryAfter(value: string | undefined, now: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}
