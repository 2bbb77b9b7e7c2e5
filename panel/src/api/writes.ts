/** Writes: what a page does when somebody saves, with their state while they are under way. */

import { useCallback, useRef, useState } from 'react';
import { tell } from '../shell/toasts.ts';
import { asError } from './error.ts';
import { refresh } from './queries.ts';

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
  /** The inverse write: offered for ten seconds. */
  readonly undo?: () => Promise<unknown>;
}

/** `options` may be a function, for what is known only when the write is made. */
export function useWrite(options: WriteOptions | (() => WriteOptions) = {}): Writing {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const under = useRef(false);
  const latest = useRef(options);
  latest.current = options;
  const run = useCallback(async (write: () => Promise<unknown>): Promise<boolean> => {
    if (under.current) return false;
    under.current = true;
    setBusy(true);
    setError(null);
    try {
      await write();
      const {
        done,
        refreshes = ['/api'],
        undo,
      } = typeof latest.current === 'function' ? latest.current() : latest.current;
      refresh(...refreshes);
      const inverse = undo === undefined ? null : () => undone(undo, refreshes);
      if (done !== undefined) tell(done, { undo: inverse });
      return true;
    } catch (thrown) {
      setError(asError(thrown));
      return false;
    } finally {
      under.current = false;
      setBusy(false);
    }
  }, []);
  const reset = useCallback(() => setError(null), []);
  return { busy, error, run, reset };
}

async function undone(undo: () => Promise<unknown>, refreshes: readonly string[]): Promise<void> {
  try {
    await undo();
  } catch (thrown) {
    tell(asError(thrown).message, { kind: 'failed' });
  }
  refresh(...refreshes);
}
