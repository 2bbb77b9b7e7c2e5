/** Questions that a program keeps to ask them again and again (docs/reference/decisions.md#kept-questions). */

import { UnavailableError } from './errors.ts';
import type { Faults, Members, Shape } from './faults.ts';
import { readSettings } from './settings.ts';
import type { AskOptions, Decision } from './types.ts';

export interface KeepOptions<Nothing extends 'throw' | 'undefined' = 'throw' | 'undefined'> {
  /** What comes of a question that cannot be answered now: UnavailableError is thrown, which is usual, or the answer is undefined. */
  readonly unanswered?: Nothing | undefined;
}

/** What comes of a question that cannot be answered now, beside an error: nothing, or undefined. */
export type NothingOf<Choice extends 'throw' | 'undefined'> = Choice extends 'undefined' ? undefined : never;

/** A question that `keep` of the engine in this process has made. */
export interface KeptQuestion<Nothing = never> {
  /**
   * Whether it is allowed, now: never by what has ended, and never beyond the greatest staleness. Throws UnavailableError where that
   * cannot be said now, or gives undefined where `keep` was told so; what lacks is then asked for in the background. Throws
   * InvalidQuestionError for codes that the application does not define, where it is strict about them.
   */
  (): boolean | Nothing;
  /** The same with the level, the rule and the revision. */
  readonly decision: () => Decision | Nothing;
  /** Waits until it can be answered. Rejects as `check` does. */
  readonly ready: (options?: Pick<AskOptions, 'deadlineMs' | 'signal'>) => Promise<void>;
  /** It is asked no more: nothing is read for it from now on, and nothing is answered. */
  readonly close: () => void;
}

/** A question that `keep` of a client of the service has made: what is sent is written once. */
export interface KeptCall<Nothing = never> {
  /** Whether it is allowed. Rejects with UsherError; where `keep` was told so, gives undefined for UnavailableError. */
  (): Promise<boolean | Nothing>;
  /** The same with the level, the rule and the revision. */
  readonly decision: () => Promise<Decision | Nothing>;
  /** As the service's `ready`. */
  readonly ready: (options?: Pick<AskOptions, 'deadlineMs' | 'signal'>) => Promise<void>;
  /** It is asked no more. */
  readonly close: () => void;
}

/** A kept question that `ask` answers each time. */
export function keptCall<Choice extends 'throw' | 'undefined'>(
  ask: () => Promise<Decision>,
  ready: KeptCall['ready'],
  options: KeepOptions<Choice> | undefined,
): KeptCall<NothingOf<Choice>> {
  const throws = readKeep(options);
  let isClosed = false;
  const decision = async (): Promise<Decision | undefined> => {
    try {
      if (isClosed) throw closedError();
      return await ask();
    } catch (error) {
      if (throws || !(error instanceof UnavailableError)) throw error;
      return undefined;
    }
  };
  const close = (): void => {
    isClosed = true;
  };
  // Without the choice it throws instead.
  return Object.assign(async () => (await decision())?.allowed, { decision, ready, close }) as KeptCall<
    NothingOf<Choice>
  >;
}

const SHAPE: Shape = { name: 'the options of keep', members: ['unanswered'] };
const CHOICES: readonly unknown[] = ['throw', 'undefined'];

/** Whether what cannot be answered is thrown. */
export function readKeep(options: unknown): boolean {
  if (options === undefined) return true;
  return readSettings(options, 'options', SHAPE, isThrown);
}

function isThrown(members: Members, faults: Faults): boolean {
  const choice = members.get('unanswered') ?? 'throw';
  if (!CHOICES.includes(choice)) faults.add('unanswered', "must be 'throw' or 'undefined'");
  return choice === 'throw';
}

/** Of a question that is asked after its end. */
export function closedError(): UnavailableError {
  return new UnavailableError('This question was closed.', { code: 'UNAVAILABLE', reason: 'CLOSED' });
}
