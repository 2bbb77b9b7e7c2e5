/**
 * One rendering process and its supervision. A task that exceeds its processor time, or whose process dies, fails and is blamed. A task
 * that exceeds only the elapsed time fails without blame, so that a busy machine does not make templates invalid.
 */

import { type ChildProcess, fork } from 'node:child_process';
import type { Clock } from '../../base/clock.ts';
import { workerUrl } from '../../base/worker-url.ts';
import { cpuMsOf } from './cpu-time.ts';
import type {
  FromProcess,
  PrintedMembers,
  RenderJob,
  RenderOutcome,
  TemplateFault,
  TemplateSource,
  ToProcess,
} from './messages.ts';

/** Milliseconds to start, which includes loading the libraries. */
const START_MS = 20_000;
/** Milliseconds of processor time between two messages: the limit of one job. */
export const CPU_MS = 250;
/** The limit in elapsed time where processor time cannot be read. */
export const CLOCK_MS = 4 * CPU_MS;
/** The limit in elapsed time where processor time can be read; even a busy machine gives a process enough in this time. */
const GIVEN_UP_MS = 20_000;
/** Least milliseconds between two checks of the processor time. */
const LEAST_WAIT_MS = 20;
/** Megabytes. A template with all its values takes a few. */
const HEAP_MB = 96;

/** How a task ended. `gone`: why the process ended, null while it lives. `blame`: the task was the cause. */
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
  readonly #timezone: string;
  readonly #child: ChildProcess;
  readonly #exited: (self: RenderProcess) => void;
  #ready = false;
  #gone: string | null = null;
  #blame = false;
  #task: Task | null = null;
  #message: unknown = null;
  #cancelWatch: () => void = () => undefined;
  #heard = 0;
  /** At the last message or the start of the task: the processor time used, null if unknown, and monotonic milliseconds. */
  #since: { readonly cpuMs: number | null; readonly at: number };

  /** `timezone` is that of readers without their own. `exited` is called once, for any end. */
  constructor(clock: Clock, timezone: string, exited: (self: RenderProcess) => void) {
    this.#clock = clock;
    this.#timezone = timezone;
    this.#exited = exited;
    this.#child = fork(workerUrl(import.meta.url, 'worker'), [], {
      // Dates are computed as if the machine were in UTC, whose clock is never changed.
      env: { TZ: 'UTC' },
      // The permission model denies writing files, processes, threads and native code.
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
    // The process must not keep the service alive.
    this.#child.unref();
    this.#child.channel?.unref();
    this.#since = { cpuMs: null, at: clock.monotonic() };
    this.#watch(START_MS, () => true);
  }

  get idle(): boolean {
    return this.#gone === null && this.#task === null;
  }

  /** The syntax errors of a template. */
  check(template: TemplateSource): Promise<{ faults: readonly TemplateFault[] } & Ended> {
    return this.#request({ kind: 'check', template }, { faults: [] as readonly TemplateFault[] }, (message) =>
      message.kind === 'checked' ? { faults: message.faults } : null,
    );
  }

  /** The members of `user` that a template only outputs; null also for a failed analysis. */
  analyze(template: TemplateSource): Promise<{ printed: PrintedMembers } & Ended> {
    return this.#request({ kind: 'analyze', template }, { printed: null as PrintedMembers }, (message) =>
      message.kind === 'analyzed' ? { printed: message.printed } : null,
    );
  }

  /** Renders until the jobs or the process end. `take` gets the outcomes as they arrive. */
  render(
    jobs: readonly RenderJob[],
    careful: boolean,
    take: (outcomes: readonly RenderOutcome[]) => void,
  ): Promise<Ended> {
    const { promise, resolve } = Promise.withResolvers<Ended>();
    let left = jobs.length;
    this.#start(
      { kind: 'render', jobs, careful, timezone: this.#timezone },
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
    this.#ended('was stopped', false);
  }

  /** Sends one request and resolves with its answer, or with `otherwise` when the process ends first. */
  #request<T extends object>(
    request: ToProcess,
    otherwise: T,
    read: (message: FromProcess) => T | null,
  ): Promise<T & Ended> {
    const { promise, resolve } = Promise.withResolvers<T & Ended>();
    let answer = otherwise;
    this.#start(request, {
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
    // A broken channel is followed by an `exit` event, which ends the task.
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
    // `take` may have killed this process because a budget is used up.
    if (this.#gone !== null) return;
    if (isDone) this.#finish();
    else this.#begin();
  }

  /** Starts to count the time of the task. */
  #begin(): void {
    this.#since = { cpuMs: this.#cpuMs(), at: this.#clock.monotonic() };
    this.#watch(this.#since.cpuMs === null ? CLOCK_MS : CPU_MS, () => this.#over());
  }

  /** Whether the process has used its processor time. Otherwise schedules the next check. */
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
      // The service itself may have been blocked: messages that arrived meanwhile are read first.
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
