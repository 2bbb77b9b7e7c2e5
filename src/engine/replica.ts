/**
 * Facts from a replica of the database, which may be behind it by any time (docs/freshness.md#replicas). The log is never read there:
 * a fact counts where the log of the primary says that nothing has changed it since, and is then true at the cursor.
 */

import { CircuitBreaker, type Patience } from '../base/circuit-breaker.ts';
import type { Clock } from '../base/clock.ts';
import type { ReplicaCounters, ReplicaPause } from './counters.ts';
import type { Facts } from './facts.ts';
import type { Follower, Ticket } from './follower.ts';
import type { EngineLog } from './follower-options.ts';
import type { FactsReply, LogHead, MemberAnswer, MemberNeed, ReplicaSource, Revision } from './types.ts';
import { within } from './waiting.ts';

export interface ReplicaOptions {
  source: ReplicaSource;
  clock: Clock;
  facts: Facts;
  follower: Follower;
  counters: ReplicaCounters;
  log: EngineLog;
  /** How old the reading of the log may be that facts are compared with. What is left of a fact's life must be worth storing it. */
  maxAgeMs: number;
  patience?: Patience;
}

/** How long a replica may take. The primary is asked then, so that a replica which hangs costs little. */
const ANSWER_MS = 250;
/** The primary answers as well: a replica is left alone after one failure, and tried again soon. */
const PATIENCE: Patience = { threshold: 1, firstMs: 1000, longestMs: 15_000 };
const REPLICA = 'replica';

const PAUSED: Readonly<Record<ReplicaPause, string>> = {
  failed: 'the replica for facts does not answer; the primary is asked instead',
  'other-history': 'the replica for facts has another history; the primary is asked instead',
  'too-old': 'the replica for facts is too far behind; the primary is asked instead',
};

/** What a reply is good for. */
export type Standing = 'behind' | 'ahead' | 'other-history' | 'too-old' | 'unproven';

