/**
 * What was typed and is not saved yet, by form. It outlives the view, so that going elsewhere and back loses nothing; the tab is
 * not closed without a question. It is never stored: a draft may hold a password.
 */

import { useCallback, useEffect } from 'react';
import { onPersonChanged } from '../session/person.ts';
import { Store, useStore } from './store.ts';

const drafts = new Store<ReadonlyMap<string, unknown>>(new Map());
onPersonChanged(() => drafts.set(new Map()));

/** The draft of a form, and what keeps the next; null is no draft. `name` is of one form of the whole panel. */
export function useKeptDraft<T>(name: string): readonly [T | null, (draft: T | null) => void] {
  const all = useStore(drafts);
  const keep = useCallback((draft: T | null) => keepDraft(name, draft), [name]);
  return [(all.get(name) as T | undefined) ?? null, keep];
}

function keepDraft(name: string, draft: unknown): void {
  const next = new Map(drafts.value);
  if (draft === null) next.delete(name);
  else next.set(name, draft);
  drafts.set(next);
}

/** Asks before the tab is closed for as long as there is a draft, whatever view is shown. */
export function useUnsavedDrafts(): void {
  useUnsaved(useStore(drafts).size > 0);
}

/** While `pending`, the browser asks before it closes or reloads the tab. */
export function useUnsaved(pending: boolean): void {
  useEffect(() => {
    if (!pending) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [pending]);
}
