/**
 * Administrative writes at the provider: who may is decided on fresh rows first, then the provider is called outside of any
 * transaction, and what it did is recorded, also when a later step fails. Steps of one thing are taken one after the other.
 */

import { administer, type By, type Change, superAdmin } from '../administration/administer.ts';
import { record } from '../persistence/audit.ts';
import type { Database } from '../persistence/database.ts';

/** Tells the audit of a step that the provider has taken. */
export type Done = (change: Change) => void;

/** `act` completes "Only a SuperAdmin may …"; `action` names the write for the audit of a refusal. */
export interface Write {
  readonly action: string;
  readonly act: string;
  readonly app?: string | null;
}

/** Runs `work` for a SuperAdmin. Throws what the guard says or what `work` throws. */
export async function administerProvider<T>(
  database: Database,
  by: By,
  { action, act, app = null }: Write,
  work: (done: Done) => Promise<T>,
): Promise<T> {
  await administer(database, by, { app, action, guard: superAdmin(act) }, async () => ({ result: null, scopes: [] }));
  const changes: Change[] = [];
  try {
    return await work((change) => changes.push(change));
  } finally {
    if (changes.length > 0) {
      const named = { actor: `user:${by.caller.email}`, appCode: app, requestId: by.requestId };
      await database.change(async (tx) => {
        for (const change of changes) await record(tx, { ...named, ...change });
        return { result: null, scopes: [] };
      });
    }
  }
}

/** Lets those who work on the same thing in this process do it one after the other. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<unknown>>();

  async hold<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(thing) ?? Promise.resolve();
    const mine = before.then(work);
    // Whoever comes next waits for the end of this one, not for its success.
    const settled = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#last.set(thing, settled);
    try {
      return await mine;
    } finally {
      if (this.#last.get(thing) === settled) this.#last.delete(thing);
    }
  }
}
