/**
 * Streams that tell signed-in users when decisions about them may have changed (docs/reference/watch.md#stream-for-a-user). One
 * stream of the instance's changes serves them all; a reader is told of the applications that they are in.
 */

import { scopeOf } from '../administration/changed-scopes.ts';
import { certain } from '../base/certain.ts';
import type { Clock } from '../base/clock.ts';
import { EventStream } from '../base/event-stream.ts';
import { OpenStreams } from '../base/open-streams.ts';
import type { Logger } from '../base/telemetry.ts';
import { TimeSlicer } from '../base/time-slice.ts';
import { formatRevision, type PersonFacts, type RevisionToken } from '../engine/types.ts';
import type { Watch, WatchBatch, WatchStream } from '../engine/watch.ts';

export type PermissionEvent =
  | {
      readonly event: 'permissions';
      readonly revision: string;
      /** The codes of the applications; empty: any may be concerned. */
      readonly apps: readonly string[];
    }
  /** Where a reader begins: it resumes from there. */
  | { readonly event: 'position'; readonly revision: string };

export interface PermissionStreamsOptions {
  readonly watch: Pick<Watch, 'open' | 'head'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The person of that address, as the engine has it. Rejects with UNAVAILABLE. */
  readonly person: (email: string) => Promise<PersonFacts>;
  /** The codes of the applications that each of these people is in. Rejects with UNAVAILABLE. */
  readonly applicationsOf: (emails: readonly string[]) => Promise<ReadonlyMap<string, ReadonlySet<string>>>;
}

/** Milliseconds between looks at expired tokens and silent connections. */
const CHECK_MS = 250;
/** Milliseconds until changes are asked for again after they could not be read. */
const AGAIN_MS = 500;

/** People in one statement. */
const READ_AT_ONCE = 1000;
/** Streams written to in one turn of the event loop. */
const WRITTEN_AT_ONCE = 20;

/** Which changes concern a reader. */
interface Concern {
  readonly superadmin: boolean;
  readonly apps: ReadonlySet<string>;
}

const NOTHING: Concern = { superadmin: false, apps: new Set() };

class PermissionStream extends EventStream<PermissionEvent> {
  /** What happened after it is told first. */
  since: RevisionToken = { number: 0, nonce: null };
  concern: Concern = NOTHING;
}

export class PermissionStreams {
  readonly #options: PermissionStreamsOptions;
  readonly #open: OpenStreams<PermissionStream>;
  readonly #concerns = new Map<string, Concern>();
  #feed: WatchStream | undefined;
  /** The feed has begun: a stream that catches up after it misses nothing. */
  #fed = Promise.withResolvers<void>();
  #following: Promise<void> | undefined;
  #cancelCheck: () => void = () => undefined;
  #closed = false;

  constructor(options: PermissionStreamsOptions) {
    this.#options = options;
    this.#open = new OpenStreams(options.clock);
  }

