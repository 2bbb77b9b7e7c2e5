import type { Clock } from '../base/clock.ts';
import { type UsherError, unavailable } from '../base/errors.ts';
import type { EngineCounters } from './counters.ts';
import type { Timing } from './fact.ts';
import type { Facts } from './facts.ts';
import { type Follower, STATEMENT_MS, type Ticket } from './follower.ts';
import { endOf } from './instants.ts';
import type { Replica } from './replica.ts';
import type { EngineTraces, TracedCaller } from './traces.ts';
import {
  type FactsReply,
  type FactsSource,
  MAX_NEEDS,
  type MemberAnswer,
  type MemberNeed,
  type PolicyRows,
  type Revision,
} from './types.ts';
import { toUnavailable, within } from './waiting.ts';

/** Needs that may wait for a statement; while the database does not answer, this includes needs whose callers have left. */
export const MAX_WAITING = 65_536;

interface LoaderOptions {
  source: FactsSource;
  /** Asked first, where there is one. */
  replica?: Replica | undefined;
  clock: Clock;
  facts: Facts;
  follower: Follower;
  counters: EngineCounters;
  /** Runs `fn` at the end of this turn of the event loop, so that the needs of one turn share a statement. */
  defer: (fn: () => void) => void;
  traces?: EngineTraces | undefined;
}

/** How facts of a reply were read: by which statement, of which snapshot, and when. */
interface Read {
  readonly ticket: Ticket;
  readonly head: Revision;
  readonly readAt: number;
}

/** A need, which other callers may join until its statement is answered. */
interface Load<N> {
  readonly key: string;
  readonly need: N;
  readonly done: Promise<void>;
  readonly settle: { resolve: () => void; reject: (error: unknown) => void };
  /** Those who wait for it and are traced; null for nobody. */
  callers: TracedCaller[] | null;
  /** The statement, in the trace of one of them. */
  traced: TracedCaller | null;
}

/**
 * Loads missing facts: needs are collected while statements run, and a need that is being read already is joined. A finished
 * load may have stored nothing (a newer change names the fact): then the caller asks again.
 */
export class Loader {
  readonly #options: LoaderOptions;
  readonly #policies = new Queue<string>();
  readonly #members = new Queue<MemberNeed>();
  #inFlight = 0;
  #deferred = false;
  #policyIsNext = true;

  constructor(options: LoaderOptions) {
    this.#options = options;
  }

  /** Resolves when the application's policy has been read; rejects with UNAVAILABLE, at once where too many wait. */
  policy(app: string): Promise<void> {
    return this.#ask(this.#policies, app, app);
  }

  /** The same for a person, a member and, with a resource, its overrides. `app` may be '': the person alone. */
  member(need: MemberNeed): Promise<void> {
    return this.#ask(this.#members, keyOf(need), need);
  }

  /** Whether `hasSpare` may ever be true: not where the database is part of this process, and has one connection. */
  get everHasSpare(): boolean {
    return this.#options.source.parallelism > 1;
  }

  /** Whether a statement more leaves one for a question: nothing waits, and at least two more may run at once. */
  get hasSpare(): boolean {
    const waiting = this.#policies.waiting + this.#members.waiting;
    return waiting === 0 && this.#inFlight + 2 <= this.#options.source.parallelism;
  }

