/**
 * Makes one of each thing at the provider, whatever fails on the way (docs/reference/identity-provider.md#repeating-a-set-up). Its
 * searches lag behind its writes, so an id is remembered and read by itself; and an answer may be lost, so a creation is noted before it
 * is tried: the next try then waits until the search shows what came of it.
 */

import { setTimeout } from 'node:timers/promises';
import type { Database, Tx } from '../persistence/database.ts';
import { dropSetting, getSetting, putSetting } from '../persistence/settings.ts';
import { IdpCode, IdpRefusal } from './client.ts';

/** What is known of a thing: what it was made as, or that a try to make it ended without an answer. */
type Kept<T> = { readonly made: T } | { readonly underway: true };

export interface Steps<T> {
  /** Whether it is still there, read by its id; undefined where the provider lacks that call. */
  readonly isThere: (made: T) => Promise<boolean | undefined>;
  /** By its name, or what else makes it ours. Null: the search shows none; undefined: the provider lacks the search. */
  readonly find: () => Promise<T | null | undefined>;
  readonly make: () => Promise<T>;
}

/** How often, and for how long at most, a search is repeated that may lag behind a write. */
const POLL_MS = 250;
const PATIENCE_MS = 2500;

export class Making {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Hold the thing's lock. `key` names it among all that this service makes. */
  async once<T extends NonNullable<unknown>>(key: string, { isThere, find, make }: Steps<T>): Promise<T> {
    const setting = `idp.made:${key}`;
    const kept = readKept<T>(await this.#database.read((tx) => getSetting(tx, setting)));
    if (kept !== null && 'made' in kept && (await isThere(kept.made)) === true) return kept.made;
    const underway = kept !== null && 'underway' in kept;
    const found = await search(find, underway);
    if (found === undefined && kept !== null && 'made' in kept) return kept.made;
    if (found !== null && found !== undefined) return await this.#keep(setting, found);
    await this.#change((tx) => putSetting(tx, setting, { underway: true }));
    try {
      return await this.#keep(setting, await make());
    } catch (error) {
      if (!(error instanceof IdpRefusal)) throw error;
      // It answered: this try has made nothing, and what it says to exist already its search may show in a moment.
      const there = error.idpCode === IdpCode.ALREADY_EXISTS ? await search(find, true) : null;
      if (there !== null && there !== undefined) return await this.#keep(setting, there);
      if (!underway) await this.#change((tx) => dropSetting(tx, setting));
      throw error;
    }
  }

  async #keep<T>(setting: string, made: T): Promise<T> {
    await this.#change((tx) => putSetting(tx, setting, { made }));
    return made;
  }

  async #change(fn: (tx: Tx) => Promise<void>): Promise<void> {
    await this.#database.change(async (tx) => ({ result: await fn(tx), scopes: [] }));
  }
}

/** Repeated for a while where `patient` and nothing is found. */
export async function search<T>(
  find: () => Promise<T | null | undefined>,
  patient: boolean,
): Promise<T | null | undefined> {
  for (let waited = 0; ; waited += POLL_MS) {
    const found = await find();
    if (found !== null || !patient || waited >= PATIENCE_MS) return found;
    await setTimeout(POLL_MS);
  }
}

/** Versions before this one kept what was made without a name around it. */
function readKept<T>(value: unknown): Kept<T> | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'object' && ('made' in value || 'underway' in value)) return value as Kept<T>;
  return { made: value as T };
}
