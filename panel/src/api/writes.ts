/** Writes: what a page does when somebody saves, with their state while they are under way. */

import { useCallback, useRef, useState } from 'react';
import { goToFault } from '../parts/first-fault.ts';
import { wordsOf } from '../parts/problem.tsx';
import { tell } from '../shell/toasts.ts';
import { useWords } from '../words/words.ts';
import { undoBound } from './bound.ts';
import type { CallOptions } from './call.ts';
import { asError, isStale } from './error.ts';
import { onRefused, refresh } from './queries.ts';

export interface Writing {
  readonly busy: boolean;
  /** Why the last try failed; null after a success. */
  readonly error: Error | null;
  /** Runs a write; true when it was made. A second press while the first is under way does nothing. */
  readonly run: (write: () => Promise<unknown>) => Promise<boolean>;
  readonly reset: () => void;
}

interface WriteOptions {
  /** Said when the write was made. */
  readonly done?: string;
  /** What to ask for again, by the beginnings of paths; everything when left out. */
  readonly refreshes?: readonly string[];
  /**
   * The inverse write: offered for ten seconds. It is given what binds it to the state that the write left, if `run` was given a
   * write that resolves to its answer: what somebody else has changed meanwhile is not overwritten.
   */
  readonly undo?: (bound: CallOptions) => Promise<unknown>;
}

/** `options` may be a function, for what is known only when the write is made. */
export function useWrite(options: WriteOptions | (() => WriteOptions) = {}): Writing {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const under = useRef(false);
  const latest = useRef(options);
  latest.current = options;
  const spoken = useWords();
  const words = useRef(spoken);
  words.current = spoken;
  const run = useCallback(async (write: () => Promise<unknown>): Promise<boolean> => {
    if (under.current) return false;
    under.current = true;
    setBusy(true);
    setError(null);
    try {
      const bound = undoBound(await write());
      const {
        done,
        refreshes = ['/api'],
        undo,
      } = typeof latest.current === 'function' ? latest.current() : latest.current;
      refresh(...refreshes);
      const said = (thrown: Error) =>
        isStale(thrown) ? words.current.problem.undoStale : wordsOf(thrown, words.current);
      const inverse = undo === undefined ? null : () => undone(() => undo(bound), refreshes, said);
      if (done !== undefined) tell(done, { undo: inverse });
      return true;
    } catch (thrown) {
      onRefused(thrown);
      setError(asError(thrown));
      goToFault();
      return false;
    } finally {
      under.current = false;
      setBusy(false);
    }
  }, []);
  const reset = useCallback(() => setError(null), []);
  return { busy, error, run, reset };
}

async function undone(
  undo: () => Promise<unknown>,
  refreshes: readonly string[],
  said: (thrown: Error) => string,
): Promise<void> {
  try {
    await undo();
  } catch (thrown) {
    tell(said(asError(thrown)), { kind: 'failed' });
  }
  refresh(...refreshes);
}