  /** As `policy`, for nobody: sent at once, in a statement of its own. Who comes to need the same meanwhile joins. */
  policyAgain(app: string): Promise<void> {
    return this.#again(
      this.#policies,
      [app],
      (name) => name,
      ([name]) => this.#readPolicy(name as string),
    );
  }

  /** The same for at most MAX_NEEDS members. What is being read already is left out. */
  membersAgain(needs: readonly MemberNeed[]): Promise<void> {
    return this.#again(this.#members, needs, keyOf, (left) => this.#readMembers(left));
  }

  /** Stops joins of sent statements: their replies will be discarded. */
  forget(): void {
    this.#policies.forgetSent();
    this.#members.forgetSent();
  }

  #ask<N>(queue: Queue<N>, key: string, need: N): Promise<void> {
    const caller = this.#options.traces?.caller() ?? null;
    const joined = queue.find(key);
    if (joined !== undefined) {
      if (caller !== null) join(joined, caller);
      return joined.done;
    }
    if (queue.waiting >= MAX_WAITING) return Promise.reject(unavailable('The database is busy; try again shortly.'));
    if (!this.#deferred) {
      this.#deferred = true;
      this.#options.defer(() => {
        this.#deferred = false;
        this.#send();
      });
    }
    return queue.add(key, need, caller);
  }

  async #again<N>(
    queue: Queue<N>,
    needs: readonly N[],
    keyed: (need: N) => string,
    read: (needs: readonly N[]) => Promise<void>,
  ): Promise<void> {
    const loads: Load<N>[] = [];
    for (const need of needs) {
      const key = keyed(need);
      if (queue.find(key) === undefined) loads.push(queue.open(key, need, null));
    }
    if (loads.length === 0) return;
    const failure = await this.#run(queue, loads, () => read(loads.map(({ need }) => need)));
    if (failure !== undefined) throw failure;
  }

  /** Sends as many statements as may run at once; policies and members alternate, so that neither starves the other. */
  #send(): void {
    const { source } = this.#options;
    while (this.#inFlight < source.parallelism && this.#policies.waiting + this.#members.waiting > 0) {
      const policy = this.#members.waiting === 0 || (this.#policyIsNext && this.#policies.waiting > 0);
      this.#policyIsNext = !policy;
      if (policy) this.#sendPolicy();
      else this.#sendMembers();
    }
  }

  #sendPolicy(): void {
    const loads = this.#policies.take(1);
    this.#options.counters.policyLoads++;
    void this.#run(this.#policies, loads, () => this.#readPolicy((loads[0] as Load<string>).need));
  }

  #sendMembers(): void {
    const loads = this.#members.take(MAX_NEEDS);
    const needs = loads.map(({ need }) => need);
    this.#options.counters.countBatch(needs.length);
    void this.#run(this.#members, loads, () => this.#readMembers(needs));
  }

  /** Never rejects: failures go to the waiting callers, and are the result. */
  async #run<N>(
    queue: Queue<N>,
    loads: readonly Load<N>[],
    read: () => Promise<void>,
  ): Promise<UsherError | undefined> {
    this.#inFlight++;
    let failure: UsherError | undefined;
    try {
      await this.#traced(loads, read);
    } catch (error) {
      this.#options.counters.loadFailures++;
      failure = toUnavailable(error);
    }
    this.#inFlight--;
    queue.settle(loads, failure);
    this.#send();
    return failure;
  }

  #traced<N>(loads: readonly Load<N>[], read: () => Promise<void>): Promise<void> {
    const { traces } = this.#options;
    const callers = traces === undefined ? [] : loads.flatMap((load) => load.callers ?? []);
    if (traces === undefined || callers.length === 0) return read();
    return traces.load(loads.length, callers, (traced) => {
      for (const load of loads) load.traced = traced;
      return read();
    });
  }

  async #readPolicy(app: string): Promise<void> {
    const { source, replica } = this.#options;
    if (replica !== undefined && (await replica.policy(app))) return;
    await this.#read(
      (since) => source.policy(since, app),
      ({ policy }, { head, readAt }) => this.#storePolicy(policy, head, readAt),
    );
  }

  async #readMembers(all: readonly MemberNeed[]): Promise<void> {
    const { source, replica } = this.#options;
    const needs = replica === undefined ? all : await replica.members(all);
    if (needs.length === 0) return;
    await this.#read(
      (since) => source.members(since, needs),
      ({ answers }, read) => {
        if (answers.length !== needs.length) throw new Error("The source's answers do not match the needs.");
        for (const answer of answers) this.#storeMember(answer, read);
      },
    );
  }

  async #read<R extends FactsReply>(
    ask: (since: Revision) => Promise<R>,
    store: (reply: R, read: Read) => void,
  ): Promise<void> {
    const { clock, follower } = this.#options;
    const ticket: Ticket = follower.ticket();
    const reply = await within(clock, STATEMENT_MS, ask(ticket.since));
    if (!follower.apply(ticket, reply.window)) return;
    store(reply, { ticket, head: reply.window.head, readAt: ticket.sentAt - (reply.ageMs ?? 0) });
  }

  #storePolicy(policy: PolicyRows, head: Revision, readAt: number): void {
    const { follower, facts, counters } = this.#options;
    if (follower.touched(head, `p:${policy.app}`, policy.app)) counters.factsLeftOut++;
    else facts.putPolicy(policy, head, readAt);
  }

  #storeMember(answer: MemberAnswer, { ticket, head, readAt }: Read): void {
    const { follower, facts, counters } = this.#options;
    const { person, member, overrides, boundaries } = answer;
    const timing = (boundaryMs: number | null): Timing => {
      return { statement: ticket.statement, ends: this.endOf(ticket, boundaryMs) };
    };
    if (follower.touched(head, `u:${person.email}`, null)) counters.factsLeftOut++;
    else facts.putPerson(person, head, readAt, timing(boundaries.person));
    if (member.app === '') return; // the need was for the person only
    if (follower.touched(head, `m:${member.app}:${member.email}`, member.app)) {
      counters.factsLeftOut++;
      return;
    }
    facts.putMember(member, head, readAt, timing(boundaries.member));
    if (overrides !== null) facts.putOverrides(overrides, answer, head, readAt, timing(boundaries.overrides));
  }

  /** Counted from when the statement was sent: nobody knows when it was executed, nor how long its answer was under way. */
  protected endOf({ sentAt }: Ticket, boundaryMs: number | null): number | null {
    return endOf(sentAt, boundaryMs);
  }
}

