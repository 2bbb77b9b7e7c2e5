import { useCallback, useMemo, useState } from 'react';
import { onPersonChanged } from '../../../session/person.ts';
import { useUnsaved } from '../../../shell/drafts.ts';
import { type Draft, discarded, EMPTY, rebased, undone, type WantedCell, withCells } from './draft.ts';
import type { MatrixTable } from './table.ts';

/** Drafts by application: going to another view and back loses nothing. */
const kept = new Map<string, Draft>();
onPersonChanged(() => kept.clear());

export interface Drafting {
  readonly draft: Draft;
  readonly set: (cells: readonly WantedCell[]) => void;
  readonly undo: () => void;
  readonly discard: () => void;
  readonly replace: (draft: Draft) => void;
}

/** The draft of an application on what is there now. */
export function useDraft(appCode: string, table: MatrixTable): Drafting {
  const [state, setState] = useState(() => kept.get(appCode) ?? EMPTY);
  const draft = useMemo(() => rebased(state, table), [state, table]);
  const change = useCallback(
    (by: (draft: Draft) => Draft) =>
      setState((before) => {
        const after = by(rebased(before, table));
        kept.set(appCode, after);
        return after;
      }),
    [appCode, table],
  );
  useUnsaved(draft.changes.size > 0);
  return {
    draft,
    set: useCallback((cells) => change((before) => withCells(before, table, cells)), [change, table]),
    undo: useCallback(() => change(undone), [change]),
    discard: useCallback(() => change(discarded), [change]),
    replace: useCallback((after) => change(() => after), [change]),
  };
}
