/**
 * One rendering process, and the watch over it: what takes too long, or dies, is killed and told as such. Too long is by its own
 * processor time, so that a template is not refused for what else the machine is doing; by the clock, it is given up and not blamed.
 */

import { type ChildProcess, fork } from 'node:child_process';
import type { Clock } from '../../base/clock.ts';
import { workerUrl } from '../../base/worker-url.ts';
import { cpuMsOf } from './cpu-time.ts';
import type {
  FromProcess,
  RenderJob,
  RenderOutcome,
  Shown,
  TemplateFault,
  TemplateSource,
  ToProcess,
} from './messages.ts';

/** Milliseconds. Loading the libraries is not a template's fault. */
const START_MS = 20_000;
/** Processor time without a word. One job may take that long. */
export const CPU_MS = 250;
/** By the clock, where the processor time of another process cannot be told. */
export const CLOCK_MS = 4 * CPU_MS;
/** By the clock, where it can: not even a machine with much else to do leaves so little time to a process. */
const GIVEN_UP_MS = 20_000;
/** Milliseconds between looks at what has used nearly all of its time. */
const LEAST_WAIT_MS = 20;
/** Megabytes. A template with all its values takes a few. */
const HEAP_MB = 96;

/** How a task ended: `gone` says that the process is, and what of; `blame`, that it was what it had to do. */
export interface Ended {
  readonly gone: string | null;
  readonly blame: boolean;
}

interface Task {
  take(message: FromProcess): boolean;
  readonly end: (ended: Ended) => void;
}

export class RenderProcess {
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  readonly #exited: (self: RenderProcess) => void;
  #ready = false;
  #gone: string | null = null;
  #blame = false;
  #task: Task | null = null;
  #message: unknown = null;
  #cancelWatch: () => void = () => undefined;
  #heard = 0;
  /** When its last word came, or its task went: what it had used by then, null when that is not told, and monotonic milliseconds. */
  #since: { readonly cpuMs: number | null; readonly at: number };

