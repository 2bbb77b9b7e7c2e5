/**
 * Renders templates in separate processes that can be killed, since a template can loop or exhaust memory. LiquidJS with output
 * escaping in HTML, without files and partials, bounded in time and memory (docs/reference/notifications.md#templates).
 */

import { hash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import type { PrintedMembers, RenderJob, RenderOutcome, TemplateFault, TemplateSource } from './render/messages.ts';
import { RenderProcess } from './render/process.ts';

export type {
  PrintedMembers,
  Rendered,
  RenderJob,
  RenderOutcome,
  TemplateFault,
  TemplateSource,
  UserMember,
} from './render/messages.ts';

/** Jobs sent to a process together. */
const SLICE = 64;
/** The most waiting slices: more than ten sends of 1,000 recipients for each process. */
const MAX_WAITING = 1000;
/** The most waiting slices of one lane, so that a lane cannot block the others. */
const MAX_WAITING_IN_LANE = MAX_WAITING / 2;
/** Work that has waited longer is rejected: most of its callers have given up. An auth mail has slightly more time. */
const MAX_WAIT_MS = 30_000;
/** Idle processes end after this time. */
const IDLE_MS = 60_000;

/** The lane of calls that name none. */
const NO_LANE = '';
/** Cached analyses of templates. */
const MAX_ANALYSES = 200;

type Work = (worker: RenderProcess) => Promise<void>;

/** Limits of one call of `render`. */
export interface RenderWatch {
  /** Aborting it ends the call and the processes that work for it. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the size of each outcome on arrival; an error it throws ends the call. */
  readonly charge?: (bytes: number) => void;
}

interface Waiting {
  readonly run: Work;
  readonly reject: (error: unknown) => void;
  /** The call of `render` that it belongs to. */
  readonly batch: Batch | null;
  /** Monotonic milliseconds. */
  readonly since: number;
}

/** One call of `render`: after a template has failed once, its other jobs fail without rendering. */
class Batch {
  readonly lane: string;
  readonly outcomes: RenderOutcome[] = [];
  readonly hopeless = new Map<TemplateSource, string>();
  readonly #charge: ((bytes: number) => void) | undefined;
  readonly #workers = new Set<RenderProcess>();
  #stopped: { readonly why: unknown } | null = null;

  constructor(lane: string, charge: RenderWatch['charge']) {
    this.lane = lane;
    this.#charge = charge;
  }

  /** Takes the outcome of the job at that index; false once the batch has stopped. */
  take(at: number, outcome: RenderOutcome): boolean {
    if (this.#stopped !== null) return false;
    try {
      if (outcome.ok) this.#charge?.(outcome.bytes);
    } catch (error) {
      this.stop(error);
      return false;
    }
    this.outcomes[at] = outcome;
    return true;
  }

  /** Kills the processes that work for it: a slice of 64 jobs can take sixteen seconds and produce hundreds of megabytes. */
  stop(why: unknown): void {
    this.#stopped ??= { why };
    for (const worker of this.#workers) worker.kill();
  }

  refuseStopped(): void {
    if (this.#stopped !== null) throw this.#stopped.why;
  }

  /** Runs work that `stop` ends. */
  async run<T>(worker: RenderProcess, work: () => Promise<T>): Promise<T> {
    this.refuseStopped();
    this.#workers.add(worker);
    try {
      return await work();
    } finally {
      this.#workers.delete(worker);
      this.refuseStopped();
    }
  }
}

/**
 * Each call waits in a lane. Lanes take turns, so that one application's expensive templates do not delay another's, and previews do not
 * delay sends.
 */
export class Renderer {
  readonly #clock: Clock;
  readonly #size: number;
  readonly #timezone: string;
  readonly #workers = new Set<RenderProcess>();
  /** By lane, never empty. The first lane is served next, and then moves to the end. */
  readonly #lanes = new Map<string, Waiting[]>();
  #waiting = 0;
  /** By the hash of a template's parts. */
  readonly #printed = new Map<string, PrintedMembers>();
  #cancelIdle: () => void = () => undefined;
  /** At most one process starts in a turn of the event loop: a start blocks it for some milliseconds. */
  #grown = false;
  #closed = false;

  /** Processes start on demand. `timezone` is that of readers without their own. */
  constructor(clock: Clock, size: number = availableParallelism(), timezone = 'UTC') {
    this.#clock = clock;
    this.#timezone = timezone;
    this.#size = Math.max(1, size);
  }

  /** The syntax errors of the template, with line and column. Rejects with UNAVAILABLE. */
  async check(template: TemplateSource, lane = NO_LANE): Promise<readonly TemplateFault[]> {
    let faults: readonly TemplateFault[] = [];
    await this.#queue(lane, null, async (worker) => {
      const { gone, blame, ...answer } = await worker.check(template);
      if (gone !== null && !blame) throw this.#trouble(gone);
      faults = gone === null ? answer.faults : [{ field: 'html', line: 1, column: 1, message: `it ${gone} to parse` }];
    });
    return faults;
  }

  /** The members of `user` that the template only outputs; null for other uses, and when the analysis fails. */
  async printedMembers(template: TemplateSource, lane = NO_LANE): Promise<PrintedMembers> {
    const key = hash('sha256', JSON.stringify(template), 'base64url');
    const known = this.#printed.get(key);
    if (known !== undefined) return known;
    let printed: PrintedMembers = null;
    await this.#queue(lane, null, async (worker) => {
      const { gone, blame, ...answer } = await worker.analyze(template);
      if (gone !== null && !blame) throw this.#trouble(gone);
      printed = answer.printed;
    });
    if (this.#printed.size >= MAX_ANALYSES) this.#printed.clear();
    this.#printed.set(key, printed);
    return printed;
  }

  /**
   * The outcome of each job, in order. An object that several jobs share (a template, a payload) is sent and parsed once. A job fails
   * when it takes over a quarter of a second of processor time, or too much memory. A failed job fails all jobs of its template: a
   * send goes to all recipients or to none.
   * Rejects with UNAVAILABLE under overload, with the reason of `signal`, and with errors of `charge`. Then the rest of the batch is
   * dropped.
   */
  async render(
    jobs: readonly RenderJob[],
    lane = NO_LANE,
    { signal, charge }: RenderWatch = {},
  ): Promise<readonly RenderOutcome[]> {
    signal?.throwIfAborted();
    const batch = new Batch(lane, charge);
    const abort = (): void => this.#stop(batch, signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const slices: Promise<void>[] = [];
      for (let from = 0; from < jobs.length; from += SLICE) slices.push(this.#slice(batch, jobs, from));
      await Promise.all(slices);
      return batch.outcomes;
    } catch (error) {
      this.#stop(batch, error);
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Kills all processes and rejects waiting work. */
  close(): void {
    this.#closed = true;
    this.#cancelIdle();
    const waiting = [...this.#lanes.values()].flat();
    this.#lanes.clear();
    this.#waiting = 0;
    for (const { reject } of waiting) reject(unavailable('The service is closing.'));
    for (const worker of this.#workers) worker.kill();
  }

  async #slice(batch: Batch, jobs: readonly RenderJob[], from: number): Promise<void> {
    const end = Math.min(from + SLICE, jobs.length);
    let next = from;
    // A single job is the culprit if its process dies.
    let careful = end - from === 1;
    while (next < end) {
      next = skipHopeless(batch, jobs, next, end);
      if (next === end) break;
      await this.#queue(batch.lane, batch, async (worker) => {
        // Other slices of the batch may have failed while this one waited.
        next = skipHopeless(batch, jobs, next, end);
        if (next === end) return;
        const take = (outcomes: readonly RenderOutcome[]): void => {
          for (const outcome of outcomes) {
            const failed = outcome.ok ? undefined : jobs[next];
            if (failed !== undefined && !outcome.ok) batch.hopeless.set(failed.template, outcome.problem);
            if (!batch.take(next, outcome)) return;
            next++;
          }
        };
        const { gone, blame } = await batch.run(worker, () => worker.render(jobs.slice(next, end), careful, take));
        if (gone === null) return;
        if (!blame) throw this.#trouble(gone);
        const culprit = jobs[next];
        if (careful && culprit !== undefined) batch.hopeless.set(culprit.template, `it ${gone}`);
        careful = true;
      });
    }
  }

  /** Rejects the waiting work of the batch and kills its processes. */
  #stop(batch: Batch, why: unknown): void {
    batch.stop(why);
    const waiting = this.#lanes.get(batch.lane) ?? [];
    const [its, others] = [waiting.filter((one) => one.batch === batch), waiting.filter((one) => one.batch !== batch)];
    this.#waiting -= its.length;
    if (others.length > 0) this.#lanes.set(batch.lane, others);
    else this.#lanes.delete(batch.lane);
    for (const { reject } of its) reject(why);
  }

  #trouble(gone: string): Error {
    return unavailable(
      'Templates cannot be rendered at the moment; try again later.',
      new Error(`the renderer ${gone}`),
    );
  }

  #queue(lane: string, batch: Batch | null, run: Work): Promise<void> {
    const before = this.#lanes.get(lane) ?? [];
    if (this.#closed || this.#waiting >= MAX_WAITING || before.length >= MAX_WAITING_IN_LANE) {
      return Promise.reject(tooMuch());
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settled: Work = (worker) => run(worker).then(resolve, reject);
    before.push({ run: settled, reject, batch, since: this.#clock.monotonic() });
    this.#lanes.set(lane, before);
    this.#waiting++;
    this.#dispatch();
    return promise;
  }

  #dispatch(): void {
    this.#cancelIdle();
    while (this.#waiting > 0) {
      const worker = [...this.#workers].find(({ idle }) => idle) ?? this.#grow();
      if (worker === null) return;
      const next = this.#next();
      if (next === undefined) break;
      void next.run(worker).then(() => this.#dispatch());
    }
    this.#cancelIdle = this.#clock.after(IDLE_MS, () => {
      for (const worker of this.#workers) if (worker.idle) worker.kill();
    });
  }

  /** The next work: the first of the lane that was served longest ago. */
  #next(): Waiting | undefined {
    for (const [lane, waiting] of this.#lanes) {
      this.#lanes.delete(lane);
      const next = waiting.shift();
      if (waiting.length > 0) this.#lanes.set(lane, waiting);
      if (next === undefined) continue;
      this.#waiting--;
      if (this.#clock.monotonic() - next.since < MAX_WAIT_MS) return next;
      next.reject(tooMuch());
    }
    return undefined;
  }

  #grow(): RenderProcess | null {
    if (this.#grown || this.#workers.size >= this.#size) return null;
    const worker = new RenderProcess(this.#clock, this.#timezone, (gone) => this.#workers.delete(gone));
    this.#workers.add(worker);
    this.#grown = true;
    setImmediate(() => {
      this.#grown = false;
      if (!this.#closed) this.#dispatch();
    });
    return worker;
  }
}

function tooMuch(): Error {
  return unavailable('Too much is being rendered at the moment; try again later.');
}

/** Sets the outcomes of the next jobs whose templates have failed; returns the index of the first other job. */
function skipHopeless({ outcomes, hopeless }: Batch, jobs: readonly RenderJob[], from: number, end: number): number {
  let next = from;
  for (; next < end; next++) {
    const job = jobs[next];
    const problem = job && hopeless.get(job.template);
    if (problem === undefined) break;
    outcomes[next] = { ok: false, problem };
  }
  return next;
}
