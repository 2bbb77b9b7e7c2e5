/** One measured stretch of load over connections that are already open. */
import { Histogram } from './histogram.ts';
import { type Connection, type Listener, Verdict } from './load.ts';
import { Random } from './random.ts';

export interface SliceOptions {
  /** Questions in flight, spread evenly over the connections. */
  inFlight: number;
  /**
   * `random`: drawn at random, with replacement, for `durationMs`. `once`: each of `from` to `to` (exclusive) one time, in
   * the order of the data set; the time is what it takes. `paced`: drawn at random, so many a second whatever
   * becomes of the answers: a server that stands still is late with all that were asked meanwhile.
   */
  order: 'random' | 'once' | 'paced';
  /** Of `paced`. */
  perSecond?: number;
  durationMs: number;
  from: number;
  to: number;
  seed: number;
}

/** Latencies in milliseconds. */
export interface SliceResult {
  answers: number;
  wrong: number;
  failed: number;
  /** The first few wrong or failed answers, in words. */
  examples: string[];
  seconds: number;
  perSecond: number;
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
  /** Share of its core that the generator was busy: near 1 it is the generator that was measured. */
  generatorBusy: number;
}

const STALLED_MS = 15_000;
const EXAMPLES = 5;

/** Hands answers to whichever slice is running; connections outlive slices. */
export class Switchboard implements Listener {
  slice: Slice | null = null;

  answered(connection: Connection, index: number, latency: number, verdict: Verdict, detail: string): void {
    this.slice?.answered(connection, index, latency, verdict, detail);
  }

  batchEnd(connection: Connection): void {
    this.slice?.batchEnd(connection);
  }

  broken(connection: Connection, error: Error): void {
    this.slice?.broken(connection, error);
  }
}

export class Slice implements Listener {
  readonly #options: SliceOptions;
  readonly #size: number;
  readonly #random: Random;
  readonly #histogram = new Histogram();
  readonly #examples: string[] = [];
  readonly #done = Promise.withResolvers<SliceResult>();
  #position: number;
  #open = 0;
  #wrong = 0;
  #failed = 0;
  #now = 0;
  #startedAt = 0;
  #endsAt = 0;
  #lastAnswerAt = 0;
  #cpu = process.cpuUsage();
  #watchdog: NodeJS.Timeout | undefined;
  #pacemaker: NodeJS.Timeout | undefined;

  constructor(options: SliceOptions, size: number) {
    this.#options = options;
    this.#size = size;
    this.#position = options.from;
    this.#random = new Random(options.seed);
  }

  /** Rejects when a connection breaks or nothing comes for 15 s; wrong answers are counted, not thrown. */
  run(connections: readonly Connection[]): Promise<SliceResult> {
    this.#cpu = process.cpuUsage();
    this.#startedAt = this.#lastAnswerAt = this.#now = performance.now();
    this.#endsAt =
      this.#options.order === 'once' ? Number.POSITIVE_INFINITY : this.#startedAt + this.#options.durationMs;
    this.#watchdog = setInterval(() => {
      if (performance.now() - this.#lastAnswerAt > STALLED_MS) this.#fail(new Error('no answer for 15 seconds'));
    }, 500);
    if (this.#options.order === 'paced') {
      this.#pace(connections, this.#options.perSecond ?? 1000);
      return this.#done.promise;
    }
    for (let i = 0; i < this.#options.inFlight; i++) this.#submit(connections[i % connections.length] as Connection);
    for (const connection of connections) connection.flush();
    return this.#done.promise;
  }

  answered(connection: Connection, _index: number, latency: number, verdict: Verdict, detail: string): void {
    this.#open--;
    // The answers of one read share a clock reading, and so do the questions that follow them.
    if (this.#now === 0) this.#now = performance.now();
    if (this.#now <= this.#endsAt || this.#options.order === 'paced') {
      this.#histogram.record(latency);
      this.#lastAnswerAt = this.#now;
    }
    if (verdict !== Verdict.RIGHT) {
      if (verdict === Verdict.WRONG) this.#wrong++;
      else this.#failed++;
      if (this.#examples.length < EXAMPLES) this.#examples.push(detail);
    }
    if (this.#now < this.#endsAt && this.#options.order !== 'paced') this.#submit(connection);
  }

  batchEnd(connection: Connection): void {
    connection.flush();
    this.#now = 0;
    if (this.#open === 0 && (this.#options.order !== 'paced' || performance.now() >= this.#endsAt)) this.#finish();
  }

  broken(_connection: Connection, error: Error): void {
    this.#fail(error);
  }

  /** Submits what has come due, each millisecond. */
  #pace(connections: readonly Connection[], perSecond: number): void {
    let submitted = 0;
    this.#pacemaker = setInterval(() => {
      const now = performance.now();
      const due = Math.floor(((Math.min(now, this.#endsAt) - this.#startedAt) * perSecond) / 1000);
      this.#now = now;
      for (; submitted < due; submitted++) this.#submit(connections[submitted % connections.length] as Connection);
      this.#now = 0;
      for (const connection of connections) connection.flush();
      if (now < this.#endsAt) return;
      clearInterval(this.#pacemaker);
      if (this.#open === 0) this.#finish();
    }, 1);
  }

  #submit(connection: Connection): void {
    let index: number;
    if (this.#options.order === 'once') {
      if (this.#position >= this.#options.to) return;
      index = this.#position++;
    } else {
      index = this.#random.below(this.#size);
    }
    this.#open++;
    connection.submit(index, this.#now);
  }

  #fail(error: Error): void {
    clearInterval(this.#watchdog);
    clearInterval(this.#pacemaker);
    this.#done.reject(error);
  }

  #finish(): void {
    clearInterval(this.#watchdog);
    clearInterval(this.#pacemaker);
    const end = Math.min(this.#endsAt, this.#lastAnswerAt);
    const seconds = (end - this.#startedAt) / 1000;
    const cpu = process.cpuUsage(this.#cpu);
    const histogram = this.#histogram;
    this.#done.resolve({
      answers: histogram.count,
      wrong: this.#wrong,
      failed: this.#failed,
      examples: this.#examples,
      seconds,
      perSecond: histogram.count / seconds,
      p50: histogram.percentile(0.5),
      p90: histogram.percentile(0.9),
      p99: histogram.percentile(0.99),
      p999: histogram.percentile(0.999),
      max: histogram.max,
      generatorBusy: (cpu.user + cpu.system) / 1e6 / ((performance.now() - this.#startedAt) / 1000),
    });
  }
}
