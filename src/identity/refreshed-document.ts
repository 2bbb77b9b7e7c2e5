/**
 * A document of the identity provider (its metadata, its keys) that outlives the provider's outages: renewed in the
 * background, fetched once for all who wait, served for 24 hours after it was last read.
 * (jose's own remote key set fails every token once its copy is stale and the provider is away.)
 */

import type { Clock } from '../base/clock.ts';

/** Age at which it is renewed. */
const RENEW_AFTER_MS = 10 * 60_000;
/** Age, after a silence, at which it is renewed before use, unless the provider is known to be away. */
const DOUBT_AFTER_MS = 60 * 60_000;
/** How long the last good copy serves (docs/reference/callers.md#bearer-tokens). */
const KEEP_MS = 24 * 60 * 60_000;
/** Between attempts to renew, including failed ones (docs/reference/callers.md#bearer-tokens). */
const RENEW_GAP_MS = 30_000;
/** Between failed attempts to load a first copy. */
const RETRY_GAP_MS = 1000;

/** While the content stays the same, `document` stays the same object, so that values derived from it stay valid. */
export interface RefreshedDocument<T> {
  /** The document, read within 24 hours, else null. Never waits; starts a renewal when one is due. */
  peek(): T | null;
  /** The document. Throws the error of `load` when no copy may serve. */
  get(): Promise<T>;
  /**
   * The document, read again if it is older than `since` (monotonic ms) and therefore seems out of date.
   * At most once per 30 s; in between the present copy is returned. `current` is false when the last attempt to read failed:
   * then the absence of something in the document proves nothing.
   */
  refetch(since: number): Promise<{ document: T; current: boolean }>;
}

interface RefreshOptions<T> {
  load: () => Promise<T>;
  clock: Pick<Clock, 'monotonic'>;
  /** Receives each failed attempt, for the log. */
  onFailure: (error: unknown) => void;
}

export function createRefreshedDocument<T>(options: RefreshOptions<T>): RefreshedDocument<T> {
  return new Refresher(options);
}

class Refresher<T> implements RefreshedDocument<T> {
  readonly #options: RefreshOptions<T>;
  #held: { document: T; content: string; readAt: number } | null = null;
  #flight: Promise<T> | null = null;
  #failure: { error: unknown; at: number } | null = null;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #refetchedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RefreshOptions<T>) {
    this.#options = options;
  }

  peek(): T | null {
    const at = this.#present();
    if (at === null || this.#isInDoubt(at.readAt)) return null;
    if (this.#isDueForRenewal(at.readAt)) this.#renewAside();
    return at.document;
  }

  async get(): Promise<T> {
    const at = this.#present();
    if (at !== null && this.#isInDoubt(at.readAt)) return await this.#read().catch(() => at.document);
    if (at !== null) {
      if (this.#isDueForRenewal(at.readAt)) this.#renewAside();
      return at.document;
    }
    const failure = this.#failure;
    if (this.#flight === null && failure !== null && this.#now() - failure.at < RETRY_GAP_MS) throw failure.error;
    return await this.#read();
  }

  async refetch(since: number): Promise<{ document: T; current: boolean }> {
    const at = this.#present();
    if (at === null) return { document: await this.get(), current: true };
    if (at.readAt >= since) return { document: at.document, current: true };
    if (this.#now() - this.#refetchedAt < RENEW_GAP_MS) {
      if (this.#flight === null) return { document: at.document, current: this.#failure === null };
    } else {
      this.#refetchedAt = this.#now();
    }
    try {
      return { document: await this.#read(), current: true };
    } catch {
      // onFailure reports it; `current` informs the caller.
      return { document: at.document, current: false };
    }
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }

  #present() {
    const held = this.#held;
    return held !== null && this.#now() - held.readAt < KEEP_MS ? held : null;
  }

  #isDueForRenewal(readAt: number): boolean {
    const now = this.#now();
    return now - readAt >= RENEW_AFTER_MS && now - this.#renewedAt >= RENEW_GAP_MS;
  }

  #isInDoubt(readAt: number): boolean {
    return this.#failure === null && this.#now() - readAt >= DOUBT_AFTER_MS;
  }

  /** onFailure receives the error; the present document stays in use. */
  #renewAside(): void {
    void this.#read().catch(() => undefined);
  }

  #read(): Promise<T> {
    this.#flight ??= this.#attempt().finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }

  async #attempt(): Promise<T> {
    const startedAt = this.#now();
    this.#renewedAt = startedAt;
    try {
      const loaded = await this.#options.load();
      const content = JSON.stringify(loaded);
      const document = content === this.#held?.content ? this.#held.document : loaded;
      this.#held = { document, content, readAt: startedAt };
      this.#failure = null;
      return document;
    } catch (error) {
      this.#failure = { error, at: this.#now() };
      this.#options.onFailure(error);
      throw error;
    }
  }
}
