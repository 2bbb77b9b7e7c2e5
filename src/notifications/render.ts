/**
 * Renders templates beside the service, where they can be killed: a template can loop, or ask for more memory than there is.
 * (docs/reference/notifications.md#templates: LiquidJS with output escaping in HTML, no files, no partials, bounded in time and memory.)
 */

import { hash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import type { RenderJob, RenderOutcome, Shown, TemplateFault, TemplateSource } from './render/messages.ts';
import { RenderProcess } from './render/process.ts';

export type {
  Rendered,
  RenderJob,
  RenderOutcome,
  Shown,
  TemplateFault,
  TemplateSource,
  UserMember,
} from './render/messages.ts';

/** Jobs that travel together. */
const SLICE = 64;
/** Slices that may wait: more than ten sends of 1,000 recipients for each process. */
const MAX_WAITING = 1000;
/** Of one lane, so that none shuts the others out. */
const MAX_WAITING_IN_LANE = MAX_WAITING / 2;
/** What waited for this long is not begun: most that asked are gone. An auth mail has a little more in all. */
const MAX_WAIT_MS = 30_000;
/** A process without work ends after this. */
const IDLE_MS = 60_000;

/** Where waits what names no lane. */
const NO_LANE = '';
/** Analyses of templates that are kept. */
const MAX_ANALYSES = 200;

type Work = (worker: RenderProcess) => Promise<void>;

/** Bounds on one call of `render`. */
export interface RenderWatch {
  /** Aborting it ends the call, and the processes that work for it. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the size of each outcome as it arrives; what it throws ends the call. */
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

/** One call of `render`: the same template fails once, and then at once. */
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

  /** Takes the outcome of the job at that place; false once the batch has stopped. */
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

  /** Ends the processes that work for it: a slice of 64 jobs can take sixteen seconds and make hundreds of megabytes. */
  stop(why: unknown): void {
    this.#stopped ??= { why };
    for (const worker of this.#workers) worker.kill();
  }

  refuseStopped(): void {
    if (this.#stopped !== null) throw this.#stopped.why;
  }

  /** Work that `stop` ends. */
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
 * Each call names the lane that it waits in. Lanes take turns, so that what one application's templates cost is not waited for by
 * another's, nor previews by sends.
 */
export class Renderer {
  readonly #clock: Clock;
  readonly #size: number;
  readonly #workers = new Set<RenderProcess>();
  /** By lane; the first lane is served next, and then goes to the end. None is empty. */
  readonly #lanes = new Map<string, Waiting[]>();
  #waiting = 0;
  /** By the hash of a template's parts. */
  readonly #shown = new Map<string, Shown>();
  #cancelIdle: () => void = () => undefined;
  /** A process was started in this turn of the event loop, which each of them takes some milliseconds of. */
  #grown = false;
  #closed = false;

  /** Starts nothing until there is something to render. */
  constructor(clock: Clock, size: number = availableParallelism()) {
    this.#clock = clock;
    this.#size = Math.max(1, size);
  }

  /** Every part of the template that does not parse, with line and column; empty when all do. Rejects with UNAVAILABLE. */
  async check(template: TemplateSource, lane = NO_LANE): Promise<readonly TemplateFault[]> {
    let faults: readonly TemplateFault[] = [];
    await this.#queue(lane, null, async (worker) => {
      const { gone, blame, ...answer } = await worker.check(template);
      if (gone !== null && !blame) throw this.#trouble(gone);
      faults = gone === null ? answer.faults : [{ field: 'html', line: 1, column: 1, message: `it ${gone} to parse` }];
    });
    return faults;
  }

  /** What the template shows of its reader, and nothing more; null when it may do anything with it, or is not known to do less. */
  async shown(template: TemplateSource, lane = NO_LANE): Promise<Shown> {
    const key = hash('sha256', JSON.stringify(template), 'base64url');
    const known = this.#shown.get(key);
    if (known !== undefined) return known;
    let shown: Shown = null;
    await this.#queue(lane, null, async (worker) => {
      const { gone, blame, ...answer } = await worker.analyse(template);
      if (gone !== null && !blame) throw this.#trouble(gone);
      shown = answer.shown;
    });
    if (this.#shown.size >= MAX_ANALYSES) this.#shown.clear();
    this.#shown.set(key, shown);
    return shown;
  }

  /**
   * The outcome of each job, in their order. What is the same object in several jobs (a template, a payload) is sent and parsed
   * once. A job that takes over a quarter of a second of processor time, or too much memory, fails. When one fails, the rest of its
   * template fails with it: what is sent is sent to all or to none.
   * Rejects with UNAVAILABLE when there is too much to do, with the reason of `signal`, and with what `charge` throws. Then nothing of
   * the batch is rendered any more, or waits to be.
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

  /** Ends every process; what waits is rejected. */
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
    // One by itself is known to be the culprit when its process ends.
    let careful = end - from === 1;
    while (next < end) {
      next = skipHopeless(batch, jobs, next, end);
      if (next === end) break;
      await this.#queue(batch.lane, batch, async (worker) => {
        // Others of the batch may have failed while this waited.
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

  /** What waits of the batch is rejected, what is under way is ended. */
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

  /** What is served next: the first of the lane that was served longest ago. */
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
    const worker = new RenderProcess(this.#clock, (gone) => this.#workers.delete(gone));
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

/** Answers for the next jobs of templates that failed already; where the first other one is. */
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
