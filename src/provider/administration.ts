/**
 * Administrative writes at the provider: who may is decided on fresh rows first, then the provider is called outside of any
 * transaction, and what it did is recorded, also when a later step fails. Steps of one thing are taken one after the other.
 */

import { setTimeout } from 'node:timers/promises';
import { administer, type By, type Change, superAdmin } from '../administration/administer.ts';
import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
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

/** Longer than the calls of one set-up can take: a claim of this age was left behind by a crash. */
const LEASE_S = 60;
/** How often, and how long at most, a second one waits for the first. */
const POLL_MS = 150;
const PATIENCE_MS = 8000;

export interface ProviderLocksOptions {
  readonly database: Database;
  readonly clock: Pick<Clock, 'bytes' | 'monotonic'>;
}

export interface HoldOptions {
  /** Aborted once nobody waits for the work any more: what has not begun then is not begun. */
  readonly signal?: AbortSignal;
  /** In seconds; longer than the calls of the work can take. */
  readonly leaseS?: number;
}

/** A thing in somebody's hands. */
export interface Hold {
  /**
   * Gives it back with the last transaction of the work, so that whoever comes next sees what that has stored. UNAVAILABLE where the
   * claim ran out and is another's now, or was: nothing may be stored on the strength of it.
   */
  readonly giveBack: (tx: Tx) => Promise<void>;
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

  /** UNAVAILABLE when another instance does not come to an end with it; the signal's reason when that is aborted before. */
  async hold<T>(thing: string, work: (hold: Hold) => Promise<T>, options: HoldOptions = {}): Promise<T> {
    const before = this.#last.get(thing) ?? Promise.resolve();
    const mine = before.then(() => this.#holdEverywhere(`idp.lock:${thing}`, work, options));
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

  async #holdEverywhere<T>(
    key: string,
    work: (hold: Hold) => Promise<T>,
    { signal, leaseS = LEASE_S }: HoldOptions,
  ): Promise<T> {
    const holder = await this.#claim(key, leaseS, signal);
    let givenBack = false;
    const giveBack = async (tx: Tx): Promise<void> => {
      if (!(await releaseLease(tx, key, holder)))
        throw unavailable('This took too long, and others have gone on: look at what is there now.');
      givenBack = true;
    };
    let held = true;
    try {
      const result = await work({ giveBack });
      held = !givenBack;
      return result;
    } finally {
      // Also where it was given back in a transaction that was then not committed.
      if (held) await this.#change((tx) => releaseLease(tx, key, holder));
    }
  }

  async #claim(key: string, leaseS: number, signal: AbortSignal | undefined): Promise<string> {
    const { clock } = this.#options;
    const holder = clock.bytes(16).toString('base64url');
    for (const until = clock.monotonic() + PATIENCE_MS; ; await setTimeout(POLL_MS)) {
      signal?.throwIfAborted();
      if (await this.#change((tx) => claimLease(tx, key, holder, leaseS))) return holder;
      if (clock.monotonic() >= until) throw unavailable('Another instance is at work on this just now.');
    }
  }

  async #change<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const { result } = await this.#options.database.change(async (tx) => ({ result: await fn(tx), scopes: [] }));
    return result;
  }
}
