/** What an engine tells of its waits, where traces are kept. */

/** A caller whose trace is recorded. */
export interface TracedCaller {
  /** It waits for this load, which was begun for another one. */
  joined(load: TracedCaller): void;
}

/** Is told when questions wait, and for which loads. The engine itself knows no package of traces: it also runs in callers' processes. */
export interface EngineTraces {
  /** Runs the wait of a question as a part of its call. */
  waiting<T>(wait: () => Promise<T>): Promise<T>;
  /** Who asks at the moment; null for one who is not traced. */
  caller(): TracedCaller | null;
  /** Runs the statement that several callers wait for, as a part of the first one's trace. */
  load<T>(needs: number, callers: readonly TracedCaller[], read: (load: TracedCaller) => Promise<T>): Promise<T>;
}
