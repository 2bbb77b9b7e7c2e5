/** An instance of the simulation (simulation.ts): an engine, its database as it reaches it, and the judge of its answers. */
import type { Clock } from '../../../src/base/clock.ts';
import { UsherError, unavailable } from '../../../src/base/errors.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { DENIED } from '../../../src/engine/evaluate.ts';
import { type KeptQuestion, keepQuestion } from '../../../src/engine/grounds.ts';
import { parseRevision } from '../../../src/engine/question.ts';
import {
  ANY_REVISION,
  type Decision,
  type FactsSource,
  type LogWindow,
  type Question,
  type ReplicaSource,
  type Revision,
  type RevisionToken,
} from '../../../src/engine/types.ts';
import { answerOf } from '../../oracle/oracle.ts';
import { countingAt, type Rows } from '../../oracle/rows.ts';
import { groundsOf, memberAt, memberOfReplica, policyOf } from '../../oracle/storage.ts';
import { NAMES, pick, type Random } from '../../oracle/world.ts';
import { isEffective, isSame } from './comparing.ts';
import { Durability } from './durability.ts';
import { BEHIND, type Make, SmallFacts, SmallFollower, SmallReplica, TTL } from './settings.ts';
import type { State } from './simulated-database.ts';
import type { Simulation } from './simulation.ts';
import { wire } from './wire.ts';

interface Asked {
  at: number;
  acknowledged: Revision;
  /** What the caller wants the answer to be as fresh as. */
  token: RevisionToken;
}

export class Instance {
  readonly engine: Engine;
  readonly #world: Simulation;
  readonly #clock: Clock;
  readonly #make: Make;
  #acknowledged: Revision = 0;
  /** The revision of the newest write acknowledged here, in whichever history. */
  #told: RevisionToken = ANY_REVISION;
  #cut = false;
  #healedAt = 0;
  readonly #asking = new Set<Asked>();
  readonly #kept = new Map<Question, KeptQuestion>();
  /** In a world with early release. */
  readonly #durability: Durability | null;

  /** The instance that this one reads from: null for the database. */
  readonly #upstream: Instance | null;

