/**
 * What the person may do, for everything that is on the screen. An "allowed" is shown for at most `maxStalenessMs` after the
 * request that it answers was sent: whatever fails meanwhile, and whatever is not heard of.
 */

import type { Api } from './api.ts';
import { Backoff } from './backoff.ts';
import { toUsherError, type UsherError } from './errors.ts';
import { follow, type StreamEvent } from './events.ts';
import { ageOf, type Moment, now } from './moment.ts';
import { answersOf, type Check, DENIED, faultyPlace, MOST, UNKNOWN } from './questions.ts';
import type { PermissionState } from './types.ts';

export interface PermissionStoreOptions {
  readonly api: Api;
  readonly app: string;
  readonly maxStalenessMs: number;
  /** Whether somebody is signed in. Nobody is allowed anything, and the service is not asked. */
  readonly isSignedIn: boolean;
}

interface Entry {
  readonly key: string;
  readonly listeners: Set<() => void>;
  state: PermissionState;
  /** What is displayed once `state` is too old. */
  late: PermissionState;
  /** When the request was sent whose answer `state` is. */
  askedAt: Moment;
  /** Has to be asked. */
  isDue: boolean;
  /** The service refuses the question itself: it is asked again when the policy has changed. */
  isFaulty: boolean;
}

const BATCH = '/api/profile/me/check/batch';
const STREAM = '/api/profile/me/permissions/stream';
/** Pages that are told of one change at one moment ask within this time, not all at once. */
const SPREAD_MS = 100;

export class PermissionStore {
  readonly #options: PermissionStoreOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #backoff = new Backoff();
  #isRunning = false;
  /** Streams end while the page is hidden. */
  #following: AbortController | null = null;
  #askTimer: { readonly at: number; readonly id: ReturnType<typeof setTimeout> } | null = null;
  #expiryTimer: ReturnType<typeof setTimeout> | undefined;
  #recheckTimer: ReturnType<typeof setTimeout> | undefined;
  /** The request under way; one at a time. */
  #asking: AbortController | null = null;
  /** Answers to requests of an earlier generation are of somebody else, or of another start. */
  #generation = 0;
  /** The newest revision of an answer or an event: the stream goes on from it. */
  #position: string | null = null;
  /** Of the newest event: no answer may be older. */
  #minRevision: string | null = null;
  /** The stream was opened without a revision: what changed until it begins is not told. */
  #isBlind = false;
  /** The first request has come to an end. */
  #asked = Promise.withResolvers<void>();

  constructor(options: PermissionStoreOptions) {
    this.#options = options;
  }

