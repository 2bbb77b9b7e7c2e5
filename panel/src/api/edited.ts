import { useState } from 'react';
import { changedIn, type Edited, settled, unedited } from './merge.ts';

/** A stored record that a form changes, beside others who may change it too. */
interface EditedRecord<T> extends Edited<T> {
  readonly isChanged: boolean;
  readonly set: (change: Partial<T>) => void;
  /**
   * What a write has to change.
   *
   * @param read what is there now; null or undefined where it is gone, which the write itself will say
   * @param labels what the fields are called in the form
   * @param typed the draft as it is to be stored, where that is not as it was typed
   * @throws Conflict, whereupon the form shows what is there and may be sent again
   */
  readonly settle: (
    read: () => Promise<T | null | undefined>,
    labels: Partial<Record<keyof T, string>>,
    typed?: T,
  ) => Promise<Partial<T>>;
}

/** `begin` makes the form's fields from the stored record. */
export function useEdited<T extends object>(begin: () => T): EditedRecord<T> {
  const [edited, keep] = useState(() => unedited(begin()));
  const { base, draft } = edited;
  return {
    base,
    draft,
    isChanged: Object.keys(changedIn(base, draft)).length > 0,
    set: (change) => keep({ base, draft: { ...draft, ...change } }),
    settle: (read, labels, typed = draft) =>
      settled({ base, draft: typed, read: async () => (await read()) ?? null, keep, labels }),
  };
}
