/**
 * Streams of changes to administrators (docs/reference/administration.md#change-stream). The engine's follower says when the change log
 * has grown; the new rows are then read once for all streams of this instance, with what each reader may see by now.
 */

import type { Clock } from '../base/clock.ts';
import { EventStream } from '../base/event-stream.ts';
import { OpenStreams } from '../base/open-streams.ts';
import type { Logger } from '../base/telemetry.ts';
import { formatRevision, type RevisionToken } from '../engine/types.ts';
import {
  applicationsOfPeople,
  type LoggedChange,
  readChanges,
  readNonce,
} from '../persistence/administration/changes.ts';
import type { Database, Tx } from '../persistence/database.ts';
import {
  type ChangedScope,
  isSameView,
  mayAlter,
  maySeeActor,
  peopleOf,
  scopeOf,
  type View,
  viewOf,
  visibleScopes,
} from './changed-scopes.ts';
import { sightIn } from './reach.ts';

export type { ChangedScope } from './changed-scopes.ts';

export type ChangeEvent =
  | {
      readonly event: 'change';
      readonly revision: string;
      /** One without members: anything may have changed. */
      readonly scopes: readonly ChangedScope[];
      readonly actor: string | null;
    }
  /** Where a reader begins: it resumes from there. */
  | { readonly event: 'position'; readonly revision: string };

/**
 * The most revisions that a stream reports one by one; for more, and for those no longer kept, it says that anything may have
 * changed. Less than the unread events that end a stream: they are queued at once.
 */
const MAX_CHANGES = 300;
/** Milliseconds between looks at the follower. */
const WATCH_MS = 200;
/** A loss of rights makes a new revision, except by hand in the database: all readers are judged again at this interval. */
const RECHECK_MS = 10_000;
const EVERYTHING: readonly ChangedScope[] = [{}];

class ChangeStream extends EventStream<ChangeEvent> {
  /** The last revision that was reported, or left out. */
  cursor = 0;
  /** When it was opened; judged again from then on. */
  view: View | null = null;
}

interface ChangeStreamsOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** The number of the revision that this instance has reached. */
  readonly reached: () => number;
}

export class ChangeStreams {
  readonly #options: ChangeStreamsOptions;
  readonly #open: OpenStreams<ChangeStream>;
  /** What each reader may see. */
  readonly #views = new Map<string, View>();
  /** The newest row that was read: another one with its number is of another history. */
  #known: RevisionToken = { number: 0, nonce: null };
  #looking: Promise<void> | undefined;
  #judgedAt = 0;
  #cancelWatch: () => void = () => undefined;
  #closed = false;

  constructor(options: ChangeStreamsOptions) {
    this.#options = options;
    this.#open = new OpenStreams(options.clock);
  }

