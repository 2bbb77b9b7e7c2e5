/**
 * Tells others what changed (docs/reference/watch.md). One reader of the log, the engine's follower, serves every stream of this
 * instance. A stream keeps no queue, only the revision up to which its reader has been told: a slow reader costs nothing, and one
 * that fell behind what the follower remembers is told from the log itself.
 */

import type { Clock } from '../base/clock.ts';
import { UsherError, unavailable } from '../base/errors.ts';
import { TimeSlicer } from '../base/time-slice.ts';
import type { EngineLog } from './follower.ts';
import { type Change, type ChangeHistory, formatRevision, type Revision, type RevisionToken } from './types.ts';
import { type WatchBatch, type WatchRequest, WatchStream } from './watch-stream.ts';

export type { WatchBatch, WatchRequest, WatchStream } from './watch-stream.ts';

/** The end of the change log, as an instance follows it. */
export interface ChangeTail {
  readonly head: RevisionToken;
  /** Monotonic milliseconds: when the newest read of the log that counted was sent. */
  readonly syncedAt: number;
  /** The changes after `mark`, ascending; null where they are not remembered, or where `mark` is of another history. */
  after(mark: RevisionToken): readonly Change[] | null;
  /** Reads the log by a statement that begins after this call. Rejects with UNAVAILABLE. */
  sync(): Promise<Revision | null>;
  /** Calls `moved` whenever the newest revision is another one; there is one listener. */
  onMove(moved: () => void): void;
}

export interface WatchOptions {
  readonly tail: ChangeTail;
  readonly history: ChangeHistory;
  readonly clock: Clock;
  readonly log: EngineLog;
}

/** Milliseconds between looks at the streams, for those to which nothing happens. */
const TICK_MS = 250;
/** A reader is told the newest revision at this interval even when nothing changed: at least every 2 s, whatever the timers do. */
const BEAT_MS = 1000;
/** A message names a revision as the newest only if the log was read within this time before. */
const FRESH_MS = 1000;
/** A reader that has not taken a message for this long is ended. */
const SLOW_MS = 5000;
/** The log has not been readable for this long: the reader had better ask another instance. */
const AWAY_MS = 10_000;
/** Changes are told at once, then at most once in this time for each open stream, all together at most once in MOST_MS. */
const PER_STREAM_MS = 0.1;
const MOST_MS = 100;
/** Streams that are told in one turn of the event loop. */
const TOLD_AT_ONCE = 20;
/** Rows of the log in one read. */
const MAX_ROWS = 500;
/** Scopes in one message, but for those of its last row, of which there are at most 200. */
const MAX_SCOPES = 800;

