/** When internal keys were last used (docs/reference/callers.md#use-of-keys). No check waits for it, or writes it. */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import { noteKeyUses, readKeyUses } from '../persistence/administration/key-uses.ts';
import type { Database } from '../persistence/database.ts';

/** The keys of this process. */
interface KeyRing {
  readonly records: readonly Omit<UsedKey, 'lastUsedAt'>[];
  /** The names of the keys that were used since the last call. */
  takeUsed(): string[];
}

/** A key as operators see it. */
export interface UsedKey {
  readonly name: string;
  readonly scopes: readonly string[];
  /** Null: all. */
  readonly apps: readonly string[] | null;
  /** Null: never since uses are kept. */
  readonly lastUsedAt: Date | null;
}

/** Milliseconds between writes of the uses of this instance: how late a use may be noted. */
const NOTE_MS = 60_000;

export class KeyUses {
  readonly #parts: { database: Database; keys: KeyRing; clock: Clock; log: Logger };
  #cancel: () => void = () => undefined;
  #closed = false;

  constructor(parts: { database: Database; keys: KeyRing; clock: Clock; log: Logger }) {
    this.#parts = parts;
    this.#wait();
  }

  /** Every key of this process. Exact for this instance; for others as of a minute ago at most. */
  async list(): Promise<UsedKey[]> {
    const { database, keys } = this.#parts;
    await this.#note();
    const uses = await database.read(readKeyUses);
    return keys.records.map((key) => ({ ...key, lastUsedAt: uses.get(key.name) ?? null }));
  }

  /** Notes the last uses. Called before the database closes. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#note();
  }

  #wait(): void {
    if (this.#closed) return;
    this.#cancel = this.#parts.clock.after(NOTE_MS, () => void this.#note().then(() => this.#wait()));
  }

  /** Never rejects: a lost note makes a key look less used than it is, and the next use mends it. */
  async #note(): Promise<void> {
    const { database, keys, log } = this.#parts;
    const names = keys.takeUsed();
    if (names.length === 0) return;
    try {
      await database.once(noteKeyUses(names));
    } catch (error) {
      log.warn({ err: error, keys: names }, 'uses of internal keys not noted');
    }
  }
}