  /**
   * Streams the changes that an administrator may see, from now on or after the revision `last`. The stream ends when the token
   * expires, the reader is deactivated or no longer an administrator, the service closes or the reader leaves. Rejects with
   * UNAVAILABLE.
   */
  async open(
    reader: { email: string; expiresAt: number },
    last: RevisionToken | null,
  ): Promise<EventStream<ChangeEvent>> {
    const { database, reached } = this.#options;
    const number = reached();
    const stream = new ChangeStream({ ...reader, expiresAt: reader.expiresAt * 1000 }, this);
    await database.read(async (tx) => {
      stream.view = viewOf(await sightIn(tx, reader.email, null));
      const here = { number, nonce: await readNonce(tx, number) };
      const isKept = last !== null && last.number <= number && number - last.number <= MAX_CHANGES;
      const resumes = isKept && (last.number === 0 ? number === 0 : (await readNonce(tx, last.number)) === last.nonce);
      stream.cursor = resumes ? last.number : number;
      const revision = formatRevision(here);
      if (resumes || last === null)
        stream.push({ event: 'position', revision: resumes ? formatRevision(last) : revision });
      else stream.push({ event: 'change', revision, scopes: EVERYTHING, actor: null });
      if (this.#open.isEmpty) this.#known = here;
    });
    return stream;
  }

  /** The number of open streams, for tests of the limits. */
  get size(): number {
    return this.#open.size;
  }

  /** Ends every stream. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelWatch();
    this.#open.end();
    await this.#looking;
  }

  /** Called by the stream when its first event is requested. */
  begun(stream: ChangeStream): void {
    const { clock } = this.#options;
    if (this.#closed || stream.view?.isAdministrator !== true) {
      stream.end();
      return;
    }
    if (this.#open.isEmpty) {
      this.#judgedAt = clock.monotonic();
      this.#watch();
    }
    if (!this.#views.has(stream.email)) this.#views.set(stream.email, stream.view);
    this.#open.add(stream);
    // What changed since it was opened is sent at once.
    void this.#lookSoon();
  }

  /** Called by the stream when it ends. */
  over(stream: ChangeStream): void {
    if (this.#open.remove(stream)) this.#views.delete(stream.email);
    if (this.#open.isEmpty) this.#cancelWatch();
  }

  #watch(): void {
    this.#cancelWatch();
    this.#cancelWatch = this.#options.clock.after(WATCH_MS, () => {
      this.#check();
      if (!this.#closed && !this.#open.isEmpty) this.#watch();
    });
  }

  #check(): void {
    this.#open.check();
    void this.#lookSoon();
  }

  /** One look at a time; never rejects. */
  #lookSoon(): Promise<void> {
    this.#looking ??= this.#look()
      .catch((error: unknown) => {
        this.#options.log.debug({ err: error }, 'change log not readable for streams; retrying');
      })
      .finally(() => {
        this.#looking = undefined;
      });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { clock, database, reached } = this.#options;
    const upTo = reached();
    const since = Math.min(upTo, ...[...this.#open.all()].map(({ cursor }) => cursor));
    const now = clock.monotonic();
    const isDue = now - this.#judgedAt >= RECHECK_MS;
    if (this.#open.isEmpty || (upTo === since && upTo === this.#known.number && !isDue)) return;
    await database.read(async (tx) => {
      const changes = await this.#read(tx, since, upTo);
      const before = await this.#judge(tx, changes, isDue);
      const appsOf = changes === null ? new Map() : await applicationsOfPeople(tx, peopleOf(changes));
      if (changes === null) {
        const nonce = await readNonce(tx, upTo);
        this.#known = { number: upTo, nonce };
        this.#sendEverything(formatRevision(this.#known), upTo);
      } else {
        this.#known = changes.at(-1) ?? this.#known;
        for (const change of changes) this.#send(change, before, appsOf);
      }
    });
    if (isDue) this.#judgedAt = now;
  }

  /** The changes after `since`; null where some are not kept, or where the history is another one. */
  async #read(tx: Tx, since: number, upTo: number): Promise<LoggedChange[] | null> {
    const known = this.#known;
    if (upTo < known.number || upTo - since > MAX_CHANGES) return null;
    if (known.number > 0 && (await readNonce(tx, known.number)) !== known.nonce) return null;
    const changes = await readChanges(tx, { since, upTo, limit: MAX_CHANGES });
    return changes.length === upTo - since ? changes : null;
  }

  /**
   * What each reader may see by now, where the changes may alter it; returns what those whose rights changed could see before. Ends the
   * streams of who is no longer an administrator.
   */
  async #judge(tx: Tx, changes: readonly LoggedChange[] | null, all: boolean): Promise<ReadonlyMap<string, View>> {
    const scopes = changes?.flatMap((change) => change.scopes.map(scopeOf)) ?? EVERYTHING;
    const before = new Map<string, View>();
    for (const [email, old] of this.#views) {
      if (!all && !scopes.some((scope) => mayAlter(scope, email, old))) continue;
      const view = viewOf(await sightIn(tx, email, null));
      if (!view.isAdministrator) for (const stream of this.#open.of(email)) stream.end();
      if (!isSameView(view, old)) before.set(email, old);
      if (this.#views.has(email)) this.#views.set(email, view);
    }
    return before;
  }

  #sendEverything(revision: string, number: number): void {
    for (const stream of this.#open.all()) {
      stream.cursor = number;
      stream.push({ event: 'change', revision, scopes: EVERYTHING, actor: null });
      stream.flush();
    }
  }

  /** Sends a change to the readers who see a part of it, and to those whose own rights it may have altered. */
  #send(
    change: LoggedChange,
    before: ReadonlyMap<string, View>,
    appsOf: ReadonlyMap<string, ReadonlySet<string>>,
  ): void {
    const scopes = change.scopes.map(scopeOf);
    for (const [email, view] of this.#views) {
      const seen = visibleScopes(scopes, email, view, appsOf);
      const old = before.get(email);
      const isAltered = old !== undefined && scopes.some((scope) => mayAlter(scope, email, old));
      if (isAltered && !seen.some((scope) => scope.email === email)) seen.push({ email });
      const actor = maySeeActor(seen, view) ? change.actor : null;
      const event: ChangeEvent = { event: 'change', revision: formatRevision(change), scopes: seen, actor };
      for (const stream of this.#open.of(email)) {
        if (change.number <= stream.cursor) continue;
        stream.cursor = change.number;
        if (seen.length > 0) stream.push(event);
        stream.flush();
      }
    }
  }
}