export class Watch {
  readonly #options: WatchOptions;
  readonly #streams = new Set<WatchStream>();
  /** Reads of the log that are under way, by where they begin and end. */
  readonly #pages = new Map<string, Promise<readonly Change[] | null>>();
  #telling: Promise<void> | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;
  #again = false;
  #cancelTelling: (() => void) | undefined;
  #cancelTick: () => void = () => undefined;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    options.tail.onMove(() => this.#tellSoon());
  }

  /** The newest revision that this instance has read. */
  get head(): RevisionToken {
    return this.#options.tail.head;
  }

  /** The number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** The number of open streams of a kind. */
  count(kind: NonNullable<WatchRequest['kind']>): number {
    let count = 0;
    for (const { request } of this.#streams) if (request.kind === kind) count++;
    return count;
  }

  /**
   * A stream of the changes from now on, or after `since`. Its first message comes at once. It ends with UNAVAILABLE when the
   * service closes or cannot read the log, with RATE_LIMITED when its reader does not read, with UNAUTHENTICATED when the
   * reader is no longer admitted.
   */
  open(request: WatchRequest): WatchStream {
    const host = { asked: () => this.#asked(stream), over: () => this.#over(stream) };
    const stream: WatchStream = new WatchStream(request, host, this.#now());
    if (this.#closed) stream.end(unavailable('The service is shutting down.'));
    else {
      this.#streams.add(stream);
      if (this.#streams.size === 1) this.#tick();
    }
    return stream;
  }

  /** Ends every stream. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTick();
    this.#cancelTelling?.();
    for (const stream of this.#streams) stream.end(unavailable('The service is shutting down.'));
    await Promise.allSettled([this.#telling, ...this.#pages.values()]);
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }

  #over(stream: WatchStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this.#cancelTick();
  }

  /** The reader waits for its next message. */
  #asked(stream: WatchStream): void {
    if (!stream.hasBegun) void this.#begin(stream);
    else if (this.#isBehind(stream)) this.#tellSoon();
  }

  async #begin(stream: WatchStream): Promise<void> {
    const { tail } = this.#options;
    stream.beginReading();
    try {
      // So that a reader which has just written is told of a revision that is not older.
      await tail.sync();
    } catch (error) {
      stream.end(error);
      return;
    }
    stream.beginAt(stream.request.since ?? tail.head);
    if (this.#isBehind(stream)) this.#tell(stream, new Map());
    else this.#say(stream, toldAt(stream.cursor));
  }

  #isBehind({ cursor }: WatchStream): boolean {
    const { number, nonce } = this.#options.tail.head;
    return cursor.number !== number || cursor.nonce !== nonce;
  }

  #tick(): void {
    this.#cancelTick = this.#options.clock.after(TICK_MS, () => {
      const now = this.#now();
      for (const stream of this.#streams) this.#judge(stream, now);
      this.#tellSoon();
      if (this.#streams.size > 0 && !this.#closed) this.#tick();
    });
  }

  #judge(stream: WatchStream, now: number): void {
    const silent = now - stream.toldAt;
    if (!stream.isAdmitted)
      stream.end(new UsherError('UNAUTHENTICATED', 'The key of this stream is no longer accepted.'));
    else if (!stream.isWaiting && silent > SLOW_MS) {
      stream.end(new UsherError('RATE_LIMITED', 'The stream was not read for too long; go on from the last revision.'));
    } else if (stream.isWaiting && silent > AWAY_MS) stream.end(unavailable('The changes cannot be read for now.'));
  }

  /** Tells all who wait: at once, or as soon as PER_STREAM_MS allows. */
  #tellSoon(): void {
    if (this.#closed || this.#streams.size === 0 || this.#cancelTelling !== undefined) return;
    if (this.#telling !== undefined) {
      this.#again = true;
      return;
    }
    const left = this.#toldAt + Math.min(MOST_MS, this.#streams.size * PER_STREAM_MS) - this.#now();
    if (left <= 0) this.#tellNow();
    else this.#cancelTelling = this.#options.clock.after(left, () => this.#tellNow());
  }

  #tellNow(): void {
    this.#cancelTelling = undefined;
    this.#again = false;
    this.#telling = this.#tellAll().finally(() => {
      this.#telling = undefined;
      this.#toldAt = this.#now();
      if (this.#again) this.#tellSoon();
    });
  }

  async #tellAll(): Promise<void> {
    const pieces = new TimeSlicer(TOLD_AT_ONCE);
    const shared = new Map<string, WatchBatch>();
    for (const stream of this.#streams) {
      if (!stream.isWaiting || stream.isReading) continue;
      if (this.#isBehind(stream)) {
        await pieces.next();
        this.#tell(stream, shared);
      } else if (this.#isBeatDue(stream)) {
        await pieces.next();
        this.#beat(stream, shared);
      }
    }
  }

  #isBeatDue({ toldAt }: WatchStream): boolean {
    return this.#now() - toldAt >= BEAT_MS;
  }

  /** Says that nothing newer is known, where that was read just now. */
  #beat(stream: WatchStream, shared: Map<string, WatchBatch>): void {
    const { tail } = this.#options;
    if (this.#isBehind(stream) || this.#now() - tail.syncedAt > FRESH_MS) return;
    const key = `at ${formatRevision(stream.cursor)}`;
    const told = shared.get(key) ?? toldAt(stream.cursor);
    shared.set(key, told);
    this.#say(stream, told);
  }

  /** `shared` holds the messages to readers of all applications: each is made, and encoded, once. */
  #tell(stream: WatchStream, shared: Map<string, WatchBatch>): void {
    const { cursor, request } = stream;
    if (stream.isReading) return;
    const changes = this.#options.tail.after(cursor);
    if (changes === null) {
      void this.#tellFromLog(stream);
      return;
    }
    const key = `after ${formatRevision(cursor)}`;
    // One made earlier in this round may end before the newest change: its own end counts.
    const told = (request.apps === null ? shared.get(key) : undefined) ?? tell(changes, request.apps, cursor);
    if (request.apps === null) shared.set(key, told);
    this.#say(stream, told);
    if (this.#isBehind(stream)) this.#tellSoon();
  }

  #say(stream: WatchStream, batch: WatchBatch): void {
    if (stream.moveTo(batch)) stream.say(batch, this.#now());
  }

  /** Where the follower does not remember what the reader has missed. Never rejects. */
  async #tellFromLog(stream: WatchStream): Promise<void> {
    const { tail, log } = this.#options;
    stream.beginReading();
    try {
      const changes = await this.#page(stream.cursor);
      // The newest revision must be of the history in which the reader's is not.
      if (changes === null) await tail.sync();
      if (stream.isOver) return;
      if (changes === null) this.#say(stream, toldAt(tail.head, true));
      else this.#say(stream, tell(changes, stream.request.apps, stream.cursor));
    } catch (error) {
      // The next tick tries again; a reader that gets no word for too long is ended.
      log.debug({ err: error }, 'change log not readable for a stream; retrying');
      return;
    } finally {
      stream.endReading();
    }
    if (this.#isBehind(stream)) this.#tellSoon();
  }

  /** One read for all streams that stand at the same revision. */
  #page(mark: RevisionToken): Promise<readonly Change[] | null> {
    const { tail, history } = this.#options;
    const upTo = tail.head.number;
    // Ahead of this instance: of a history that it does not have.
    if (mark.number > upTo) return Promise.resolve(null);
    const key = `${formatRevision(mark)} ${upTo}`;
    const known = this.#pages.get(key);
    if (known !== undefined) return known;
    const page = history(mark, upTo, MAX_ROWS)
      // A log that ends before the newest revision read here is of another history.
      .then((changes) => (changes?.length === 0 ? null : changes))
      .finally(() => this.#pages.delete(key));
    this.#pages.set(key, page);
    return page;
  }
}

/** Nothing but the newest revision. */
function toldAt(end: RevisionToken, reset = false): WatchBatch {
  return { from: end, end, rows: [], scopes: [], reset };
}

/** The first of the changes, as many as fit a message; of all applications or of some. At least one change. */
function tell(changes: readonly Change[], apps: ReadonlySet<string> | null, from: RevisionToken): WatchBatch {
  const scopes = new Set<string>();
  const rows: Change[] = [];
  let end: RevisionToken = { number: 0, nonce: null };
  for (const change of changes) {
    if (scopes.size > MAX_SCOPES) break;
    for (const scope of change.scopes) if (apps === null || concerns(scope, apps)) scopes.add(scope);
    rows.push(change);
    end = { number: change.revision, nonce: change.nonce };
  }
  return { from, end, rows, scopes: [...scopes], reset: false };
}

/** Whether a scope is of one of the applications, or may be. */
function concerns(scope: string, apps: ReadonlySet<string>): boolean {
  const [kind, app = ''] = scope.split(':');
  return kind === 'p' || kind === 'a' || kind === 'm' ? apps.has(app) : true;
}
