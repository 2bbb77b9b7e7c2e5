import type { Clock } from '../base/clock.ts';
import { UsherError, unavailable } from '../base/errors.ts';
import type { RevisionToken } from './types.ts';

/** A question that waits for facts: how it is answered once they are there, else null; and how the missing ones are loaded. */
export type Wait<T> = [
  options: { minRevision?: RevisionToken; signal?: AbortSignal },
  answer: (now: number, asked: number) => T | null,
  load: (now: number, asked: number) => Promise<void>[],
  attempts?: number,
];

/**
 * `work`, or a rejection as soon as the caller gives up: its `signal.reason` where that is a UsherError, else
 * DEADLINE_EXCEEDED. The work itself goes on: others may wait for it.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(abortion(signal));
    if (signal.aborted) {
      abort();
      // Nobody here waits for its failure any longer.
      work.catch(() => undefined);
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    const settled = () => signal.removeEventListener('abort', abort);
    work.then(
      (value) => {
        settled();
        resolve(value);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}

/** Before the engine has read the log for the first time, and once it is closed. */
export function notServing(): UsherError {
  return unavailable('The service is starting or shutting down; try again shortly.');
}

function abortion(signal: AbortSignal): UsherError {
  if (signal.reason instanceof UsherError) return signal.reason;
  return new UsherError('DEADLINE_EXCEEDED', 'The answer did not arrive in time; try again.', { cause: signal.reason });
}

/** `work`, or UNAVAILABLE after `ms`, so that nothing waits for ever, even if the source never settles. */
export function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(unavailable('The database does not answer.')));
    work.then(resolve, reject).finally(cancel);
  });
}

/** The error for a caller: anything but a UsherError (a defect of the source) is trouble with the database, too. */
export function toUnavailable(error: unknown): UsherError {
  return error instanceof UsherError ? error : unavailable('The database gave an invalid answer.', error);
}