export class Replica {
  readonly #options: ReplicaOptions;
  readonly #breaker: CircuitBreaker;
  #probing = false;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#breaker = new CircuitBreaker(options.clock, options.patience ?? PATIENCE);
  }

  /** Stores the facts that are proven; resolves to the needs that are left for the primary. Never rejects. */
  async members(needs: readonly MemberNeed[]): Promise<readonly MemberNeed[]> {
    let left = needs;
    await this.#read(
      (since) => this.#options.source.members(since, needs),
      ({ answers, window: { head } }, { statement }) => {
        if (answers.length !== needs.length) throw new Error("The replica's answers do not match the needs.");
        const changed = this.scopesAfter(head);
        left = needs.filter((_, index) => !this.#storeMember(answers[index] as MemberAnswer, head, changed, statement));
        return left.length === 0;
      },
    );
    const { counters } = this.#options;
    counters.needs.primary += left.length;
    counters.needs.replica += needs.length - left.length;
    return left;
  }

  /** The same for one application's policy: whether it was stored. */
  async policy(app: string): Promise<boolean> {
    let isStored = false;
    await this.#read(
      (since) => this.#options.source.policy(since, app),
      ({ policy, window: { head } }) => {
        if (this.#isPolicyChanged(app, this.scopesAfter(head))) return false;
        const { revision, readAt } = this.provenAs(head);
        this.#options.facts.putPolicy(policy, revision, readAt);
        isStored = true;
        return true;
      },
    );
    return isStored;
  }

  /** `store` returns whether nothing is left for the primary. It runs in the turn in which the reply was judged. */
  async #read<R extends FactsReply>(
    ask: (since: Revision) => Promise<R>,
    store: (reply: R, ticket: Ticket) => boolean,
  ): Promise<void> {
    const { clock, follower, counters } = this.#options;
    if (!this.isProven()) {
      counters.results.unproven++;
      return;
    }
    if (counters.paused !== null) {
      counters.results.paused++;
      void this.#probe();
      return;
    }
    const ticket = follower.ticket();
    try {
      const reply = await within(clock, ANSWER_MS, ask(ticket.since));
      if (this.standing(ticket, reply.window) === 'ahead') await this.#catchUp();
      const standing = this.standing(ticket, reply.window);
      if (standing === 'behind') {
        counters.behind = follower.cursor - reply.window.head;
        counters.results[store(reply, ticket) ? 'replica' : 'both']++;
        return;
      }
      counters.results[standing]++;
      if (standing === 'other-history' || standing === 'too-old') this.#pause(standing, { head: reply.window.head });
    } catch (error) {
      counters.results.failed++;
      this.#pause('failed', { err: error });
    }
  }

  /**
   * Whether the log was read lately, and since everything was forgotten: else a fact could be compared with a log that lacks a write
   * which was acknowledged here.
   */
  protected isProven(): boolean {
    const { clock, follower, maxAgeMs } = this.#options;
    return clock.monotonic() - follower.provenAt <= maxAgeMs;
  }

  /**
   * What a reply is good for. One that is ahead of the primary itself shows a commit that may still be lost. One that is behind ends
   * with a row that is known here: up to there both are one history.
   */
  protected standing(ticket: Ticket, { head, headNonce }: LogHead): Standing {
    const { cursor, fence, recent } = this.#options.follower;
    if (ticket.fence !== fence || !this.isProven()) return 'unproven';
    if (head > cursor) return 'ahead';
    if (headNonce === null || head < recent.floor) return 'too-old';
    return recent.nonceAt(head) === headNonce ? 'behind' : 'other-history';
  }

  /** What has changed since that revision, by the log of the primary. */
  protected scopesAfter(head: Revision): ReadonlySet<string> {
    return this.#options.follower.recent.scopesAfter(head);
  }

  /**
   * The revision that a fact is true of, and when that was the newest one: what nothing has changed since the snapshot `head` is true
   * at the cursor.
   */
  protected provenAs(_head: Revision): { revision: Revision; readAt: number } {
    const { cursor, provenAt } = this.#options.follower;
    return { revision: cursor, readAt: provenAt };
  }

  /** Most replies that are ahead show a commit of another instance which this one has not heard of yet. */
  async #catchUp(): Promise<void> {
    // Failing that, the reply stays ahead, and the primary is asked.
    const { clock, follower } = this.#options;
    await within(clock, ANSWER_MS, follower.sync()).catch(() => undefined);
  }

  #storeMember(
    answer: MemberAnswer,
    head: Revision,
    changed: ReadonlySet<string>,
    statement: Ticket['statement'],
  ): boolean {
    const { facts, counters } = this.#options;
    const { person, member, overrides } = answer;
    if (this.isTimed(answer)) {
      counters.timed++;
      return false;
    }
    if (changed.has('*') || changed.has(`u:${person.email}`) || this.isMemberChanged(answer, changed)) return false;
    const { revision, readAt } = this.provenAs(head);
    const timing = { statement, ends: null };
    facts.putPerson(person, revision, readAt, timing);
    if (member.app === '') return true;
    facts.putMember(member, revision, readAt, timing);
    if (overrides !== null) facts.putOverrides(overrides, answer, revision, readAt, timing);
    return true;
  }

  /** Whether a grant in it has a beginning or an end, past or to come: whether it counts is told by the clock of the primary alone. */
  protected isTimed({ boundaries: { person, member, overrides } }: MemberAnswer): boolean {
    return person !== null || member !== null || overrides !== null;
  }

  protected isMemberChanged({ member }: MemberAnswer, changed: ReadonlySet<string>): boolean {
    const { app, email, appId } = member;
    if (app === '') return false;
    if (changed.has(`m:${app}:${email}`) || changed.has(`a:${app}`)) return true;
    return changed.has(`p:${app}`) && !this.isSameApp(app, appId);
  }

  /** An application that was made anew has another id, which no scope of its members tells of; a policy that is held does. */
  protected isSameApp(app: string, appId: number | null): boolean {
    return this.#options.facts.policy(app)?.value.appId === appId;
  }

  #isPolicyChanged(app: string, changed: ReadonlySet<string>): boolean {
    return changed.has('*') || changed.has(`p:${app}`) || changed.has(`a:${app}`);
  }

  #pause(why: ReplicaPause, fields: object): void {
    const { counters, log, follower } = this.#options;
    this.#breaker.failed(REPLICA);
    if (counters.paused !== why) log.warn({ ...fields, revision: follower.cursor }, PAUSED[why]);
    counters.paused = why;
  }

  /** After a pause, beside a load that the primary answers: nobody waits for it. Never rejects. */
  async #probe(): Promise<void> {
    const { clock, follower, source, counters, log } = this.#options;
    if (this.#probing || this.#breaker.remaining(REPLICA) > 0) return;
    this.#probing = true;
    const ticket = follower.ticket();
    try {
      const window = await within(clock, ANSWER_MS, source.changes(ticket.since));
      const standing = this.standing(ticket, window);
      if (standing === 'other-history' || standing === 'too-old') {
        this.#pause(standing, { head: window.head });
      } else if (standing !== 'unproven') {
        this.#breaker.succeeded(REPLICA);
        counters.paused = null;
        log.info({ revision: follower.cursor, head: window.head }, 'the replica for facts is used again');
      }
    } catch (error) {
      this.#pause('failed', { err: error });
    } finally {
      this.#probing = false;
    }
  }
}
