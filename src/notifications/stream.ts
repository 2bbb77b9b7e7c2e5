/**
 * Streams of notifications to signed-in users (docs/reference/notifications.md#inbox-stream). Every stream of this instance is served from one place: what came
 * is read for all of them together, when a send here or in another instance says so, and now and then in any case.
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

export type { StreamEvent, StreamEvents } from './stream-session.ts';

/** Of one user, over all instances; one more ends the oldest. */
const MAX_STREAMS = 10;
/** Missed notifications that are told at most, the newest of them. */
const MAX_MISSED = 200;
/** Persons that are looked up in one statement, and of whom it is asked whether there is anything new. */
const BATCH = 250;
const POLL_BATCH = 1000;
/** Streams that are written to in one turn of the event loop. */
const WRITTEN_AT_ONCE = 20;
/** Milliseconds between looks at who may still read. A deactivation is known within half a second. */
const WATCH_MS = 250;
/** Nobody is deactivated without a new revision; by hand, in the database, somebody may be. */
const RECHECK_MS = 10_000;
/** Milliseconds between looks for what no signal told of. */
const POLL_MS = 5000;
const HEARTBEAT_MS = 15_000;

export interface InboxStreamsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether the address's person is active, as the engine knows it. */
  readonly isActive: (email: string) => Promise<boolean>;
  /** What that knowledge is of: whoever was active stays so while it is the same. */
  readonly revision: () => string;
}

export class InboxStreams {
  readonly #options: InboxStreamsOptions;
  readonly #sessions = new Map<string, StreamSession[]>();
  readonly #order: StreamOrder;
  /** Whose streams were opened since the last look at who may read. */
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
   * What happens in somebody's inbox from now on, or behind `lastEventId` (at most 200 of what was missed). It ends with the
   * token, the account, this service, and when nobody reads it any more. Rejects with UNAVAILABLE.
   */
  async open(
    { email, expiresAt }: { email: string; expiresAt: number },
    lastEventId: number | null,
  ): Promise<StreamSession> {
    // First of all it must be heard what others open: from then on all agree on the order.
    if (!this.#closed) this.#listening ??= this.#listen();
    await this.#listening;
    const { cursor, missed, count } = await this.#options.database.read(async (tx) => {
      const last = await newestIn(tx, email);
      // An id that never was is no place to wait behind.
      const behind = lastEventId === null ? last : Math.min(lastEventId, last);
      return {
        cursor: behind,
        missed: behind === last ? [] : await listNewer(tx, [{ email, cursor: behind }], MAX_MISSED),
        count: await countUnread(tx, email),
      };
    });
    const session = new StreamSession({ email, expiresAt: expiresAt * 1000, cursor }, this);
    session.tell(missed, count);
    return session;
  }

  /** What is open here, for tests of its bounds. */
  get size(): number {
    let size = 0;
    for (const sessions of this.#sessions.values()) size += sessions.length;
    return size;
  }

  /** A commit of this instance changed these inboxes: told here and to the others. */
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

  /** For the session: its reader has asked for the first event. */
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
    // That its own announcement is heard gives it its place among those of other instances.
    this.#order.opened(session);
    this.#announce(session);
    // What came between the first look and now.
    this.#look([email]);
  }

  /** For the session: it ended, however it did. */
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
    // A database that does not answer holds up neither the rest of this nor the next look.
    this.#ending ??= this.#endInactive(now).finally(() => {
      this.#ending = undefined;
    });
    if (now - this.#polledAt >= POLL_MS) {
      this.#polledAt = now;
      this.#order.forgetExpired(time);
      // What was announced and not heard was lost.
      for (const session of this.#order.unheard()) this.#announce(session);
      this.#polling ??= this.#poll().finally(() => {
        this.#polling = undefined;
      });
    }
  }

  /** Those who were told nothing for so long: thousands that were opened together are due together. */
  async #beat(now: number): Promise<void> {
    const pieces = new TimeSlicer(WRITTEN_AT_ONCE);
    for (const session of this.#all()) {
      if (now - session.beatAt < HEARTBEAT_MS) continue;
      await pieces.next();
      session.beatAt = now;
      session.beat();
    }
  }

  /** All are looked at when anything has changed, else those who are new. */
  async #endInactive(now: number): Promise<void> {
    const revision = this.#options.revision();
    const all = revision !== this.#checked.revision || now - this.#checked.at >= RECHECK_MS;
    const emails = [...(all ? this.#sessions.keys() : this.#unchecked)];
    this.#unchecked = new Set();
    const pieces = new TimeSlicer();
    const known: boolean[] = [];
    for (let from = 0; from < emails.length; from += POLL_BATCH) {
      const asked: Promise<boolean>[] = [];
      for (const email of emails.slice(from, from + POLL_BATCH)) {
        await pieces.next();
        asked.push(this.#endIfInactive(email));
      }
      known.push(...(await Promise.all(asked)));
    }
    if (all && known.every((one) => one)) this.#checked = { revision, at: now };
  }

  /** Whether it is known. */
  async #endIfInactive(email: string): Promise<boolean> {
    const active = await this.#isActive(email);
    if (active === null) this.#unchecked.add(email);
    else if (!active) for (const session of this.#sessions.get(email) ?? []) session.end();
    return active !== null;
  }

  /** Trouble is no deactivation: whoever was allowed to read goes on, and is asked about again. */
  async #isActive(email: string): Promise<boolean | null> {
    try {
      return await this.#options.isActive(email);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'not known just now whether a reader is active');
      return null;
    }
  }

  /** Asks for all whether anything is new, and looks at those of whom there is. */
  async #poll(): Promise<void> {
    const told: StreamState[] = [];
    for (const [email, sessions] of this.#sessions) {
      const [first] = sessions;
      if (first === undefined) continue;
      told.push({ email, cursor: Math.min(...sessions.map(({ cursor }) => cursor)), count: first.count ?? 0 });
    }
    try {
      for (let from = 0; from < told.length && !this.#closed; from += POLL_BATCH) {
        const some = told.slice(from, from + POLL_BATCH);
        this.#look(await this.#options.database.read((tx) => addressesWithNews(tx, some)));
      }
    } catch (error) {
      this.#options.log.debug({ err: error }, 'it was not asked for what no signal told of; it will be');
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
        session.tell(itemsOf.get(email) ?? [], counts.get(email) ?? 0);
      }
    }
  }
}
