/**
 * A document of the identity provider (its metadata, its keys) that outlives the provider's absence:
 * renewed in the background, asked for once however many wait, served for 24 hours after it was last read.
 * (jose's own remote key set fails every token once its copy is old and the provider is away.)
 */

import type { Clock } from '../clock.ts';

/** Renewed this long after it was read. */
const RENEW_AFTER_MS = 10 * 60_000;
/** This old, after a silence, it is renewed before it is used, if the provider is not known to be away. */
const DOUBT_AFTER_MS = 60 * 60_000;
/** The last good one serves this long (contract 4). */
const KEEP_MS = 24 * 60 * 60_000;
/** Between attempts to renew, failed ones too (contract 4). */
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

export function keepDocument<T>(options: {
  load: () => Promise<T>;
  clock: Pick<Clock, 'monotonic'>;
  /** A failed attempt, for the log. */
  onFailure: (error: unknown) => void;
}): KeptDocument<T> {
  const { load, clock, onFailure } = options;
  let held: { document: T; content: string; readAt: number } | null = null;
  let flight: Promise<T> | null = null;
  let failure: { error: unknown; at: number } | null = null;
  let renewedAt = Number.NEGATIVE_INFINITY;
  let refetchedAt = Number.NEGATIVE_INFINITY;

  const read = (): Promise<T> => {
    flight ??= attempt().finally(() => {
      flight = null;
    });
    return flight;
  };
  const attempt = async (): Promise<T> => {
    const startedAt = clock.monotonic();
    renewedAt = startedAt;
    try {
      const loaded = await load();
      const content = JSON.stringify(loaded);
      const document = content === held?.content ? held.document : loaded;
      held = { document, content, readAt: startedAt };
      failure = null;
      return document;
    } catch (error) {
      failure = { error, at: clock.monotonic() };
      onFailure(error);
      throw error;
    }
  };
  const present = () => (held !== null && clock.monotonic() - held.readAt < KEEP_MS ? held : null);
  const dueForRenewal = (readAt: number) => {
    const now = clock.monotonic();
    return now - readAt >= RENEW_AFTER_MS && now - renewedAt >= RENEW_GAP_MS;
  };
  const inDoubt = (readAt: number) => failure === null && clock.monotonic() - readAt >= DOUBT_AFTER_MS;
  // onFailure has the error; the document at hand goes on serving.
  const renewAside = () => void read().catch(() => undefined);

  return {
    peek() {
      const at = present();
      if (at === null || inDoubt(at.readAt)) return null;
      if (dueForRenewal(at.readAt)) renewAside();
      return at.document;
    },
    async get() {
      const at = present();
      if (at !== null && inDoubt(at.readAt)) return await read().catch(() => at.document);
      if (at !== null) {
        if (dueForRenewal(at.readAt)) renewAside();
        return at.document;
      }
      if (flight === null && failure !== null && clock.monotonic() - failure.at < RETRY_GAP_MS) throw failure.error;
      return await read();
    },
    async refetch(since) {
      const at = present();
      if (at === null) return { document: await this.get(), current: true };
      if (at.readAt >= since) return { document: at.document, current: true };
      if (clock.monotonic() - refetchedAt < RENEW_GAP_MS) {
        if (flight === null) return { document: at.document, current: failure === null };
      } else {
        refetchedAt = clock.monotonic();
      }
      try {
        return { document: await read(), current: true };
      } catch {
        // Reported by onFailure; the caller is told by `current`.
        return { document: at.document, current: false };
      }
    },
  };
}
