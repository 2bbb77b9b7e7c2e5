/**
 * Administrative writes at the provider: permission is checked on fresh rows first, then the provider is called outside of any
 * transaction, and its effects are recorded, also when a later step fails. Writes to one object run one after the other.
 */

import { setTimeout } from 'node:timers/promises';
import { administer, type By, type Change, superAdmin } from '../administration/administer.ts';
import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import { record } from '../persistence/audit.ts';
import type { Database, Tx } from '../persistence/database.ts';
import { claimLease, releaseLease } from '../persistence/settings.ts';

/** Records a step that the provider has taken, for the audit. */
export type Done = (change: Change) => void;

/** `act` completes "Only a SuperAdmin may …"; `action` names the write for the audit of a refusal. */
export interface Write {
  readonly action: string;
  readonly act: string;
  readonly app?: string | null;
}

/** Runs `work` for a SuperAdmin. Throws the guard's refusal or the error of `work`. */
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
      const { requestId, reason } = by;
      const named = { actor: `user:${by.caller.email}`, appCode: app, requestId, reason };
      await database.change(async (tx) => {
        for (const change of changes) await record(tx, { ...named, ...change });
        return { result: null, scopes: [] };
      });
    }
  }
}

/** Longer than the calls of one set-up can take: a lease of this age was left behind by a crash. */
const LEASE_S = 60;
/** How often, and for how long at most, a waiting caller tries to claim the lease. */
const POLL_MS = 150;
const PATIENCE_MS = 8000;

interface ProviderLocksOptions {
  readonly database: Database;
  readonly clock: Pick<Clock, 'bytes' | 'monotonic'>;
}

interface HoldOptions {
  /** Aborted once the caller has given up: work that has not begun is then not begun. */
  readonly signal?: AbortSignal;
  /** In seconds; longer than the calls of the work can take. */
  readonly leaseS?: number;
}

/** A lease on one object at the provider. */
export interface Hold {
  /**
   * Releases the lease in the last transaction of the work, so that the next holder sees what that stored. UNAVAILABLE where the
   * lease expired and may have gone to another holder: then nothing may be stored on the strength of it.
   */
  readonly giveBack: (tx: Tx) => Promise<void>;
}

/**
 * Serializes work on the same object at the provider, in this process and in all others: two that look for it at once would
 * both create it. The lock is a leased row, so that no transaction is open while the provider is called.
 */
export class ProviderLocks {
  readonly #options: ProviderLocksOptions;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(options: ProviderLocksOptions) {
    this.#options = options;
  }

  /** UNAVAILABLE when another instance keeps the lease too long; the signal's reason when that is aborted before. */
  async hold<T>(thing: string, work: (hold: Hold) => Promise<T>, options: HoldOptions = {}): Promise<T> {
    const before = this.#last.get(thing) ?? Promise.resolve();
    const mine = before.then(() => this.#holdEverywhere(`idp.lock:${thing}`, work, options));
    // The next waits for the end of this one, not for its success.
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
        throw unavailable(
          'This took too long, and another change has begun meanwhile; check the present state and try again.',
        );
      givenBack = true;
    };
    let held = true;
    try {
      const result = await work({ giveBack });
      held = !givenBack;
      return result;
    } finally {
      // Also where `giveBack` ran in a transaction that then failed to commit.
      if (held) await this.#change((tx) => releaseLease(tx, key, holder));
    }
  }

  async #claim(key: string, leaseS: number, signal: AbortSignal | undefined): Promise<string> {
    const { clock } = this.#options;
    const holder = clock.bytes(16).toString('base64url');
    for (const until = clock.monotonic() + PATIENCE_MS; ; await setTimeout(POLL_MS)) {
      signal?.throwIfAborted();
      if (await this.#change((tx) => claimLease(tx, key, holder, leaseS))) return holder;
      if (clock.monotonic() >= until) throw unavailable('Another instance is working on this; try again shortly.');
    }
  }

  async #change<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const { result } = await this.#options.database.change(async (tx) => ({ result: await fn(tx), scopes: [] }));
    return result;
  }
}
