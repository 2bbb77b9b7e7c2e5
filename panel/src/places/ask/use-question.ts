/** The question as it is typed, and as the address has it a moment later. */

import { useCallback, useEffect, useRef, useState } from 'react';
import { useFilters } from '../../parts/filters.ts';
import { NO_QUESTION, type Question, queryOf } from './question.ts';

export interface Asking {
  /** What is typed: asked at once. */
  readonly question: Question;
  /** The same when typing pauses: for everything beside the answer. */
  readonly settled: Question;
  readonly change: (changes: Partial<Question>) => void;
}

/** A browser lets the address be replaced some hundred times a minute, which typing exceeds. */
const PAUSE_MS = 250;

export function useQuestion(): Asking {
  const filters = useFilters(NO_QUESTION as Readonly<Record<keyof Question, string>>);
  const { values } = filters;
  const [question, setQuestion] = useState<Question>(values);
  const inAddress = useRef(queryOf(values));
  // A link or the browser's history led to another question.
  useEffect(() => {
    const now = queryOf(values);
    if (now === inAddress.current) return;
    inAddress.current = now;
    setQuestion(values);
  }, [values]);
  const latest = useRef(filters);
  latest.current = filters;
  useEffect(() => {
    const now = queryOf(question);
    if (now === inAddress.current) return undefined;
    const timer = setTimeout(() => {
      inAddress.current = now;
      latest.current.set({ ...question });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [question]);
  const change = useCallback((changes: Partial<Question>) => setQuestion((before) => ({ ...before, ...changes })), []);
  return { question, settled: values, change };
}
