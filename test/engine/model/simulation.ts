/**
 * Random schedules of the real engine (docs/freshness.md): instances, writers, lost wake-ups, reordered replies, evictions,
 * partitions, restores, in simulated time. After each step every promise has run as far as it can.
 *
 * A1: every answer equals the database's at the revision that comes with it, in the history that the instance follows, and at one
 *     instant between the question and the answer by the clock of the database: each decision of a batch at one of its own.
 * A2: that revision is at least every write acknowledged there before the question, and at least the caller's token.
 * A3: no answer was overtaken longer ago than the TTL, nor, while the database answers, than a poll and its round trips.
 * A4: where nothing befalls anything but replicas, nothing is refused, but a question whose facts changed again while it waited.
 * A5: with early release, no failover takes away what was acknowledged.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../src/base/clock.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { Question } from '../../../src/engine/types.ts';
import { countingAt, instantsOf, type Rows, type Window } from '../../oracle/rows.ts';
import { NAMES, pick, type Random, seeded } from '../../oracle/world.ts';
import { Instance, randomQuestion } from './instance.ts';
import { LEG, type Make, SmallFacts, SmallFollower, STEP, simulated } from './settings.ts';
import { SimulatedDatabase } from './simulated-database.ts';
import { SimulatedReplica } from './simulated-replica.ts';

/** What a schedule is rich in; the chances are in a thousand steps. */
const TEMPERS = [
  { writes: 60, log: 4, late: 0.1, cuts: 3, heals: 12, breaks: 12, small: true },
  { writes: 30, log: 4, late: 0, cuts: 4, heals: 3, breaks: 2, small: false },
  { writes: 60, log: 1000, late: 0, cuts: 0, heals: 0, breaks: 0, small: false },
  { writes: 300, log: 1000, late: 0.3, cuts: 2, heals: 20, breaks: 6, small: false },
] as const;
/** With edges: an upstream that is cut off from the database again and again. */
const TEMPERS_OF_EDGES = [
  ...TEMPERS,
  { writes: 100, log: 1000, late: 0, cuts: 12, heals: 4, breaks: 0, small: false },
] as const;
/** With replicas: a world in which hardly anything happens but to them. */
const QUIET = { writes: 3, log: 1000, late: 0, cuts: 0, heals: 0, breaks: 0, small: false } as const;
const TEMPERS_OF_REPLICAS = [...TEMPERS_OF_EDGES, QUIET] as const;
/** With grants that begin and end: worlds in which hardly anything else happens, one of them full of questions. */
const CROWDED = { writes: 1, log: 1000, late: 0, cuts: 0, heals: 0, breaks: 0, small: false } as const;
const TEMPERS_OF_TIME = [...TEMPERS_OF_REPLICAS, CROWDED] as const;
/** How many do something in one step of a crowded world. */
const CROWD = 6;
/** With early release: a primary that dies again and again under writers. */
const DYING = { writes: 200, log: 1000, late: 0, cuts: 2, heals: 20, breaks: 60, small: false } as const;
const TEMPERS_OF_EARLY = [...TEMPERS, DYING] as const;

export interface Shape {
  readonly edges?: boolean;
  readonly replicas?: boolean;
  readonly early?: boolean;
  readonly time?: boolean;
}

/** The longest way from one instant to a beginning or an end: of grants that are there from the start, and of others. */
const FIRST_WINDOW = 3400;
const WINDOW = 1200;
/** The longest one-way delay where the database is near: then what a boundary is shortened by, and the age of a tick, are longer. */
const NEAR = 3;
/** Clocks run apart by at most this many thousandths, so over a TTL by less than what a boundary is shortened by. */
const DRIFT = 10;
const HOUR = 3_600_000;

