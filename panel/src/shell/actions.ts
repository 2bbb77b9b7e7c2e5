/** What the palette offers beside what it finds: each view adds what can be done in it, while it is shown. */

import { useEffect, useRef, useSyncExternalStore } from 'react';

export interface Action {
  readonly label: string;
  readonly act: () => void;
}

let actions: readonly Action[] = [];
const listeners = new Set<() => void>();

/** Offers an action while the component is shown. Null, or an empty label, offers none. */
export function useAction(label: string | null, act: () => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    if (!label) return undefined;
    const action = { label, act: () => latest.current() };
    set([action, ...actions]);
    return () => set(actions.filter((one) => one !== action));
  }, [label]);
}

export function useActions(): readonly Action[] {
  return useSyncExternalStore(subscribe, () => actions);
}

function set(value: readonly Action[]): void {
  actions = value;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