  /** Keeps the answer to a question current until the returned function is called. */
  hold(key: string, listener: () => void): () => void {
    const entry = this.#entries.get(key) ?? makeEntry(key);
    this.#entries.set(key, entry);
    entry.listeners.add(listener);
    if (entry.isDue) this.#schedule(0);
    if (this.#isRunning) this.#follow();
    return () => {
      entry.listeners.delete(listener);
    };
  }

  /** The same object until it changes. */
  read(key: string | null): PermissionState {
    if (!this.#options.isSignedIn) return DENIED;
    const entry = key === null ? undefined : this.#entries.get(key);
    if (entry === undefined) return UNKNOWN;
    // Also where the timer is late: no render shows more than it may.
    return this.#isTooOld(entry) ? entry.late : entry.state;
  }

  start(): void {
    if (!this.#options.isSignedIn) return;
    this.#isRunning = true;
    for (const entry of this.#entries.values()) entry.isDue = true;
    this.#schedule(0);
    if (this.#entries.size > 0) this.#follow();
  }

  /** Forgets every answer. */
  stop(): void {
    this.#isRunning = false;
    this.pause();
    this.#clearAskTimer();
    clearTimeout(this.#expiryTimer);
    clearTimeout(this.#recheckTimer);
    this.forget();
    // Who waits for the first answer ends, too.
    this.#asked.resolve();
    this.#asked = Promise.withResolvers();
  }

  /** Denies everything, at once, and asks again: the answers were of somebody else. */
  forget(): void {
    this.#generation++;
    // Their stream was of somebody else, too.
    this.pause();
    this.#position = null;
    this.#minRevision = null;
    for (const entry of this.#entries.values()) {
      entry.isDue = true;
      this.#show(entry, UNKNOWN);
    }
    this.#schedule(0);
    if (this.#isRunning && this.#entries.size > 0) this.#follow();
  }

  /** Asks again for everything on the screen. */
  refresh(): void {
    this.#backoff.succeeded();
    this.#askAll(0);
  }

  /** The page is hidden: nobody looks. A request whose answer is awaited is asked anew. */
  pause(): void {
    this.#asking?.abort();
    this.#following?.abort();
    this.#following = null;
  }

  /** The page is shown again, perhaps after hours of sleep: what is too old goes before anybody sees it. */
  resume(): void {
    this.#expire();
    if (!this.#isRunning || this.#entries.size === 0) return;
    this.refresh();
    this.#follow();
  }

  #follow(): void {
    if (this.#following !== null || isHidden()) return;
    this.#following = new AbortController();
    void follow({
      api: this.#options.api,
      path: STREAM,
      // From the revision of the first answer on nothing is missed.
      position: async () => {
        await this.#asked.promise;
        this.#isBlind = this.#position === null;
        return this.#position;
      },
      onEvent: (event) => this.#heard(event),
      // A stream also ends when the account is deactivated, or what the person may see has changed with their token.
      onEnd: (error) => {
        if (error?.code === 'SIGNED_OUT') this.#deny(error);
        this.#askAll(Math.random() * SPREAD_MS);
      },
      signal: this.#following.signal,
    });
  }

  #heard({ name, id, data }: StreamEvent): void {
    if (id !== null) this.#position = id;
    if (this.#isBlind) this.#changed(0);
    this.#isBlind = false;
    if (name !== 'permissions') return;
    this.#minRevision = id;
    const { apps } = JSON.parse(data) as { apps: readonly string[] };
    if (apps.length > 0 && !apps.includes(this.#options.app)) return;
    this.#changed(Math.random() * SPREAD_MS);
  }

  /** The policy may be another: so may be what it knows of a question. */
  #changed(delayMs: number): void {
    for (const entry of this.#entries.values()) entry.isFaulty = false;
    this.#askAll(delayMs);
  }

  /** Asks for everything that somebody looks at; what nobody looks at is forgotten. */
  #askAll(delayMs: number): void {
    for (const entry of this.#entries.values()) {
      if (entry.listeners.size === 0) this.#entries.delete(entry.key);
      else entry.isDue ||= !entry.isFaulty;
    }
    if (this.#entries.size === 0) this.pause();
    else this.#schedule(delayMs);
  }

  /** The next request, in `delayMs` at the latest: what is asked for until then goes with it. */
  #schedule(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (!this.#isRunning || (this.#askTimer !== null && this.#askTimer.at <= at)) return;
    this.#clearAskTimer();
    this.#askTimer = { at, id: setTimeout(() => void this.#ask(), delayMs) };
  }

  #clearAskTimer(): void {
    clearTimeout(this.#askTimer?.id);
    this.#askTimer = null;
  }

  /** Never rejects. */
  async #ask(): Promise<void> {
    this.#askTimer = null;
    if (!this.#isRunning || this.#asking !== null) return;
    const batch = [...this.#entries.values()].filter(({ isDue, listeners }) => isDue && listeners.size > 0);
    if (batch.length === 0) return;
    this.#asking = new AbortController();
    const generation = this.#generation;
    const waitMs = await this.#askFor(batch.slice(0, MOST), generation, this.#asking.signal);
    this.#asking = null;
    if (generation !== this.#generation) {
      this.#schedule(0);
      return;
    }
    this.#asked.resolve();
    const isLeft = [...this.#entries.values()].some(({ isDue, listeners }) => isDue && listeners.size > 0);
    if (waitMs > 0 || isLeft) this.#schedule(waitMs);
    else this.#recheckLater();
  }

  /** Asks, and shows the answers. Returns how long the next request has to wait. */
  async #askFor(batch: readonly Entry[], generation: number, signal: AbortSignal): Promise<number> {
    const { api } = this.#options;
    const sentAt = now();
    for (const entry of batch) entry.isDue = false;
    try {
      const checks = batch.map(({ key }) => JSON.parse(key) as Check);
      const headers = this.#minRevision === null ? {} : { 'usher-min-revision': this.#minRevision };
      const { body, headers: said } = await api.call('POST', BATCH, { body: { checks }, headers, signal });
      const answers = answersOf(body, batch.length);
      if (generation !== this.#generation) return 0;
      this.#backoff.succeeded();
      this.#position ??= said.get('usher-revision');
      batch.forEach((entry, index) => {
        entry.askedAt = sentAt;
        this.#show(entry, answers[index] ?? UNKNOWN);
      });
      this.#expireLater();
      return 0;
    } catch (thrown) {
      if (generation !== this.#generation) return 0;
      if (!signal.aborted) return this.#failed(batch, toUsherError(thrown));
      for (const entry of batch) entry.isDue = true;
      return 0;
    }
  }

  #failed(batch: readonly Entry[], error: UsherError): number {
    const place = error.status === 400 ? faultyPlace(error) : null;
    const faulty = place === null ? undefined : batch[place];
    for (const entry of batch) entry.isDue = true;
    if (faulty !== undefined) {
      faulty.isDue = false;
      faulty.isFaulty = true;
      this.#show(faulty, { ...DENIED, error });
      console.error(`Usher refuses the question ${faulty.key}: ${error.message}`);
      return 0;
    }
    if (error.status === 400 && this.#minRevision !== null) {
      // UNKNOWN_REVISION, of another history: the service was restored from a backup, for example.
      this.#minRevision = null;
      this.#position = null;
      return 0;
    }
    if (error.isTrouble) for (const entry of batch) this.#show(entry, { ...this.read(entry.key), error });
    else this.#deny(error);
    return this.#backoff.next(error.retryAfterMs);
  }

  /** The service refuses the person: nothing that it said before counts. */
  #deny(error: UsherError): void {
    for (const entry of this.#entries.values()) {
      entry.isDue = true;
      this.#show(entry, { ...DENIED, error });
    }
  }

  #show(entry: Entry, state: PermissionState): void {
    const before = entry.state;
    if (
      before.allowed === state.allowed &&
      before.known === state.known &&
      before.level === state.level &&
      before.error === state.error
    )
      return;
    entry.state = state;
    entry.late = { ...UNKNOWN, error: state.error };
    tell(entry);
  }

  #isTooOld({ state, askedAt }: Entry): boolean {
    return state.allowed && ageOf(askedAt) >= this.#options.maxStalenessMs;
  }

  /** Takes back every "allowed" that is too old. */
  #expire(): void {
    for (const entry of this.#entries.values()) {
      if (!this.#isTooOld(entry)) continue;
      entry.isDue = true;
      this.#show(entry, entry.late);
    }
  }

  #expireLater(): void {
    clearTimeout(this.#expiryTimer);
    const { maxStalenessMs } = this.#options;
    const ages = [...this.#entries.values()].filter(({ state }) => state.allowed).map(({ askedAt }) => ageOf(askedAt));
    if (ages.length === 0) return;
    const soonest = maxStalenessMs - Math.max(...ages);
    this.#expiryTimer = setTimeout(
      () => {
        this.#expire();
        if (!isHidden()) this.#schedule(0);
        this.#expireLater();
      },
      Math.max(soonest, 10),
    );
  }

  /** Also with a good stream: it says that the service lives, not that the service can read its database. */
  #recheckLater(): void {
    clearTimeout(this.#recheckTimer);
    const halfMs = this.#options.maxStalenessMs / 2;
    const delayMs = halfMs * (0.8 + Math.random() * 0.2);
    this.#recheckTimer = setTimeout(() => {
      if (!isHidden()) this.#askAll(0);
    }, delayMs);
  }
}

function makeEntry(key: string): Entry {
  return { key, listeners: new Set(), state: UNKNOWN, late: UNKNOWN, askedAt: now(), isDue: true, isFaulty: false };
}

function tell(entry: Entry): void {
  for (const listener of entry.listeners) listener();
}

/** Outside of a browser nothing is hidden. */
export function isHidden(): boolean {
  return typeof document !== 'undefined' && document.visibilityState === 'hidden';
}
