/** Reads of one's own profile, which is what every front end asks first: those of one moment share a statement. */

import type { Database } from '../persistence/database.ts';
import { findProfiles, type ProfileRow } from '../persistence/directory/profiles.ts';
import type { Turns } from './turns.ts';

/** Addresses in one statement at most. */
const BATCH = 256;
/** Statements at once: while they run, who comes is collected for the next one. */
const AT_ONCE = 2;

type Waiter = PromiseWithResolvers<ProfileRow | undefined>;

export class ProfileReads {
  readonly #database: Pick<Database, 'read'>;
  readonly #turns: Turns;
  #waiting = new Map<string, Waiter>();
  #running = 0;
  #deferred = false;

  constructor({ database, turns }: { database: Pick<Database, 'read'>; turns: Turns }) {
    this.#database = database;
    this.#turns = turns;
  }

  /**
   * The profile of an address in normal form; undefined when there is none. Read after this call, never before: whoever has
   * written, and asks then, finds what he wrote.
   */
  find(email: string): Promise<ProfileRow | undefined> {
    let waiter = this.#waiting.get(email);
    if (waiter === undefined) {
      waiter = Promise.withResolvers();
      this.#waiting.set(email, waiter);
      this.#defer();
    }
    return waiter.promise;
  }

  /** Sends once this turn of the event loop is over, so that all requests that were read in it are in. */
  #defer(): void {
    if (this.#deferred || this.#running >= AT_ONCE) return;
    this.#deferred = true;
    setImmediate(() => {
      this.#deferred = false;
      void this.#send();
    });
  }

  /** Never rejects: what goes wrong is told to those who wait. */
  async #send(): Promise<void> {
    const batch = this.#take();
    this.#running++;
    try {
      const emails = [...batch.keys()];
      const found = await this.#turns.take(() => this.#database.read((tx) => findProfiles(tx, emails)));
      for (const [email, { resolve }] of batch) resolve(found.get(email));
    } catch (error) {
      for (const { reject } of batch.values()) reject(error);
    } finally {
      this.#running--;
      if (this.#waiting.size > 0) this.#defer();
    }
  }

  #take(): Map<string, Waiter> {
    const all = this.#waiting;
    if (all.size <= BATCH) {
      this.#waiting = new Map();
      return all;
    }
    const batch = new Map([...all].slice(0, BATCH));
    for (const email of batch.keys()) all.delete(email);
    // The next ones need not wait for these.
    queueMicrotask(() => this.#defer());
    return batch;
  }
}