  /**
   * Streams hints for the caller from now on, or from the revision `last`. The stream ends when the token expires, the user is
   * deactivated, the service closes or the reader leaves. Rejects with UNAVAILABLE.
   */
  async open(
    caller: { email: string; expiresAt: number },
    last: RevisionToken | null,
  ): Promise<EventStream<PermissionEvent>> {
    const stream = new PermissionStream({ ...caller, expiresAt: caller.expiresAt * 1000 }, this);
    // Read before the caller's applications: a change between the two is told.
    stream.since = last ?? this.#options.watch.head;
    stream.concern = (await this.#read([caller.email])).get(caller.email) ?? NOTHING;
    return stream;
  }

  /** The number of open streams, for tests of the limits. */
  get size(): number {
    return this.#open.size;
  }

  /** Ends every stream. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#open.end();
    await this.#following;
  }

  /** Called by the stream when its first event is requested. */
  begun(stream: PermissionStream): void {
    if (this.#closed) {
      stream.end();
      return;
    }
    if (this.#open.isEmpty) this.#check();
    this.#open.add(stream);
    if (!this.#concerns.has(stream.email)) this.#concerns.set(stream.email, stream.concern);
    this.#following ??= this.#follow();
    void this.#catchUp(stream);
  }

  /** Called by the stream when it ends. */
  over(stream: PermissionStream): void {
    if (this.#open.remove(stream)) this.#concerns.delete(stream.email);
    if (!this.#open.isEmpty) return;
    this.#cancelCheck();
    this.#feed?.end();
  }

  #check(): void {
    this.#cancelCheck = this.#options.clock.after(CHECK_MS, () => {
      this.#open.check();
      if (!this.#open.isEmpty) this.#check();
    });
  }

  /** Tells a new stream what happened since the revision at which it begins. Never rejects. */
  async #catchUp(stream: PermissionStream): Promise<void> {
    const { watch, log } = this.#options;
    await this.#fed.promise;
    const missed = watch.open({ apps: null, since: stream.since });
    try {
      const { value } = await missed.next();
      if (value === undefined || stream.isOver) return;
      stream.push({ event: 'position', revision: formatRevision(stream.since) });
      // Changes of more than one message are not told one by one; of a deleted application nobody knows any more who was in it.
      const isAll = value.end.number !== watch.head.number || value.scopes.some((scope) => scope.startsWith('a:'));
      this.#tellOne(stream, newsOf({ ...value, reset: value.reset || isAll }));
      stream.flush();
    } catch (error) {
      log.debug({ err: error }, 'changes not readable for a stream; its reader asks again');
      stream.end();
    } finally {
      missed.end();
    }
  }

  /** Follows the changes while there are streams. Never rejects. */
  async #follow(): Promise<void> {
    const { watch, clock, log } = this.#options;
    let told: RevisionToken | null = null;
    while (!this.#closed && !this.#open.isEmpty) {
      this.#feed = watch.open({ apps: null, since: told });
      try {
        for await (const batch of this.#feed) {
          await this.#tell(batch);
          told = batch.end;
          this.#fed.resolve();
        }
      } catch (error) {
        log.debug({ err: error }, 'changes not readable for streams; retrying');
        await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
      }
    }
    this.#fed.resolve();
    this.#fed = Promise.withResolvers();
    this.#following = undefined;
  }

  async #tell(batch: WatchBatch): Promise<void> {
    if (batch.scopes.length === 0 && !batch.reset) return;
    const news = newsOf(batch);
    const isRead = (email: string): boolean => this.#concerns.has(email);
    const people = (news.isAll ? [...this.#concerns.keys()] : [...news.people.keys()]).filter(isRead);
    const pieces = new TimeSlicer(WRITTEN_AT_ONCE);
    for (let from = 0; from < people.length; from += READ_AT_ONCE) {
      for (const [email, concern] of await this.#read(people.slice(from, from + READ_AT_ONCE))) {
        if (concern === null) for (const stream of this.#open.of(email)) stream.end();
        else if (this.#concerns.has(email)) this.#concerns.set(email, concern);
      }
    }
    for (const stream of this.#open.all()) {
      await pieces.next();
      this.#tellOne(stream, news);
      stream.flush();
    }
  }

  #tellOne(stream: PermissionStream, { revision, isAll, people, apps }: News): void {
    const named = people.get(stream.email);
    if (isAll || named === 'everywhere') {
      stream.push({ event: 'permissions', revision, apps: [] });
      return;
    }
    const { superadmin, apps: own } = this.#concerns.get(stream.email) ?? NOTHING;
    const concerned = new Set(named);
    for (const app of apps) if (superadmin || own.has(app)) concerned.add(app);
    if (concerned.size > 0) stream.push({ event: 'permissions', revision, apps: [...concerned].toSorted() });
  }

  /** What concerns these people; null for who is not active. */
  async #read(emails: readonly string[]): Promise<ReadonlyMap<string, Concern | null>> {
    const { applicationsOf, person } = this.#options;
    const people = await Promise.all(emails.map(person));
    const apps = await applicationsOf(emails);
    return new Map(
      people.map(({ active, superadmin }, index) => {
        const email = certain(emails[index]);
        return [email, active ? { superadmin, apps: apps.get(email) ?? new Set<string>() } : null];
      }),
    );
  }
}

/** What changed, by whom it may concern. */
interface News {
  readonly revision: string;
  /** Everything may have changed. */
  readonly isAll: boolean;
  /** The applications in which these people changed. */
  readonly people: ReadonlyMap<string, Set<string> | 'everywhere'>;
  /** The applications that changed for everybody in them. */
  readonly apps: ReadonlySet<string>;
}

function newsOf({ end, scopes, reset }: WatchBatch): News {
  const people = new Map<string, Set<string> | 'everywhere'>();
  const apps = new Set<string>();
  let isAll = reset;
  for (const { application, email } of scopes.map(scopeOf)) {
    if (email === undefined) {
      if (application === undefined) isAll = true;
      else apps.add(application);
    } else if (application === undefined) people.set(email, 'everywhere');
    else {
      const known = people.get(email) ?? new Set<string>();
      if (known !== 'everywhere') people.set(email, known.add(application));
    }
  }
  return { revision: formatRevision(end), isAll, people, apps };
}
