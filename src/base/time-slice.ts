/**
 * Long work in short pieces. Whoever answers checks shares a thread with all else that a process does: what has much to do at once
 * does a piece in a turn of the event loop, and what waits meanwhile is answered between two.
 */

import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';

/** A piece ends once it has taken so long. */
export const PIECE_MS = 1;

/** Turns of the event loop for all who stand in it: so many of them in each, first come, first served. */
export class Line {
  readonly #width: number;
  #last: Promise<void> = Promise.resolve();
  /** Who may still go with the last. */
  #room = 0;

  constructor(width = 1) {
    this.#width = width;
  }

  turn(): Promise<void> {
    if (this.#room > 0) {
      this.#room--;
      return this.#last;
    }
    this.#room = this.#width - 1;
    this.#last = this.#last.then(() => setImmediate());
    return this.#last;
  }
}

/** For what requests have to do: many at once then take no more of a turn than one. */
const REQUESTS = new Line();

/** Resolves in a later turn. */
export function turn(): Promise<void> {
  return REQUESTS.turn();
}

/** Work that is done piece by piece. */
export class Pieces {
  readonly #most: number;
  #steps = 0;
  #until = performance.now() + PIECE_MS;

  /** `most`: steps of a piece, where what they cause comes at the end of the turn and is not seen by the clock: writing to sockets. */
  constructor(most: number = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  /** To be awaited before each of many steps: goes on at once, or in a later turn when a piece is done. */
  next(): Promise<void> | undefined {
    return ++this.#steps <= this.#most && performance.now() < this.#until ? undefined : this.#turn();
  }

  async #turn(): Promise<void> {
    await REQUESTS.turn();
    this.#steps = 1;
    this.#until = performance.now() + PIECE_MS;
  }
}

/** What `work` makes of each, in their order. */
export async function mapInPieces<T, R>(all: readonly T[], work: (one: T, at: number) => R): Promise<R[]> {
  const pieces = new Pieces();
  const made: R[] = [];
  for (const [at, one] of all.entries()) {
    await pieces.next();
    made.push(work(one, at));
  }
  return made;
}

const load = createRequire(import.meta.url);

/** Loads files of a CommonJS package, named as its main file names them, one in a turn. What they export, in their order. */
export async function loadInPieces(name: string, files: readonly string[]): Promise<unknown[]> {
  const loadFile = createRequire(load.resolve(name));
  const loaded: unknown[] = [];
  for (const file of files) {
    await REQUESTS.turn();
    loaded.push(loadFile(file));
  }
  return loaded;
}
