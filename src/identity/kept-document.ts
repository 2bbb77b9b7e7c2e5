/**
 * A document of the identity provider (its metadata, its keys) that outlives the provider's absence:
 * renewed in the background, asked for once however many wait, served for 24 hours after it was last read.
 * (jose's own remote key set fails every token once its copy is old and the provider is away.)
 */

import type { Clock } from '../base/clock.ts';

/** Renewed this long after it was read. */
const RENEW_AFTER_MS = 10 * 60_000;
/** This old, after a silence, it is renewed before it is used, if the provider is not known to be away. */
const DOUBT_AFTER_MS = 60 * 60_000;
/** The last good one serves this long (docs/reference/callers.md#bearer-tokens). */
const KEEP_MS = 24 * 60 * 60_000;
/** Between attempts to renew, failed ones too (docs/reference/callers.md#bearer-tokens). */
const RENEW_GAP_MS = 30_000;
/** Between failed attempts to have one at all. */
const RETRY_GAP_MS = 1000;

/** As long as the content stays the same it is the same object, so that what was concluded from it stays good. */
export interface KeptDocument<T> {
  /** The document, read within 24 hours; null when there is none. Never waits; begins a renewal when one is due. */
  peek(): T | null;
  /** The document. Throws what `load` threw when there is none that may serve. */
  get(): Promise<T>;
  /**
   * The document, read again because the present one, if older than `since` (monotonic ms), seems behind.
   * At most once per 30 s: in between it comes as it is. `current` is false when the last attempt to read it failed,
   * so that nothing can be concluded from what it lacks.
   */
  refetch(since: number): Promise<{ document: T; current: boolean }>;
}

export interface KeepOptions<T> {
  load: () => Promise<T>;
  clock: Pick<Clock, 'monotonic'>;
  /** A failed attempt, for the log. */
  onFailure: (error: unknown) => void;
}

export function keepDocument<T>(options: KeepOptions<T>): KeptDocument<T> {
  return new Keeper(options);
}

class Keeper<T> implements KeptDocument<T> {
  readonly #options: KeepOptions<T>;
  #held: { document: T; content: string; readAt: number } | null = null;
  #flight: Promise<T> | null = null;
  #failure: { error: unknown; at: number } | null = null;
  #renewedAt = Number.NEGATIVE_INFINITY;
  #refetchedAt = Number.NEGATIVE_INFINITY;

  constructor(options: KeepOptions<T>) {
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
      // Reported by onFailure; the caller is told by `current`.
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

  /** onFailure has the error; the document at hand goes on serving. */
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
