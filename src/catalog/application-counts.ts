/** How much an application holds, for lists of applications. (docs/reference/administration.md#applications.) */

import type { Clock } from '../base/clock.ts';
import { countContents, countPeople } from '../persistence/catalog/applications.ts';
import type { Database } from '../persistence/database.ts';

export interface ApplicationCounts {
  /** Users of the application. */
  people: number;
  roles: number;
  permissions: number;
  /** Its administrators. */
  admins: number;
}

/** A count that takes this long is counted anew each time. */
const QUICK_MS = 250;
/** A slower one is reused for this many times its duration, so that counting keeps a connection busy for a fiftieth of the time. */
const REUSE = 50;
/** Applications of one statement: each is over long before statements are given up, unless one application alone takes as long. */
const AT_ONCE = 10;

interface Kept {
  people: number;
  /** On the monotonic clock. */
  until: number;
}

export class Counts {
  readonly #database: Database;
  readonly #clock: Clock;
  /** By application. */
  readonly #kept = new Map<number, Kept>();
  #counting: Promise<unknown> = Promise.resolve();

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** The counts of these applications, by id. `people` may be some seconds old where there are hundreds of thousands. */
  async of(ids: readonly number[]): Promise<ReadonlyMap<number, ApplicationCounts>> {
    const contents = await this.#database.read((tx) => countContents(tx, ids));
    const people = await this.#people(ids);
    return new Map(
      ids.map((id) => [
        id,
        { people: people.get(id) ?? 0, ...(contents.get(id) ?? { roles: 0, permissions: 0, admins: 0 }) },
      ]),
    );
  }

  /** One count at a time: callers of one moment share it, where it is reused at all. */
  async #people(ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
    // A failure is for its own caller alone.
    const counting = this.#counting.catch(() => undefined).then(() => this.#count(ids));
    this.#counting = counting;
    return await counting;
  }

  async #count(ids: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const start = this.#clock.monotonic();
    for (const [id, { until }] of this.#kept) if (until <= start) this.#kept.delete(id);
    const found = new Map(
      ids.flatMap((id) => {
        const kept = this.#kept.get(id);
        return kept === undefined ? [] : [[id, kept.people] as const];
      }),
    );
    const missing = ids.filter((id) => !found.has(id));
    if (missing.length === 0) return found;
    let took = 0;
    const keep = (these: readonly number[]): void => {
      if (took <= QUICK_MS) return;
      const until = start + took + took * REUSE;
      for (const id of these) this.#kept.set(id, { people: found.get(id) ?? 0, until });
    };
    for (let at = 0; at < missing.length; at += AT_ONCE) {
      const some = missing.slice(at, at + AT_ONCE);
      const counted = await this.#database.read((tx) => countPeople(tx, some));
      took = this.#clock.monotonic() - start;
      for (const id of some) found.set(id, counted.get(id) ?? 0);
      // At once: where the rest cannot be counted, the next call goes on from here.
      keep(some);
    }
    keep(missing);
    return found;
  }
}
