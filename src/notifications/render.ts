/**
 * Renders templates beside the service, where they can be killed: a template can loop, or ask for more memory than there is.
 * (Contract 6: LiquidJS with output escaping in HTML, no files, no partials, bounded in time and memory.)
 */

import { hash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { Clock } from '../clock.ts';
import { unavailable } from '../errors.ts';
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

/** Milliseconds for one job. */
export const PATIENCE_MS = 250;
/** For one that is tried again by itself, to be sure that it is the culprit and not the machine. */
export const CAREFUL_MS = 500;
/** Jobs that travel together. */
const SLICE = 64;
/** Slices that may wait: more than ten sends of 1,000 recipients for each process. */
const MAX_WAITING = 1000;
/** A process without work ends after this. */
const IDLE_MS = 60_000;

/** Analyses of templates that are kept. */
const MAX_ANALYSES = 200;

type Work = (worker: RenderProcess) => Promise<void>;

interface Waiting {
  run: Work;
  reject: (error: Error) => void;
}

/** One call of `render`: the same template fails once, and then at once. */
interface Batch {
  readonly outcomes: RenderOutcome[];
  readonly hopeless: Map<TemplateSource, string>;
}

export class Renderer {
  readonly #clock: Clock;
  readonly #size: number;
  readonly #workers = new Set<RenderProcess>();
  readonly #waiting: Waiting[] = [];
  /** By the hash of a template's parts. */
  readonly #shown = new Map<string, Shown>();
  #cancelIdle: () => void = () => undefined;
  #closed = false;

  /** Starts nothing until there is something to render. */
  constructor(clock: Clock, size: number = availableParallelism()) {
    this.#clock = clock;
    this.#size = Math.max(1, size);
  }

  /** Every part of the template that does not parse, with line and column; empty when all do. Rejects with UNAVAILABLE. */
  async check(template: TemplateSource): Promise<readonly TemplateFault[]> {
    let faults: readonly TemplateFault[] = [];
    await this.#queue(async (worker) => {
      const { gone, blame, ...answer } = await worker.check(template, CAREFUL_MS);
      if (gone !== null && !blame) throw this.#trouble(gone);
      faults = gone === null ? answer.faults : [{ field: 'html', line: 1, column: 1, message: `it ${gone} to parse` }];
    });
    return faults;
  }

  /** What the template shows of its reader, and nothing more; null when it may do anything with it, or is not known to do less. */
  async shown(template: TemplateSource): Promise<Shown> {
    const key = hash('sha256', JSON.stringify(template), 'base64url');
    const known = this.#shown.get(key);
    if (known !== undefined) return known;
    let shown: Shown = null;
    await this.#queue(async (worker) => {
      const { gone, blame, ...answer } = await worker.analyse(template, CAREFUL_MS);
      if (gone !== null && !blame) throw this.#trouble(gone);
      shown = answer.shown;
    });
    if (this.#shown.size >= MAX_ANALYSES) this.#shown.clear();
    this.#shown.set(key, shown);
    return shown;
  }

  /**
   * The outcome of each job, in their order. What is the same object in several jobs (a template, a payload) is sent and parsed
   * once. A job that takes over a quarter of a second, or too much memory, fails. When one fails, the rest of its template fails
   * with it: what is sent is sent to all or to none.
   * Rejects with UNAVAILABLE when there is too much to do.
   */
  async render(jobs: readonly RenderJob[]): Promise<readonly RenderOutcome[]> {
    const batch: Batch = { outcomes: [], hopeless: new Map() };
    const slices: Promise<void>[] = [];
    for (let from = 0; from < jobs.length; from += SLICE) slices.push(this.#slice(batch, jobs, from));
    await Promise.all(slices);
    return batch.outcomes;
  }

  /** Ends every process; what waits is rejected. */
  close(): void {
    this.#closed = true;
    this.#cancelIdle();
    for (const { reject } of this.#waiting.splice(0)) reject(unavailable('The service is closing.'));
    for (const worker of this.#workers) worker.kill();
  }

  async #slice(batch: Batch, jobs: readonly RenderJob[], from: number): Promise<void> {
    const end = Math.min(from + SLICE, jobs.length);
    let next = from;
    let careful = false;
    while (next < end) {
      next = skipHopeless(batch, jobs, next, end);
      if (next === end) break;
      await this.#queue(async (worker) => {
        // Others of the batch may have failed while this waited.
        next = skipHopeless(batch, jobs, next, end);
        if (next === end) return;
        const patience = careful ? CAREFUL_MS : PATIENCE_MS;
        const { gone, blame } = await worker.render(jobs.slice(next, end), careful, patience, (outcomes) => {
          for (const outcome of outcomes) {
            const failed = outcome.ok ? undefined : jobs[next];
            if (failed !== undefined && !outcome.ok) batch.hopeless.set(failed.template, outcome.problem);
            batch.outcomes[next++] = outcome;
          }
        });
        if (gone === null) return;
        if (!blame) throw this.#trouble(gone);
        const culprit = jobs[next];
        if (careful && culprit !== undefined) batch.hopeless.set(culprit.template, `it ${gone}`);
        careful = true;
      });
    }
  }

  #trouble(gone: string): Error {
    return unavailable('Templates cannot be rendered just now; try again later.', new Error(`the renderer ${gone}`));
  }

  #queue(run: Work): Promise<void> {
    if (this.#closed || this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(unavailable('There is too much to render just now; try again later.'));
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const settled: Work = (worker) => run(worker).then(resolve, reject);
    this.#waiting.push({ run: settled, reject });
    this.#dispatch();
    return promise;
  }

  #dispatch(): void {
    this.#cancelIdle();
    while (this.#waiting.length > 0) {
      const worker = [...this.#workers].find(({ idle }) => idle) ?? this.#grow();
      if (worker === null) return;
      const { run } = this.#waiting.shift() as Waiting;
      void run(worker).then(() => this.#dispatch());
    }
    this.#cancelIdle = this.#clock.after(IDLE_MS, () => {
      for (const worker of this.#workers) if (worker.idle) worker.kill();
    });
  }

  #grow(): RenderProcess | null {
    if (this.#workers.size >= this.#size) return null;
    const worker = new RenderProcess(this.#clock, (gone) => this.#workers.delete(gone));
    this.#workers.add(worker);
    return worker;
  }
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