  constructor(world: Simulation, make: Make, upstream: Instance | null = null, early: boolean | null = null) {
    this.#world = world;
    this.#clock = world.clockOfItsOwn();
    this.#make = make;
    this.#upstream = upstream;
    this.#durability = early === null ? null : new Durability(world, make, early, () => this.#cut);
    this.engine = new (make.Engine ?? Engine)({
      source: upstream === null ? this.#source() : this.#wireTo(upstream),
      replica: upstream === null && world.replicas.length > 0 ? this.#replica() : null,
      clock: this.#clock,
      cache: {
        megabytes: 64,
        ttlMs: TTL,
        maxEntries: world.temper.small ? 20 : 200,
        policies: 9,
        persons: 9,
        members: 9,
      },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined },
      defer: (fn) => world.job(fn),
      parts: { Facts: SmallFacts, Follower: SmallFollower, Replica: SmallReplica, ...make.parts },
    });
  }

  #source(): FactsSource {
    const { database } = this.#world;
    const statement = <T>(since: Revision, read: (rows: Rows) => T, slow = false): Promise<{ window: LogWindow } & T> =>
      new Promise((resolve, reject) => {
        const answer = (reply: ({ window: LogWindow } & T) | null) =>
          this.#world.job(
            () => (reply === null || this.#cut ? reject(unavailable('cut off')) : resolve(reply)),
            slow && this.#world.random(8) === 0 ? 5 * this.#world.leg : this.#world.leg,
          );
        this.#world.job(() =>
          answer(
            this.#cut
              ? null
              : { window: database.window(since, this.#world.temper.log), ...read(database.newest.rows) },
          ),
        );
      });
    return {
      parallelism: 1 + this.#world.random(4),
      members: (since, needs) =>
        statement(since, (rows) => ({ answers: needs.map((need) => memberAt(rows, need, this.#instant())) }), true),
      policy: (since, app) => statement(since, (rows) => ({ policy: policyOf(rows, app) }), true),
      grounds: (since, question) =>
        statement(since, (rows) => ({ grounds: groundsOf(countingAt(rows, this.#instant()), question) }), true),
      changes: async (since) => (await statement(since, () => ({ log: true }))).window,
      listen: (wake) => {
        this.wake = wake;
        return Promise.resolve(() => Promise.resolve());
      },
    };
  }

  /** Each statement goes to one of several. A line to the database that is cut leaves those to its replicas. */
  #replica(): ReplicaSource {
    const { job, leg, random, replicas } = this.#world;
    const skew = random(2) === 0 ? 0 : random(2 * TTL) - TTL;
    const wrong = () => this.#instant() + skew;
    const statement = <T>(since: Revision, read: (rows: Rows) => T): Promise<{ window: LogWindow } & T> =>
      new Promise((resolve, reject) => {
        const replica = pick(random, replicas);
        job(() => {
          if (replica.condition === 'hangs') return;
          const reply = { window: replica.window(since), ...read(replica.state.rows) };
          const answer = replica.condition === 'dead' ? () => reject(unavailable('dead')) : () => resolve(reply);
          job(answer, random(8) === 0 ? 5 * leg : leg);
        });
      });
    return {
      members: (since, needs) =>
        statement(since, (rows) => ({ answers: needs.map((need) => memberOfReplica(rows, need, wrong())) })),
      policy: (since, app) => statement(since, (rows) => ({ policy: policyOf(rows, app) })),
      changes: async (since) => (await statement(since, () => ({ log: true }))).window,
    };
  }

  /** By the clock of the database. */
  #instant(): number {
    return this.#world.instant(this.#world.now);
  }

  #wireTo({ engine }: Instance): FactsSource {
    const served = this.#make.serve?.(engine.served, engine) ?? engine.served;
    return wire({ world: this.#world, upstream: engine, served, isCut: () => this.#cut });
  }

  /** How many instances a fact comes through, this one included. */
  get #hops(): number {
    return this.#upstream === null ? 1 : 1 + this.#upstream.#hops;
  }

  /** Whether the database has been reachable from here for a while. */
  get #isAnswering(): boolean {
    const own = !this.#cut && this.#world.now - this.#healedAt > BEHIND * this.#hops;
    return own && (this.#upstream === null || this.#upstream.#isAnswering);
  }

  get isEdge(): boolean {
    return this.#upstream !== null;
  }

  wake: () => void = () => undefined;

  lose(revision: Revision): void {
    if (this.#durability !== null && this.#acknowledged > revision) {
      this.#world.fail('A5: a failover took an acknowledged write away');
    }
    this.#acknowledged = Math.min(this.#acknowledged, revision);
    for (const asked of this.#asking) {
      asked.acknowledged = Math.min(asked.acknowledged, revision);
    }
  }

  get isCut(): boolean {
    return this.#cut;
  }

  cutOrHeal(): void {
    this.#cut = !this.#cut;
    this.#healedAt = this.#world.now;
  }

  write(): void {
    this.#change('written', () => this.#world.database.commit(this.#world.now, this.#durability?.early));
  }

  /** A repeated revocation: nothing to change, no revision of its own, yet as good as the first. */
  writeNothing(): void {
    this.#change('nothing', () => this.#world.database.head);
  }

  /** As `database.change`: commit, last, reach, failing that forget everything, then acknowledge and tell the others. */
  #change(what: 'written' | 'nothing', commit: () => Revision): void {
    if (this.#cut) return;
    this.#world.job(() => {
      const revision = commit();
      const made = this.#world.database.newest;
      const mark = { number: revision, nonce: made.nonce };
      this.#world.job(async () => {
        const lasting = this.#durability?.lasts(mark, what);
        if (this.#make.acknowledge !== 'before-reach') {
          // Sometimes too late: then what is cached is forgotten instead.
          if (this.#world.random(100) < 100 * this.#world.temper.late) this.engine.dropAll();
          else await this.engine.reach(mark).catch(() => this.engine.dropAll());
        }
        if ((await lasting) === false) return this.engine.dropAll();
        if (!this.#world.database.has(mark)) {
          // The database may have been restored meanwhile: then there is nothing to acknowledge. What lasts is not lost.
          if (this.#durability !== null)
            this.#world.fail('A5: a write was acknowledged that a failover had taken away');
          return;
        }
        this.#acknowledged = Math.max(this.#acknowledged, revision);
        this.#told = mark;
        for (const { wake } of this.#world.instances) if (this.#world.random(3) > 0) this.#world.job(() => wake());
      });
    });
  }

  #question(): Question {
    const { random, questions } = this.#world;
    return random(8) === 0 ? randomQuestion(random) : pick(random, questions);
  }

  #asked(): Asked {
    const token = this.#world.random(4) === 0 ? pick(this.#world.random, this.#world.instances).#told : ANY_REVISION;
    const asked = { at: this.#world.now, acknowledged: this.#acknowledged, token };
    this.#asking.add(asked);
    return asked;
  }

  check(): void {
    const question = this.#question();
    const asked = this.#asked();
    this.#judgeLater(asked, this.engine.check(question, { minRevision: asked.token }), ({ decision }, rows) =>
      isSame(decision, answerOf(rows, question)),
    );
    this.#peekKept(question);
  }

  #peekKept(question: Question): void {
    const asked = this.#asked();
    const decision = this.engine.isReached(asked.token) ? this.engine.peekKept(this.#keep(question)) : null;
    const { revision } = this.engine;
    this.#asking.delete(asked);
    if (decision !== null) this.#judge(asked, revision, [(rows) => isSame(decision, answerOf(rows, question))]);
  }

  bulk(): void {
    const { permission: _, ...subject } = this.#question();
    const asked = this.#asked();
    const permissions = [...NAMES.permissions, 'no.such', ...NAMES.permissions];
    this.#judgeLater(
      asked,
      this.engine.bulk(subject, permissions, { minRevision: asked.token }),
      ({ decisions }, rows) =>
        permissions.every((permission, index) => {
          return isSame(decisions[index] as Decision, answerOf(rows, { ...subject, permission }));
        }),
    );
  }

  /** Questions about more people than a small cache holds, asked twice now and then. */
  batch(): void {
    const asked = this.#asked();
    // What names nothing is denied at any revision: the first does name something.
    const questions = Array.from({ length: 1 + this.#world.random(6) }, (_, index) =>
      index > 0 && this.#world.random(9) === 0 ? null : this.#question(),
    );
    const options = { minRevision: asked.token };
    this.#judgeEach(asked, this.engine.batch(questions, options), ({ decisions }) =>
      questions.map((question, index) => (rows) => {
        const decision = decisions[index] as Decision;
        return question === null ? decision === DENIED : isSame(decision, answerOf(rows, question));
      }),
    );
    this.#peekBatch(questions);
  }

  /** The same for the same question, as a caller does that asks it again. */
  #keep(question: Question): KeptQuestion {
    const kept = this.#kept.get(question) ?? keepQuestion(question);
    this.#kept.set(question, kept);
    return kept;
  }

  #peekBatch(questions: readonly (Question | null)[]): void {
    const asked = this.#asked();
    const kept = questions.map((question) => (question === null ? null : this.#keep(question)));
    const decisions = this.engine.isReached(asked.token) ? this.engine.peekBatch(kept) : null;
    const { revision } = this.engine;
    this.#asking.delete(asked);
    if (decisions === null) return;
    this.#judge(asked, revision, [
      (rows) =>
        questions.every((question, index) => {
          return question === null || isSame(decisions[index] as Decision, answerOf(rows, question));
        }),
    ]);
  }

  explain(): void {
    const question = this.#question();
    const asked = this.#asked();
    this.#judgeLater(
      asked,
      this.engine.explain(question, { minRevision: asked.token }),
      ({ decision, rules }, rows) => {
        return isSame(decision, answerOf(rows, question)) && rules.filter(({ decides }) => decides).length === 1;
      },
    );
  }

  effective(): void {
    const { permission: _, ...subject } = this.#question();
    const asked = this.#asked();
    if (this.engine.isReached(asked.token)) {
      const items = this.engine.peekEffective(subject);
      if (items !== null) this.#judge(asked, this.engine.revision, [(rows) => isEffective(items, rows, subject)]);
    }
    this.#judgeLater(asked, this.engine.effective(subject, { minRevision: asked.token }), ({ items }, rows) =>
      isEffective(items, rows, subject),
    );
  }

  #judgeLater<T extends { revision: string }>(
    asked: Asked,
    answer: Promise<T>,
    isRight: (answer: T, rows: Rows) => boolean,
  ): void {
    this.#judgeEach(asked, answer, (given) => [(rows) => isRight(given, rows)]);
  }

  /** The same of an answer whose parts may each be of an instant of its own. */
  #judgeEach<T extends { revision: string }>(
    asked: Asked,
    answer: Promise<T>,
    partsOf: (answer: T) => IsRight[],
  ): void {
    const { number: known } = this.engine.tail.head;
    answer.then(
      (given) => {
        this.#asking.delete(asked);
        this.#world.answers++;
        this.#judge(asked, given.revision, partsOf(given));
      },
      (error: unknown) => {
        this.#asking.delete(asked);
        this.#world.refused(error, this.engine.tail.head.number !== known);
        if (!(error instanceof UsherError)) this.#world.fail(`no error of ours: ${String(error)}`);
      },
    );
  }

  #judge(asked: Asked, revision: string, parts: readonly IsRight[]): void {
    const { database } = this.#world;
    const { number, nonce } = parseRevision(revision);
    if (number < asked.acknowledged) this.#world.fail('A2: older than a write acknowledged here');
    const state = database.byNonce(nonce);
    const isRight = (part: IsRight) => state !== undefined && this.#world.isRightSince(asked.at, state.rows, part);
    if (state === undefined || state.revision !== number || !parts.every(isRight)) {
      this.#world.fail('A1: not the answer at its revision');
      return;
    }
    if (!includes(state, asked.token) && !database.isPruned(asked.token.number)) {
      this.#world.fail('A2: older than the token, or of another history');
    }
    const newest = state.supersededAt;
    if (newest < asked.at - TTL) this.#world.fail('A3: older than the TTL');
    if (this.#isAnswering && newest < asked.at - BEHIND * this.#hops)
      this.#world.fail('A3: behind by more than a poll');
  }
}

type IsRight = (rows: Rows) => boolean;

/** Whether a state came after that one, or is it. */
function includes(state: State, { number, nonce }: RevisionToken): boolean {
  let at: State | null = state;
  while (at !== null && at.revision > number) at = at.parent;
  return at?.nonce === nonce;
}

export function randomQuestion(random: Random): Question {
  const resource = pick(random, [{ resourceType: '', resourceId: '' }, ...NAMES.resources]);
  const [email, app] = [pick(random, NAMES.emails), random(12) === 0 ? 'nowhere' : pick(random, NAMES.apps)];
  return { email, app, permission: pick(random, NAMES.permissions), ...resource };
}