function keyOf({ email, app, resourceType, resourceId }: MemberNeed): string {
  return `${app}:${email}:${resourceType}:${resourceId}`;
}

function join<N>(load: Load<N>, caller: TracedCaller): void {
  if (load.traced !== null) caller.joined(load.traced);
  else if (load.callers === null) load.callers = [caller];
  else load.callers.push(caller);
}

/** Loads of one kind: those that wait for a statement, in order, and those that may be joined, by key. */
class Queue<N> {
  #waiting: Load<N>[] = [];
  readonly #open = new Map<string, Load<N>>();

  get waiting(): number {
    return this.#waiting.length;
  }

  find(key: string): Load<N> | undefined {
    return this.#open.get(key);
  }

  add(key: string, need: N, caller: TracedCaller | null): Promise<void> {
    const load = this.open(key, need, caller);
    this.#waiting.push(load);
    return load.done;
  }

  /** A load that may be joined, and does not wait for a statement here. */
  open(key: string, need: N, caller: TracedCaller | null): Load<N> {
    let settle: Load<N>['settle'] = { resolve: () => undefined, reject: () => undefined };
    const done = new Promise<void>((resolve, reject) => {
      settle = { resolve, reject };
    });
    // Every waiting caller may have left by then; those that have not handle the rejection themselves.
    done.catch(() => undefined);
    const load: Load<N> = { key, need, done, settle, callers: caller === null ? null : [caller], traced: null };
    this.#open.set(key, load);
    return load;
  }

  take(count: number): Load<N>[] {
    return this.#waiting.splice(0, count);
  }

  forgetSent(): void {
    this.#open.clear();
    for (const load of this.#waiting) this.#open.set(load.key, load);
  }

  settle(loads: readonly Load<N>[], failure: unknown): void {
    for (const load of loads) {
      if (this.#open.get(load.key) === load) this.#open.delete(load.key);
      if (failure === undefined) load.settle.resolve();
      else load.settle.reject(failure);
    }
  }
}
