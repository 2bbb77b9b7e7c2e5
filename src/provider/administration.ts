/**
 * Administrative writes at the provider: who may is decided on fresh rows first, then the provider is called outside of any
 * transaction, and what it did is recorded, also when a later step fails. Steps of one thing are taken one after the other.
 */

import { setTimeout } from 'node:timers/promises';
import { administer, type By, type Change, superAdmin } from '../administration/administer.ts';
import type { Clock } from '../clock.ts';
import { unavailable } from '../errors.ts';
import { record } from '../persistence/audit.ts';
import type { Database, Tx } from '../persistence/database.ts';
import { claimLease, releaseLease } from '../persistence/settings.ts';

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

/** Longer than the calls of one operation can take: a claim of this age was left behind by a crash. */
const LEASE_S = 60;
/** How often, and how long at most, a second one waits for the first. */
const POLL_MS = 150;
const PATIENCE_MS = 8000;

export interface ProviderLocksOptions {
  readonly database: Database;
  readonly clock: Pick<Clock, 'bytes' | 'monotonic'>;
}

/**
 * Lets those who work on the same thing at the provider do it one after the other, in this process and in all others: two that
 * look for it at once would both make it. A row is claimed, so that no transaction is open while the provider is asked.
 */
export class ProviderLocks {
  readonly #options: ProviderLocksOptions;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(options: ProviderLocksOptions) {
    this.#options = options;
  }

  /** UNAVAILABLE when another instance does not come to an end with it. */
  async hold<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(thing) ?? Promise.resolve();
    const mine = before.then(() => this.#holdEverywhere(`idp.lock:${thing}`, work));
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

  async #holdEverywhere<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const holder = clock.bytes(16).toString('base64url');
    const until = clock.monotonic() + PATIENCE_MS;
    while (!(await this.#change((tx) => claimLease(tx, key, holder, LEASE_S)))) {
      if (clock.monotonic() >= until) throw unavailable('Another instance is at work on this just now.');
      await setTimeout(POLL_MS);
    }
    try {
      return await work();
    } finally {
      await this.#change((tx) => releaseLease(tx, key, holder));
    }
  }

  async #change<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const { result } = await this.#options.database.change(async (tx) => ({ result: await fn(tx), scopes: [] }));
    return result;
  }
}
