/** Kept questions of the engine in this process: a hot answer reads the clock and looks at leases, and makes nothing. */

import type { Clock } from '../../../src/base/clock.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { DENIED } from '../../../src/engine/evaluate.ts';
import { keepQuestion } from '../../../src/engine/grounds.ts';
import { isAllowed } from '../../../src/engine/question.ts';
import type { Decision as EngineDecision, Level, Question } from '../../../src/engine/types.ts';
import { UnavailableError } from './errors.ts';
import { closedError, type KeptQuestion } from './kept.ts';
import { levelOf, sourceOf } from './messages.ts';
import { readReady } from './settings.ts';
import type { AskOptions, Decision } from './types.ts';

/** What kept questions need of the engine in this process. */
export interface KeptHost {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly maxStalenessMs: number;
  /** The wall clock less the monotonic one when the newest log was asked for. */
  readonly offset: () => number;
  /** Throws UnavailableError where the last word from the service is too old. */
  readonly checkStaleness: () => void;
  /** What the engine's error is for callers. */
  readonly errorOf: (error: unknown) => Error;
}

/** What is kept. `asked` is null for a question that is denied without data. */
export interface Kept {
  readonly asked: Question | null;
  readonly level: Level;
  /** Whether what cannot be answered is thrown. */
  readonly throws: boolean;
  /** Asks for its facts and waits for them. */
  readonly load: (options?: AskOptions) => Promise<unknown>;
}

interface Open extends Kept {
  readonly kept: ReturnType<typeof keepQuestion>;
  isClosed: boolean;
  isLoading: boolean;
}

/** Between looks at all of them, for facts whose life is nearly over, and for loads that failed. */
const TEND_MS = 1000;
/** After a change, so that a crowd of changes costs one look. */
const SOON_MS = 10;
/** The wall clock tells of a machine that slept; reading it makes an object, so it is not read for each of thousands of answers. */
const WALL_MS = 1;
/** What the engine decided, as callers get it; `level` is the one asked for. */
export function decidedOf(decided: EngineDecision, level: Level, revision: string): Decision {
  const allowed = isAllowed(decided, level);
  return { allowed, level: levelOf(decided.level), source: sourceOf(decided.source), revision };
}

const NO_QUESTION: Question = { email: '', app: '', permission: '', resourceType: '', resourceId: '' };

export class KeptQuestions {
  readonly #host: KeptHost;
  readonly #open = new Set<Open>();
  #wallReadAt = Number.NEGATIVE_INFINITY;
  #sleptMs = 0;
  #cancelTending: (() => void) | undefined;
  #isSoon = false;

  constructor(host: KeptHost) {
    this.#host = host;
    host.engine.tail.onMove(() => this.#tendSoon());
  }

  keep(kept: Kept): KeptQuestion<undefined> {
    const one: Open = { ...kept, kept: keepQuestion(kept.asked ?? NO_QUESTION), isClosed: false, isLoading: false };
    this.#open.add(one);
    this.#tend();
    const may = (): boolean | undefined => {
      const decision = this.#recall(one) ?? this.#decide(one);
      return decision === undefined ? undefined : isAllowed(decision, one.level);
    };
    return Object.assign(may, {
      decision: (): Decision | undefined => {
        const decision = this.#recall(one) ?? this.#decide(one);
        return decision === undefined ? undefined : decidedOf(decision, one.level, this.#host.engine.revision);
      },
      ready: async (options?: Pick<AskOptions, 'deadlineMs' | 'signal'>) => {
        if (one.isClosed) throw closedError();
        await one.load(readReady(options));
      },
      close: () => {
        one.isClosed = true;
        one.kept.held = null;
        this.#open.delete(one);
        if (this.#open.size === 0) this.#rest();
      },
    });
  }

  /** Ends all of them. */
  close(): void {
    for (const one of this.#open) {
      one.isClosed = true;
      one.kept.held = null;
    }
    this.#open.clear();
    this.#rest();
  }

  /** The decision by the facts that were found last. Null where they may have ended. */
  #recall(one: Open): EngineDecision | null {
    const { clock, engine } = this.#host;
    // The end of the millisecond: an integer is passed on without an object.
    const now = Math.ceil(clock.monotonic());
    return this.#isFresh(now) && one.kept.held !== null ? engine.peekKept(one.kept, now) : null;
  }

  /** The decision by what is known now. Without it, it is asked for. */
  #decide(one: Open): EngineDecision | undefined {
    try {
      if (one.isClosed) throw closedError();
      this.#host.checkStaleness();
      if (one.asked === null) return DENIED;
      const decision = this.#find(one);
      if (decision !== null) return decision;
      throw new UnavailableError('The facts for it are being read: ask again, or wait for ready().', {
        code: 'UNAVAILABLE',
        reason: 'LOADING',
      });
    } catch (error) {
      const failure = this.#host.errorOf(error);
      if (!(failure instanceof UnavailableError)) throw failure;
      this.#load(one);
      if (one.throws) throw failure;
      return undefined;
    }
  }

  #find({ kept }: Open): EngineDecision | null {
    const { clock, engine } = this.#host;
    // The second for codes that the application does not define, which are not held.
    return engine.peekKept(kept, clock.monotonic()) ?? engine.peek(kept.question);
  }

  #isFresh(now: number): boolean {
    const { engine, clock, maxStalenessMs, offset } = this.#host;
    if (now - this.#wallReadAt >= WALL_MS) {
      this.#wallReadAt = now;
      this.#sleptMs = Math.max(0, clock.now() - now - offset());
    }
    return now - engine.tail.syncedAt + this.#sleptMs <= maxStalenessMs;
  }

  /** Asks for its facts, beside everything else. */
  #load(one: Open): void {
    if (one.isLoading || one.isClosed || one.asked === null) return;
    one.isLoading = true;
    const done = (): void => {
      one.isLoading = false;
    };
    // What failed is said by the next answer, and tried again.
    one.load().then(done, done);
  }

  #tendSoon(): void {
    if (this.#isSoon || this.#open.size === 0) return;
    this.#isSoon = true;
    this.#host.clock.after(SOON_MS, () => {
      this.#isSoon = false;
      this.#tend();
    });
  }

  /** Reads facts that have ended, and notes those that are due, so that the next call of each question has an answer. */
  #tend(): void {
    this.#rest();
    if (this.#open.size === 0) return;
    this.#cancelTending = this.#host.clock.after(TEND_MS, () => this.#tend());
    for (const one of this.#open) if (!this.#isAnswered(one)) this.#load(one);
  }

  #isAnswered(one: Open): boolean {
    try {
      return one.asked === null || this.#find(one) !== null;
    } catch {
      // The application does not define its codes: the caller gets that error at the next call.
      return true;
    }
  }

  #rest(): void {
    this.#cancelTending?.();
    this.#cancelTending = undefined;
  }
}