export class Simulation {
  readonly random: Random;
  readonly database: SimulatedDatabase;
  readonly replicas: readonly SimulatedReplica[];
  readonly instances: Instance[];
  readonly temper: (typeof TEMPERS_OF_TIME)[number] | typeof DYING;
  /** The longest one-way delay of a statement. */
  readonly leg: number;
  /** Asked again and again, so that questions meet cached decisions. */
  readonly questions: readonly Question[];
  now = 0;
  answers = 0;
  refusals = 0;
  #timers: { at: number; fn: () => void }[] = [];
  #jobs: { by: number; fn: () => void }[] = [];
  #failure: Error | undefined;
  #isClosing = false;
  /** Whether grants begin and end. */
  readonly isTimed: boolean;
  /** How far the clock of the database is ahead. */
  readonly #skew: number;
  /** Answers to questions while which a grant began or ended. */
  crossings = 0;
  /** Whether a new history may lack what was acknowledged, as a restored backup does. */
  readonly #loses: boolean;

  /**
   * @param edges whether two more read from the first: one from it, the other from that one
   * @param replicas whether the first two read facts from replicas
   * @param early whether writes are released early, and only failovers lose commits
   * @param time whether grants begin and end, and all clocks differ
   */
  constructor(seed: number, make: Make, { edges = false, replicas = false, early = false, time = false }: Shape = {}) {
    this.random = seeded(seed);
    this.isTimed = time;
    this.leg = time && this.random(2) === 0 ? NEAR : LEG;
    this.#skew = time ? this.random(2 * HOUR) - HOUR : 0;
    const names = time ? { ...NAMES, window: () => this.#window() } : NAMES;
    this.database = new (make.Database ?? SimulatedDatabase)(this.random, undefined, names);
    const tempers = early
      ? TEMPERS_OF_EARLY
      : time
        ? TEMPERS_OF_TIME
        : replicas
          ? TEMPERS_OF_REPLICAS
          : edges
            ? TEMPERS_OF_EDGES
            : TEMPERS;
    this.temper = tempers[seed % tempers.length] as Simulation['temper'];
    this.questions = Array.from({ length: 16 }, () => randomQuestion(this.random));
    SmallFacts.small = this.temper.small;
    // Where edges read what is remembered; in half of their schedules they mostly read what is not.
    SmallFollower.recent = edges && !this.temper.small ? 50 : 2;
    // Half of the replicas' schedules remember enough for them to be used.
    if (replicas) SmallFollower.recent = this.random(2) === 0 ? 50 : 3;
    this.replicas = replicas ? [0, 1].map(() => new SimulatedReplica(this.database, this.random)) : [];
    this.#loses = !early;
    // In half of the schedules one of the two does not have it.
    const releases = early ? [true, seed % 2 === 0] : [null, null];
    this.instances = releases.map((own) => new Instance(this, make, null, own));
    for (let left = edges ? 2 : 0; left > 0; left--) {
      this.instances.push(new Instance(this, make, edges && left === 2 ? this.instances[0] : this.instances.at(-1)));
    }
  }

  /** Calls `moved` whenever that engine has seen a change; of each there is one listener. */
  whenMoved(engine: Engine, moved: () => void): void {
    engine.tail.onMove(moved);
  }

  /** Whether hardly anything happens but to replicas, so that nothing may be refused. */
  get isQuiet(): boolean {
    return this.temper === QUIET || this.temper === CROWDED;
  }

  /** Runs `fn` after a while of its own, in any order with others. */
  readonly job = (fn: () => void, longest = this.leg): void => {
    this.#jobs.push({ by: this.now + 1 + this.random(longest), fn });
  };

  /** What the clock of the database says at that time of the simulation. */
  instant(at: number): number {
    return at + this.#skew;
  }

  /** A beginning, an end, both or neither; one in two of them at once. */
  #window(): Window {
    const longest = this.now === 0 ? FIRST_WINDOW : WINDOW;
    const ahead = () => this.instant(this.now) + 1 + this.random(this.random(3) === 0 ? LEG : longest);
    switch (this.random(5)) {
      case 0:
        return {};
      case 1:
        return { startsAt: ahead() };
      case 2: {
        const startsAt = ahead();
        return { startsAt, endsAt: startsAt + 1 + this.random(WINDOW / 2) };
      }
      default:
        return { endsAt: ahead() };
    }
  }

