/**
 * Streams of notifications to signed-in users (contract 6). Every stream of this instance is served from one place: what came
 * is read for all of them together, when a send here or in another instance says so, and now and then in any case.
 */

import type { Clock } from '../clock.ts';
import type { Database } from '../persistence/database.ts';
import { countUnread, countUnreadOf, listBehind, newestIn } from '../persistence/notifications/inbox.ts';
import type { Logger } from '../telemetry.ts';
import { type StreamEvent, StreamSession } from './stream-session.ts';

export type { StreamEvent } from './stream-session.ts';

/** Of one user in one instance; one more ends the oldest. */
const MAX_STREAMS = 10;
/** Missed notifications that are told at most, the newest of them. */
const MAX_MISSED = 200;
/** Persons that are looked up in one statement. */
const BATCH = 100;
/** Milliseconds between looks at who may still read. A deactivation is known within half a second. */
const WATCH_MS = 250;
/** Milliseconds between looks for what no signal told of. */
const POLL_MS = 5000;
const HEARTBEAT_MS = 15_000;

export interface InboxStreamsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** Whether the address's person is active, as the engine knows it. */
  readonly isActive: (email: string) => Promise<boolean>;
}

export class InboxStreams {
  readonly #options: InboxStreamsOptions;
  readonly #sessions = new Map<string, StreamSession[]>();
  #dirty = new Set<string>();
  #looking: Promise<void> | undefined;
  #listening: Promise<(() => Promise<void>) | null> | undefined;
  #cancelWatch: () => void = () => undefined;
  #polledAt = 0;
  #beatAt = 0;
  #closed = false;

  constructor(options: InboxStreamsOptions) {
    this.#options = options;
  }

  /**
   * What happens in somebody's inbox from now on, or behind `lastEventId` (at most 200 of what was missed). It ends with the
   * token, the account, the caller (`signal`), or this service. Rejects with UNAVAILABLE.
   */
  async open(
    { email, expiresAt }: { email: string; expiresAt: number },
    lastEventId: number | null,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<StreamEvent> & { readonly ended: AbortSignal }> {
    const { newest, missed, count } = await this.#options.database.read(async (tx) => {
      const last = await newestIn(tx, email);
      // An id that never was is no place to wait behind.
      const cursor = lastEventId === null ? last : Math.min(lastEventId, last);
      return {
        newest: cursor,
        missed: cursor === last ? [] : await listBehind(tx, [{ email, cursor }], MAX_MISSED),
        count: await countUnread(tx, email),
      };
    });
    const session = new StreamSession(email, expiresAt * 1000, newest);
    session.tell(missed, count);
    return Object.assign(this.#run(session, signal), { ended: session.ended });
  }

  /** What is open here, for tests of its bounds. */
  get size(): number {
    return [...this.#sessions.values()].reduce((sum, sessions) => sum + sessions.length, 0);
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
    for (const sessions of this.#sessions.values()) for (const session of sessions) session.end();
    const unlisten = await this.#listening;
    await unlisten?.();
    await this.#looking;
  }

  /** Registered with its first step, and gone with its last, however it ends. */
  async *#run(session: StreamSession, signal: AbortSignal): AsyncGenerator<StreamEvent> {
    const end = (): void => session.end();
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted || this.#closed) session.end();
    else this.#add(session);
    try {
      yield* session.events();
    } finally {
      session.end();
      signal.removeEventListener('abort', end);
      this.#remove(session);
    }
  }

  #add(session: StreamSession): void {
    const sessions = this.#sessions.get(session.email) ?? [];
    this.#sessions.set(session.email, sessions);
    sessions.push(session);
    if (sessions.length > MAX_STREAMS) sessions.shift()?.end();
    if (this.#sessions.size === 1 && sessions.length === 1) this.#watch();
    // What came between the first look and now.
    this.#look([session.email]);
    this.#listening ??= this.#listen();
  }

  #remove(session: StreamSession): void {
    const left = (this.#sessions.get(session.email) ?? []).filter((other) => other !== session);
    if (left.length > 0) this.#sessions.set(session.email, left);
    else this.#sessions.delete(session.email);
    if (this.#sessions.size === 0) this.#cancelWatch();
  }

  async #listen(): Promise<(() => Promise<void>) | null> {
    try {
      return await this.#options.database.inboxSignals.listen((emails) => this.#look(emails ?? this.#sessions.keys()));
    } catch (error) {
      this.#options.log.warn({ err: error }, 'not listening for notifications of other instances; they are polled for');
      return null;
    }
  }

  #watch(): void {
    this.#cancelWatch();
    this.#cancelWatch = this.#options.clock.after(WATCH_MS, () => {
      void this.#check().then(() => {
        if (!this.#closed && this.#sessions.size > 0) this.#watch();
      });
    });
  }

  async #check(): Promise<void> {
    const { clock } = this.#options;
    for (const [email, sessions] of this.#sessions) {
      const active = await this.#isActive(email);
      for (const session of sessions) if (!active || clock.now() >= session.expiresAt) session.end();
    }
    const now = clock.monotonic();
    if (now - this.#polledAt >= POLL_MS) {
      this.#polledAt = now;
      this.#look(this.#sessions.keys());
    }
    if (now - this.#beatAt >= HEARTBEAT_MS) {
      this.#beatAt = now;
      for (const sessions of this.#sessions.values()) for (const session of sessions) session.beat();
    }
  }

  /** Trouble is no deactivation: whoever was allowed to read goes on. */
  async #isActive(email: string): Promise<boolean> {
    try {
      return await this.#options.isActive(email);
    } catch (error) {
      this.#options.log.debug({ err: error }, 'not known just now whether a reader is active');
      return true;
    }
  }

  #look(emails: Iterable<string>): void {
    for (const email of emails) if (this.#sessions.has(email)) this.#dirty.add(email);
    if (this.#dirty.size === 0 || this.#closed) return;
    this.#looking ??= this.#lookAll();
  }

  async #lookAll(): Promise<void> {
    while (this.#dirty.size > 0 && !this.#closed) {
      const emails = [...this.#dirty].slice(0, BATCH);
      for (const email of emails) this.#dirty.delete(email);
      try {
        await this.#lookAt(emails);
      } catch (error) {
        this.#options.log.warn(
          { err: error },
          'notifications were not read for streams; they will be with the next look',
        );
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
      items: await listBehind(tx, positions, MAX_MISSED),
      counts: await countUnreadOf(tx, emails),
    }));
    const itemsOf = Map.groupBy(items, ({ email }) => email);
    for (const { email } of positions) {
      for (const session of this.#sessions.get(email) ?? []) {
        session.tell(itemsOf.get(email) ?? [], counts.get(email) ?? 0);
      }
    }
  }
}
