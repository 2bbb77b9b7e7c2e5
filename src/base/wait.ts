/** Waiting by an injected clock. */

import type { Clock } from './clock.ts';

/** Resolves after that many milliseconds, or as soon as `signal` is aborted. */
export async function sleep(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => resolve();
  const cancel = clock.after(ms, wake);
  signal?.addEventListener('abort', wake, { once: true });
  await promise;
  signal?.removeEventListener('abort', wake);
  cancel();
}

/** Waits for `work`, but no longer than that many milliseconds. Rejects as `work` does. */
export async function within(clock: Pick<Clock, 'after'>, ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  try {
    await Promise.race([work, late]);
  } finally {
    cancel();
  }
}

/** Why a signal was aborted: nobody aborts with anything but an error. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  return signal?.reason as Error;
}

/** `work`, or a rejection with `reason` as soon as `signal` is aborted. The work itself goes on: others may wait for it. */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  reason: () => Error = () => reasonOf(signal),
): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(reason());
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
