import { unavailable } from '../base/errors.ts';
import { isKnownScope } from './facts.ts';
import type { FollowerOptions, Ticket } from './follower-options.ts';
import { MissingRevision } from './missing-revision.ts';
import { unknownRevision } from './question.ts';
import { RecentChanges } from './recent-changes.ts';
import {
  type Change,
  formatRevision,
  isOfOtherHistory,
  type LogNews,
  type LogWindow,
  type Revision,
  type RevisionToken,
} from './types.ts';
import { toUnavailable, within } from './waiting.ts';
import { WakeUps } from './wake-ups.ts';

export type { EngineLog, Ticket } from './follower-options.ts';

const RECENT = 1024;
const POLL_MS = 250;
/** A statement that takes longer counts as failed, whatever the source does. */
export const STATEMENT_MS = 5000;
/** Replies in a row that a waiting `reach` may see discarded. */
const DISCARDED = 20;

/**
 * Follows the change log: `cursor` is the revision that all live facts are true of (docs/freshness.md). Everything between
 * two awaits is atomic; a reply is applied in one turn.
 */
export class Follower {
  readonly #options: FollowerOptions;
  #cursor: Revision = 0;
  /** The cursor as callers see it; made at its first use. */
  #text: string | undefined;
  #fence = 0;
  #statements = 0;
  /** The latest applied changes, up to the cursor. */
  readonly #recent: RecentChanges;
  /** Revisions before the floor that callers have sent and that proved to belong to this history. */
  readonly #confirmed = new Map<Revision, string>();
  #syncedAt = Number.NEGATIVE_INFINITY;
  #provenAt = Number.NEGATIVE_INFINITY;
  #running: Promise<Revision | null> | undefined;
  #next: Promise<Revision | null> | undefined;
  #away = false;
  /** The next read of the log is for somebody who needs one that begins now. */
  #mustBeFresh = false;
  /** Whether the newest read of the log was of a standby. */
  #onStandby = false;
  #closed = false;
  #cancelPoll: (() => void) | undefined;
  #unlisten: (() => Promise<void>) | undefined;
  #onMove: () => void = () => undefined;
  readonly #wakeUps: WakeUps;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#wakeUps = new WakeUps(options.clock, () => this.#readAsTold());
    this.#recent = new RecentChanges(options.recent ?? RECENT);
  }

  get cursor(): Revision {
    return this.#cursor;
  }

  /** The cursor as callers see it. The same string until it moves. */
  get revision(): string {
    this.#text ??= formatRevision({ number: this.#cursor, nonce: this.nonce });
    return this.#text;
  }

  /**
   * Whether all live facts are as fresh as `mark`, as far as known without reading the log: false for a mark of another history
   * or of an unknown one.
   */
  isReached({ number, nonce }: RevisionToken): boolean {
    if (number === 0) return true;
    if (nonce === null || number > this.#cursor) return false;
    return (this.#recent.nonceAt(number) ?? this.#confirmed.get(number)) === nonce;
  }

  /** The same for a question that has waited: then the number alone is enough. */
  isMet(mark: RevisionToken, hasWaited: boolean): boolean {
    return this.isReached(mark) || (hasWaited && mark.nonce === null && mark.number <= this.#cursor);
  }

  /** Another number whenever everything was forgotten. */
  get fence(): number {
    return this.#fence;
  }

  /** Monotonic milliseconds: when the newest statement that was applied was sent. */
  get syncedAt(): number {
    return this.#syncedAt;
  }

  /** The same, of statements that were sent since everything was forgotten last. */
  get provenAt(): number {
    return this.#provenAt;
  }

  /** The nonce of the log row at the cursor, which identifies the history. Null when it is unknown. */
  get nonce(): string | null {
    return this.#recent.nonceAt(this.#cursor);
  }

  /** The latest applied changes, for facts that a replica read. */
  get recent(): Pick<RecentChanges, 'floor' | 'nonceAt' | 'scopesAfter'> {
    return this.#recent;
  }

  /** The newest revision that was read. */
  get head(): RevisionToken {
    return { number: this.#cursor, nonce: this.nonce };
  }

  /** The latest changes after `mark`, ascending; null where they are not remembered here, or where `mark` is of another history. */
  after(mark: RevisionToken): readonly Change[] | null {
    return this.#recent.after(mark);
  }

  /** What a read of the log at the cursor would say; null where not all of it is remembered. */
  windowAfter(since: Revision): LogWindow | null {
    const window = this.#recent.window(since, this.head);
    return window !== null && this.#onStandby ? { ...window, standby: true } : window;
  }

  /** Calls `moved`, which must not throw, whenever the newest revision is another one. */
  onMove(moved: () => void): void {
    this.#onMove = moved;
  }

  /** Take it when a statement is sent, in the same turn. */
  ticket(): Ticket {
    const [statement, sentAt] = [++this.#statements, this.#options.clock.monotonic()];
    return { since: this.#cursor, fence: this.#fence, nonce: this.nonce, sentAt, statement };
  }

  /** Applies the log in a reply. Returns whether its facts may be stored, each after `touched`. */
  apply(ticket: Ticket, window: LogWindow): boolean {
    if (this.isStale(ticket)) return false;
    this.#provenAt = Math.max(this.#provenAt, ticket.sentAt - (window.ageMs ?? 0));
    this.#syncedAt = Math.max(this.#syncedAt, this.#provenAt);
    if (this.isOtherHistory(ticket, window)) {
      this.#rebase(window, ticket);
      return false;
    }
    if (ticket.since === this.#recent.floor) this.#recent.learnFloor(window.sinceNonce);
    if (window.head <= this.#cursor) return true;
    // Fewer rows than revisions: a missing one could be the one that matters.
    if (window.tooMany || window.changes.length !== window.head - ticket.since) {
      this.#jump(window);
      return false;
    }
    this.#advance(window);
    return true;
  }

  /** Sent before the last drop: it may have been read before the event that required the drop. */
  protected isStale(ticket: Ticket): boolean {
    return ticket.fence !== this.#fence;
  }

  /** A restored database, or a failover that lost commits: revisions known here are missing or have changed. */
  protected isOtherHistory(ticket: Ticket, window: LogWindow): boolean {
    if (window.head < ticket.since) return true;
    const known = this.#nonceAtSince(ticket);
    if (known !== null && window.sinceNonce !== known) return true;
    const newest = window.head > this.#cursor ? null : this.#recent.nonceAt(window.head);
    if (newest !== null && window.headNonce !== newest) return true;
    return this.#recent.contradicts(window.changes);
  }

  /** Whether a change newer than `head` may have touched a fact of that snapshot. `app` where `a:APP` concerns it. */
  touched(head: Revision, scope: string, app: string | null): boolean {
    return this.isTooOld(head) || this.#recent.names(head, scope, app);
  }

  #nonceAtSince({ nonce, since }: Ticket): string | null {
    return nonce ?? this.#recent.nonceAt(since);
  }

  /** Changes after that snapshot are no longer remembered. */
  protected isTooOld(head: Revision): boolean {
    return head < this.#recent.floor;
  }

  #rebase(window: LogWindow, ticket: Ticket): void {
    const { head } = window;
    const { since } = ticket;
    const fields = { revision: head, known: this.#cursor };
    if (head > since && window.sinceNonce === null && this.#nonceAtSince(ticket) !== null) {
      // After a quiet week the row known here is pruned as soon as there is a newer one.
      this.#options.log.info(fields, 'change log pruned beyond the known revision; all cached facts dropped');
    } else {
      this.#options.counters.restores++;
      this.#options.log.warn(
        fields,
        'history of the database changed (restored, or failed over); all cached facts dropped',
      );
    }
    this.#jump(window);
  }

  /** Moves the cursor first: facts read from now on must not look older than those dropped. */
  #jump({ head, headNonce }: LogWindow): void {
    this.#cursor = head;
    this.dropAll();
    this.#recent.restart(head, headNonce);
    this.#text = undefined;
    this.#onMove();
  }

  #advance(window: LogWindow): void {
    const { head, changes } = window;
    const news = changes.filter(({ revision }) => revision > this.#cursor);
    if (!news.every(({ scopes }) => scopes.every(isKnownScope))) {
      this.#options.log.info(
        { revision: head },
        'change log has an unknown scope, from a newer version; all cached facts dropped',
      );
      this.#jump(window);
      return;
    }
    for (const change of news) {
      this.kill(change);
      this.#recent.push(change);
    }
    this.#cursor = head;
    this.#text = undefined;
    this.#onMove();
  }

  protected kill({ scopes }: Change): void {
    const { facts, counters, dropped } = this.#options;
    for (const scope of scopes) facts.kill(scope);
    if (!scopes.includes('*')) return;
    // Every decision is invalid by now; clearing them frees the memory and corrects the counts.
    counters.drops++;
    dropped();
  }

  /** Drops every fact, and discards every reply to a statement already sent. */
  dropAll(): void {
    const { facts, counters, dropped } = this.#options;
    this.#recent.restart(this.#cursor, this.nonce);
    this.#confirmed.clear();
    this.#fence++;
    this.#provenAt = Number.NEGATIVE_INFINITY;
    facts.clear();
    counters.drops++;
    dropped();
  }

  /**
   * Resolves once the cursor is at `mark` or later, in its history, through a read that began after this call: after a failover
   * that lost commits, a cursor may be past a revision that it has not seen. Rejects with UNKNOWN_REVISION when the database
   * lacks it or has another one with that number; with UNAVAILABLE when the database is unavailable, or a standby that has not received it.
   */
  async reach(mark: RevisionToken): Promise<void> {
    const { number, nonce } = mark;
    const missing = new MissingRevision(this.#options.clock);
    for (let discarded = 0; discarded < DISCARDED; ) {
      const head = await this.sync();
      if (head === null) discarded++;
      else if (this.#cursor < number) {
        if (head < number) await missing.again(this.#onStandby);
      } else if (number === 0 || nonce === null || this.isReached(mark)) return;
      else if (this.#recent.nonceAt(number) !== null) throw unknownRevision();
      else if (await this.#confirm(number, nonce)) return;
      else discarded++;
    }
    throw unavailable('The service is catching up with the database; try again shortly.');
  }

  /**
   * Reads the log row of a revision before the floor. Resolves to whether it belongs to the cursor's history; false when that is
   * unknown for now. A pruned row is over a week old: then the read just made must do.
   */
  async #confirm(number: Revision, nonce: string): Promise<boolean> {
    const { source, clock } = this.#options;
    const fence = this.#fence;
    const { head, headNonce, sinceNonce } = await within(clock, STATEMENT_MS, source.changes(number, true));
    if (isOfOtherHistory({ nonce }, sinceNonce)) throw unknownRevision();
    // The row and the cursor must belong to one history: they do where the newest row is the same.
    if (head > this.#cursor) await this.sync();
    if (fence !== this.#fence || head < number || this.#recent.nonceAt(head) !== headNonce) return false;
    if (this.#confirmed.size >= RECENT) this.#confirmed.clear();
    this.#confirmed.set(number, nonce);
    return true;
  }

  /**
   * Reads the log by a statement that begins after this call; concurrent calls share one. Resolves to the newest revision
   * that it saw, null when the reply had to be discarded.
   */
  sync(): Promise<Revision | null> {
    this.#mustBeFresh = true;
    return this.#look();
  }

  /** The same for what need not be newer than what the source knows. */
  #look(): Promise<Revision | null> {
    if (this.#running === undefined) return this.#sync();
    if (this.#next === undefined) {
      const begin = () => {
        this.#next = undefined;
        return this.#sync();
      };
      this.#next = this.#running.then(begin, begin);
    }
    return this.#next;
  }

  #sync(): Promise<Revision | null> {
    // Another caller may have begun one between the end of the last and this turn.
    this.#running ??= this.#read().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #read(): Promise<Revision | null> {
    if (this.#closed) throw unavailable('The service is shutting down.');
    const { source, clock, counters, log } = this.#options;
    const [ticket, fresh] = [this.ticket(), this.#mustBeFresh];
    this.#mustBeFresh = false;
    counters.syncs++;
    try {
      const window = await within(clock, STATEMENT_MS, source.changes(ticket.since, fresh));
      if (this.#away) log.info({ revision: window.head }, 'change log readable again');
      this.#away = false;
      this.#onStandby = window.standby === true;
      const stale = this.isStale(ticket);
      this.apply(ticket, window);
      return stale ? null : window.head;
    } catch (error) {
      counters.syncFailures++;
      if (!this.#away) log.warn({ err: error }, 'change log not readable');
      this.#away = true;
      throw toUnavailable(error);
    }
  }

  /** Reads the log once, then keeps following it. Rejects when the first read fails. */
  async start(): Promise<void> {
    await this.sync();
    this.#poll();
    try {
      const unlisten = await this.#options.source.listen((news) => this.#hear(news));
      if (this.#closed) await unlisten();
      else this.#unlisten = unlisten;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'change notifications unavailable; polling instead');
    }
  }

  #poll(): void {
    if (this.#closed) return;
    const { clock, source } = this.#options;
    const every = source.pollMs ?? POLL_MS;
    this.#cancelPoll = clock.after(every * (0.8 + 0.4 * clock.random()), () => {
      // A running sync will do: it is at most one interval older than this poll.
      (this.#running ?? this.#sync()).then(
        () => this.#poll(),
        () => this.#poll(), // #read has logged it
      );
    });
  }

  /**
   * Changes that were told, as a rule soon after they were made: applied where they continue what is known here. They say nothing
   * about now, since they may have waited anywhere; only an answer to a question does.
   */
  #hear(news: LogNews | undefined): void {
    if (!this.#closed && (news === undefined || !this.advanceBy(news))) this.#wakeUps.wake();
  }

  #readAsTold(): void {
    this.#look().catch((error: unknown) => this.#options.log.debug({ err: error }, 'change notified but not readable'));
  }

  /** Applies what continues the log that is known here, or repeats it. Returns whether it did. */
  protected advanceBy(news: LogNews): boolean {
    const { since, sinceNonce, changes, head } = news;
    if (sinceNonce === null || this.#recent.nonceAt(since) !== sinceNonce) return false;
    if (changes.length !== head - since || this.#recent.contradicts(changes)) return false;
    if (head > this.#cursor) this.#advance(news);
    return true;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelPoll?.();
    this.#wakeUps.close();
    await Promise.allSettled([this.#running, this.#next, this.#unlisten?.()]);
  }
}
