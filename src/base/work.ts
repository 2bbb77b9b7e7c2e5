/**
 * For whom something is done. A gateway says so where a request begins, and what holds a scarce resource asks here, so that reads
 * end with their caller without a parameter in every function between (docs/reference/http.md#callers-that-leave).
 *
 * Only what serves that one caller may be ended: what makes something for several of them says `forEverybody`.
 */

import { AsyncLocalStorage } from 'node:async_hooks';

export interface Work {
  /** Aborted when nobody waits for the result any longer; its reason is what the work then rejects with. */
  readonly signal: AbortSignal;
  /** Whether it has ended. What it started and did not wait for goes on, and is for everybody. */
  readonly isOver: boolean;
  /** Runs what needs a connection of the database, when this kind of work may have one. */
  connected?<T>(run: () => Promise<T>): Promise<T>;
}

const WORK = new AsyncLocalStorage<Work | undefined>();

/** Runs `fn` for that caller. */
export function workFor<T>(work: Work, fn: () => T): T {
  return WORK.run(work, fn);
}

/** Runs `fn` for nobody in particular: its result is shared, or it goes on when a caller has left. */
export function forEverybody<T>(fn: () => T): T {
  return WORK.getStore() === undefined ? fn() : WORK.run(undefined, fn);
}

/** For whom this is done; undefined for nobody in particular. */
export function currentWork(): Work | undefined {
  const work = WORK.getStore();
  return work === undefined || work.isOver ? undefined : work;
}
