/**
 * Streams of notifications to signed-in users (docs/reference/notifications.md#inbox-stream). News for all streams of this instance is
 * read together, after a signal of a send in this or another instance, and at intervals in any case.
 */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import { TimeSlicer } from '../base/time-slice.ts';
import type { Database } from '../persistence/database.ts';
import {
  addressesWithNews,
  countUnread,
  countUnreadOf,
  listNewer,
  newestIn,
  type StreamState,
} from '../persistence/notifications/inbox.ts';
import { StreamOrder } from './stream-order.ts';
import { StreamSession } from './stream-session.ts';

export type { StreamEvent } from './stream-session.ts';

/** The most streams of one user over all instances; one more ends the oldest. */
const MAX_STREAMS = 10;
/** The most missed notifications that a stream sends; older ones are left out. */
const MAX_MISSED = 200;
/** Users in one statement that reads notifications, and in one that polls for changes. */
const BATCH = 250;
const POLL_BATCH = 1000;
/** Streams written to in one turn of the event loop. */
const WRITTEN_AT_ONCE = 20;
/** Milliseconds between checks that readers are active. A deactivation ends a stream within half a second. */
const WATCH_MS = 250;
/** A deactivation makes a new revision, except by hand in the database: all readers are checked again at this interval. */
const RECHECK_MS = 10_000;
/** Milliseconds between polls, for news whose signal was lost. */
const POLL_MS = 5000;
const HEARTBEAT_MS = 15_000;

export interface InboxStreamsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether the user of that address is active, according to the engine. */
  readonly isActive: (email: string) => Promise<boolean>;
  /** The revision of the engine's data: while it is the same, active users stay active. */
  readonly revision: () => string;
}

export class InboxStreams {
  readonly #options: InboxStreamsOptions;
  readonly #sessions = new Map<string, StreamSession[]>();
  readonly #order: StreamOrder;
  /** Addresses with streams opened since the last check of readers. */
  #unchecked = new Set<string>();
  #checked = { revision: '', at: Number.NEGATIVE_INFINITY };
  #dirty = new Set<string>();
  #looking: Promise<void> | undefined;
  #polling: Promise<void> | undefined;
  #ending: Promise<void> | undefined;
  #beating: Promise<void> | undefined;
  #listening: Promise<(() => Promise<void>) | null> | undefined;
  #cancelWatch: () => void = () => undefined;
  #polledAt = 0;
  #closed = false;

  constructor(options: InboxStreamsOptions) {
    this.#options = options;
    this.#order = new StreamOrder(options.database.inboxSignals.self, MAX_STREAMS);
  }