  /** Whether an answer is right that was asked for then and is given now: by the grants that count at one instant between. */
  isRightSince(asked: number, rows: Rows, isRight: (rows: Rows) => boolean): boolean {
    if (!this.isTimed) return isRight(rows);
    const [from, to] = [this.instant(asked), this.instant(this.now)];
    const between = instantsOf(rows).filter((instant) => from < instant && instant <= to);
    if (between.length > 0) this.crossings++;
    return [from, ...between].some((instant) => isRight(countingAt(rows, instant)));
  }

  /** The clock of one instance: all say something else, and none runs as fast as another. */
  clockOfItsOwn(): Clock {
    if (!this.isTimed) return this.clock;
    const [ahead, hours, rate] = [
      this.random(5000),
      this.random(2 * HOUR) - HOUR,
      1 + (this.random(2 * DRIFT) - DRIFT) / 1000,
    ];
    return { ...this.clock, now: () => this.now + hours, monotonic: () => ahead + this.now * rate };
  }

  /** @param hasChanged whether the instance learned of a change while the question waited */
  refused(error: unknown, hasChanged: boolean): void {
    this.refusals++;
    if (this.isQuiet && !this.#isClosing && !hasChanged) this.fail(`A4: ${String(error)}`);
  }

  readonly clock: Clock = {
    now: () => this.now,
    monotonic: () => this.now,
    after: (ms, fn) => {
      const timer = { at: this.now + ms, fn };
      this.#timers.push(timer);
      return () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      };
    },
    random: () => this.random(1000) / 1000,
    bytes: () => Buffer.alloc(0),
  };

  fail(message: string): void {
    this.#failure ??= new Error(message);
  }

  /** Throws what broke a property. */
  async run(steps: number): Promise<void> {
    // Each after the one that it reads from.
    for (const { engine } of this.instances) await this.#passUntil(engine.start());
    for (let step = 0; step < steps && this.#failure === undefined; step++) {
      await this.#pass();
      for (let left = this.temper === CROWDED ? CROWD : 1; left > 0; left--) this.#act();
    }
    for (let step = 0; step < 60; step++) await this.#pass();
    this.#isClosing = true;
    await this.#passUntil(Promise.all(this.instances.map(({ engine }) => engine.close())));
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #passUntil(done: Promise<unknown>): Promise<void> {
    let isDone = false;
    const ended = done.finally(() => {
      isDone = true;
    });
    ended.catch(() => undefined);
    while (!isDone) await this.#pass();
    await ended;
  }

  async #pass(): Promise<void> {
    for (const replica of this.replicas) replica.live();
    this.now += 1 + this.random(STEP);
    simulated.now = this.now;
    const due = [...this.#timers.filter(({ at }) => at <= this.now), ...this.#jobs.filter(({ by }) => by <= this.now)];
    this.#timers = this.#timers.filter(({ at }) => at > this.now);
    this.#jobs = this.#jobs.filter(({ by }) => by > this.now);
    while (due.length > 0) {
      due.splice(this.random(due.length), 1)[0]?.fn();
      await turn();
    }
  }

  #act(): void {
    const instance = pick(this.random, this.instances);
    const { writes, cuts, heals, breaks } = this.temper;
    const chance = this.random(1000);
    const happens = (chances: readonly (readonly [number, () => void])[]) => {
      let sum = 0;
      for (const [of, act] of chances) {
        sum += of;
        if (chance < sum) return act();
      }
      instance.check();
    };
    const writer = instance.isEdge ? (this.instances[0] as Instance) : instance;
    happens([
      [writes, () => writer.write()],
      [writes / 4, () => writer.writeNothing()],
      [instance.isCut ? heals : cuts, () => instance.cutOrHeal()],
      [breaks / 3, () => this.#restore()],
      [breaks / 3, () => this.database.prune()],
      [breaks / 3, () => void instance.engine.clear()],
      [60, () => instance.effective()],
      [60, () => instance.bulk()],
      [60, () => instance.batch()],
      [20, () => (instance.isEdge ? instance.check() : instance.explain())],
    ]);
  }

  #restore(): void {
    const { database, now } = this;
    const revision = this.#loses ? database.restore(now) : database.failOver(now);
    // What was acknowledged beyond it is lost by the database, not by the instances.
    for (const instance of this.instances) instance.lose(revision);
  }
}