  /** `exited` is called once, whatever ends it. */
  constructor(clock: Clock, exited: (self: RenderProcess) => void) {
    this.#clock = clock;
    this.#exited = exited;
    this.#child = fork(workerUrl(import.meta.url, 'worker'), [], {
      env: {},
      // Neither files to write, nor processes, threads, or native code.
      execArgv: [
        '--permission',
        '--allow-fs-read=*',
        '--disable-warning=ExperimentalWarning',
        `--max-old-space-size=${HEAP_MB}`,
        '--max-semi-space-size=4',
      ],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child.on('message', (message: FromProcess) => this.#hear(message));
    this.#child.on('error', () => this.#ended('does not start', false));
    this.#child.on('exit', (code, signal) => {
      // V8 aborts when its heap is full; the kernel kills when the machine's memory is.
      if (signal === 'SIGABRT' || signal === 'SIGKILL') this.#ended('takes too much memory', this.#ready);
      else this.#ended(`ended with ${signal ?? code}`, false);
    });
    // Nothing here keeps the service alive.
    this.#child.unref();
    this.#child.channel?.unref();
    this.#since = { cpuMs: null, at: clock.monotonic() };
    this.#watch(START_MS, () => true);
  }

  get idle(): boolean {
    return this.#gone === null && this.#task === null;
  }

  /** Where a template does not parse. */
  check(template: TemplateSource): Promise<{ faults: readonly TemplateFault[] } & Ended> {
    return this.#ask({ kind: 'check', template }, { faults: [] as readonly TemplateFault[] }, (message) =>
      message.kind === 'checked' ? { faults: message.faults } : null,
    );
  }

  /** What a template shows of its reader; null too when it is not known. */
  analyse(template: TemplateSource): Promise<{ shown: Shown } & Ended> {
    return this.#ask({ kind: 'analyse', template }, { shown: null as Shown }, (message) =>
      message.kind === 'analysed' ? { shown: message.shown } : null,
    );
  }

  /** Renders until the end of the jobs or its own; `take` gets the outcomes as they come. */
  render(
    jobs: readonly RenderJob[],
    careful: boolean,
    take: (outcomes: readonly RenderOutcome[]) => void,
  ): Promise<Ended> {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    let left = jobs.length;
    this.#start(
      { kind: 'render', jobs, careful },
      {
        take: (message) => {
          if (message.kind !== 'rendered') return false;
          take(message.outcomes);
          left -= message.outcomes.length;
          return left <= 0;
        },
        end: resolve,
      },
    );
    return promise;
  }

  kill(): void {
    this.#ended('was ended', false);
  }

  /** One question, one answer; `otherwise` when it does not come. */
  #ask<T extends object>(
    question: ToProcess,
    otherwise: T,
    read: (message: FromProcess) => T | null,
  ): Promise<T & Ended> {
    const { promise, resolve } = Promise.withResolvers<T & Ended>();
    let answer = otherwise;
    this.#start(question, {
      take: (message) => {
        answer = read(message) ?? answer;
        return true;
      },
      end: (ended) => resolve({ ...answer, ...ended }),
    });
    return promise;
  }

  #start(message: ToProcess, task: Task): void {
    this.#task = task;
    this.#message = message;
    if (this.#gone !== null) this.#finish();
    else if (this.#ready) this.#send();
  }

  #send(): void {
    // A channel that is broken is told by the exit that follows.
    this.#child.send(this.#message as object, () => undefined);
    this.#message = null;
    this.#begin();
  }

  #hear(message: FromProcess): void {
    if (this.#gone !== null) return;
    this.#heard++;
    if (message.kind === 'ready') {
      this.#ready = true;
      this.#cancelWatch();
      if (this.#task !== null) this.#send();
      return;
    }
    const task = this.#task;
    if (task === null) return;
    const isDone = task.take(message);
    // Taking the message may have ended this process: a budget is spent.
    if (this.#gone !== null) return;
    if (isDone) this.#finish();
    else this.#begin();
  }

  /** From now on its time counts. */
  #begin(): void {
    this.#since = { cpuMs: this.#cpuMs(), at: this.#clock.monotonic() };
    this.#watch(this.#since.cpuMs === null ? CLOCK_MS : CPU_MS, () => this.#over());
  }

  /** Whether it has to end; else it is looked at again when that could be. */
  #over(): boolean {
    const { cpuMs: before, at } = this.#since;
    const now = this.#cpuMs();
    if (before === null || now === null) return true;
    const left = CPU_MS - (now - before);
    if (left <= 0) return true;
    const leftByClock = GIVEN_UP_MS - (this.#clock.monotonic() - at);
    if (leftByClock <= 0) {
      this.#ended('got too little of the processor', false);
      return false;
    }
    this.#watch(Math.max(LEAST_WAIT_MS, Math.min(left, leftByClock)), () => this.#over());
    return false;
  }

  #cpuMs(): number | null {
    return this.#child.pid === undefined ? null : cpuMsOf(this.#child.pid);
  }

  #watch(ms: number, isOver: () => boolean): void {
    this.#cancelWatch();
    this.#cancelWatch = this.#clock.after(ms, () => {
      // It is this process that may have been held up: what has come meanwhile is read first.
      const heard = this.#heard;
      setImmediate(() => {
        setImmediate(() => {
          if (this.#gone === null && this.#heard === heard && isOver()) this.#ended('takes too long', this.#ready);
        });
      });
    });
  }

  #finish(): void {
    this.#cancelWatch();
    const task = this.#task;
    this.#task = null;
    task?.end({ gone: this.#gone, blame: this.#blame });
  }

  #ended(why: string, blame: boolean): void {
    if (this.#gone !== null) return;
    this.#gone = why;
    this.#blame = blame;
    this.#child.kill('SIGKILL');
    this.#finish();
    this.#exited(this);
  }
}