  /**
   * Streams the changes of a user's inbox from now on, or from `lastEventId` (at most 200 missed notifications). The stream ends when
   * the token expires, the user is deactivated, the service closes or the reader leaves. Rejects with UNAVAILABLE.
   */
  async open(
    { email, expiresAt }: { email: string; expiresAt: number },
    lastEventId: number | null,
  ): Promise<StreamSession> {
    // Listening must start before anything opens: from then on all instances agree on the order.
    if (!this.#closed) this.#listening ??= this.#listen();
    await this.#listening;
    const { cursor, missed, count } = await this.#options.database.read(async (tx) => {
      const last = await newestIn(tx, email);
      // An id beyond the newest one would suppress the next notifications.
      const behind = lastEventId === null ? last : Math.min(lastEventId, last);
      return {
        cursor: behind,
        missed: behind === last ? [] : await listNewer(tx, [{ email, cursor: behind }], MAX_MISSED),
        count: await countUnread(tx, email),
      };
    });
    const session = new StreamSession({ email, expiresAt: expiresAt * 1000, cursor }, this);
    session.update(missed, count);
    return session;
  }

  /** The number of open streams, for tests of the limits. */
  get size(): number {
    let size = 0;
    for (const sessions of this.#sessions.values()) size += sessions.length;
    return size;
  }

  /** Signals to this and the other instances that a commit changed these inboxes. */
  readonly changed = (emails: readonly string[]): void => {
    this.#options.database.inboxSignals.tell(emails);
    this.#look(emails);
  };

  /** Ends every stream. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelWatch();
    for (const session of this.#all()) session.end();
    const unlisten = await this.#listening;
    await unlisten?.();
    await Promise.all([this.#looking, this.#polling, this.#ending, this.#beating]);
  }

  /** Called by the session when its first event is requested. */
  begun(session: StreamSession): void {
    if (this.#closed) {
      session.end();
      return;
    }
    const { email } = session;
    const sessions = this.#sessions.get(email) ?? [];
    this.#sessions.set(email, sessions);
    sessions.push(session);
    session.beatAt = this.#options.clock.monotonic();
    this.#unchecked.add(email);
    if (this.#sessions.size === 1 && sessions.length === 1) this.#watch();
    // The arrival of its own announcement fixes its position among the streams of other instances.
    this.#order.opened(session);
    this.#announce(session);
    // For notifications that arrived after the read in `open`.
    this.#look([email]);
  }

  /** Called by the session when it ends. */
  over(session: StreamSession): void {
    const { email, number } = session;
    const left = (this.#sessions.get(email) ?? []).filter((other) => other !== session);
    if (left.length > 0) this.#sessions.set(email, left);
    else this.#sessions.delete(email);
    this.#order.ended(session);
    this.#options.database.inboxSignals.tellStream({ what: 'ended', email, number, expiresAt: 0 });
    if (this.#sessions.size === 0) this.#cancelWatch();
  }

  #announce({ email, number, expiresAt, isOver }: StreamSession): void {
    if (isOver) return;
    const expires = Math.ceil(expiresAt / 1000);
    this.#options.database.inboxSignals.tellStream({ what: 'opened', email, number, expiresAt: expires });
  }

  *#all(): Generator<StreamSession> {
    for (const sessions of this.#sessions.values()) yield* sessions;
  }

  async #listen(): Promise<(() => Promise<void>) | null> {
    try {
      return await this.#options.database.inboxSignals.listen({
        changed: (emails) => {
          this.#look(emails ?? this.#sessions.keys());
          if (emails === null) for (const session of this.#order.unheard()) this.#announce(session);
        },
        stream: (news) => this.#order.heard(news),
      });
    } catch (error) {
      this.#options.log.warn({ err: error }, 'listening for notifications of other instances failed; polling');
      return null;
    }
  }

  #watch(): void {
    this.#cancelWatch();
    this.#cancelWatch = this.#options.clock.after(WATCH_MS, () => {
      this.#check();
      if (!this.#closed && this.#sessions.size > 0) this.#watch();
    });
  }

  #check(): void {
    const { clock } = this.#options;
    const [now, time] = [clock.monotonic(), clock.now()];
    for (const session of this.#all()) if (time >= session.expiresAt) session.end();
    this.#beating ??= this.#beat(now).finally(() => {
      this.#beating = undefined;
    });
    // Not awaited: an unresponsive database must not delay the rest of this check or the next one.
    this.#ending ??= this.#endInactive(now).finally(() => {
      this.#ending = undefined;
    });
    if (now - this.#polledAt >= POLL_MS) {
      this.#polledAt = now;
      this.#order.forgetExpired(time);
      // An announcement that has not arrived by now was lost.
      for (const session of this.#order.unheard()) this.#announce(session);
      this.#polling ??= this.#poll().finally(() => {
        this.#polling = undefined;
      });
    }
  }

  /** Sends due heartbeats in slices: thousands of streams opened together are due together. */
  async #beat(now: number): Promise<void> {
    const pieces = new TimeSlicer(WRITTEN_AT_ONCE);
    for (const session of this.#all()) {
      if (now - session.beatAt < HEARTBEAT_MS) continue;
      await pieces.next();
      session.beatAt = now;
      session.beat();
    }
  }

  /** Checks all readers after a new revision, otherwise the new ones. */
  async #endInactive(now: number): Promise<void> {
    const revision = this.#options.revision();
    const all = revision !== this.#checked.revision || now - this.#checked.at >= RECHECK_MS;
    const emails = [...(all ? this.#sessions.keys() : this.#unchecked)];
    this.#unchecked = new Set();
    const pieces = new TimeSlicer();
    const known: boolean[] = [];
    for (let from = 0; from < emails.length; from += POLL_BATCH) {
      const pending: Promise<boolean>[] = [];
      for (const email of emails.slice(from, from + POLL_BATCH)) {
        await pieces.next();
        pending.push(this.#endIfInactive(email));
      }
      known.push(...(await Promise.all(pending)));
    }
    if (all && known.every((one) => one)) this.#checked = { revision, at: now };
  }

  /** Ends the streams of an inactive user. Returns whether the state is known. */
  async #endIfInactive(email: string): Promise<boolean> {
    const active = await this.#isActive(email);
    if (active === null) this.#unchecked.add(email);
    else if (!active) for (const session of this.#sessions.get(email) ?? []) session.end();
    return active !== null;
  }

  /** Null if unknown: an error must not end a stream, and the reader is checked again. */
  async #isActive(email: string): Promise<boolean | null> {
    try {
      return await this.#options.isActive(email);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'checking whether a reader is active failed; retrying');
      return null;
    }
  }

  /** Polls for changes of all streamed inboxes, and reads those that changed. */
  async #poll(): Promise<void> {
    const states: StreamState[] = [];
    for (const [email, sessions] of this.#sessions) {
      const [first] = sessions;
      if (first === undefined) continue;
      states.push({ email, cursor: Math.min(...sessions.map(({ cursor }) => cursor)), count: first.count ?? 0 });
    }
    try {
      for (let from = 0; from < states.length && !this.#closed; from += POLL_BATCH) {
        const some = states.slice(from, from + POLL_BATCH);
        this.#look(await this.#options.database.read((tx) => addressesWithNews(tx, some)));
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, 'polling for changed inboxes failed; retrying');
    }
  }

  #look(emails: Iterable<string>): void {
    for (const email of emails) if (this.#sessions.has(email)) this.#dirty.add(email);
    if (this.#dirty.size === 0 || this.#closed) return;
    this.#looking ??= this.#lookAll();
  }

  async #lookAll(): Promise<void> {
    while (this.#dirty.size > 0 && !this.#closed) {
      const emails = this.#dirty.values().take(BATCH).toArray();
      for (const email of emails) this.#dirty.delete(email);
      try {
        await this.#lookAt(emails);
      } catch (error) {
        this.#options.log.warn({ err: error }, 'inbox poll for streams failed; retrying');
      }
    }
    this.#looking = undefined;
  }

  async #lookAt(emails: readonly string[]): Promise<void> {
    const positions = emails.flatMap((email) => {
      const cursors = (this.#sessions.get(email) ?? []).map(({ cursor }) => cursor);
      return cursors.length === 0 ? [] : [{ email, cursor: Math.min(...cursors) }];
    });
    const { items, counts } = await this.#options.database.read(async (tx) => ({
      items: await listNewer(tx, positions, MAX_MISSED),
      counts: await countUnreadOf(tx, emails),
    }));
    const itemsOf = Map.groupBy(items, ({ email }) => email);
    const pieces = new TimeSlicer(WRITTEN_AT_ONCE);
    for (const { email } of positions) {
      for (const session of this.#sessions.get(email) ?? []) {
        await pieces.next();
        session.update(itemsOf.get(email) ?? [], counts.get(email) ?? 0);
      }
    }
  }
}
