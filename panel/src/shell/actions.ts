/** What the palette offers beside what it finds: each view adds what can be done in it, while it is shown. */

import { useEffect, useRef } from 'react';
import { Store, useStore } from './store.ts';

export interface Action {
  readonly label: string;
  readonly act: () => void;
}

const actions = new Store<readonly Action[]>([]);

/** Offers an action while the component is shown. Null, or an empty label, offers none. */
export function useAction(label: string | null, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (!label) return undefined;
    const action = { label, act: () => latest.current() };
    actions.set([action, ...actions.value]);
    return () => actions.set(actions.value.filter((one) => one !== action));
  }, [label]);
}

export function useActions(): readonly Action[] {
  return useStore(actions);
}
