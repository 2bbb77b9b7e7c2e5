/** Short messages that leave by themselves; one may offer to undo what it tells of. */

import { useSyncExternalStore } from 'react';
import { onPersonChanged } from '../session/person.ts';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: 'done' | 'failed';
  /** Takes back what was done. */
  readonly undo: (() => Promise<void>) | null;
}

/** An undo is offered this long. */
const UNDO_MS = 10_000;
const SHOWN_MS = 5_000;

let toasts: readonly Toast[] = [];
let made = 0;
const listeners = new Set<() => void>();

export function tell(text: string, { kind = 'done', undo = null }: Partial<Pick<Toast, 'kind' | 'undo'>> = {}): void {
  made += 1;
  const toast = { id: made, text, kind, undo };
  set([...toasts.slice(-3), toast]);
  // A failure stays until it is dismissed.
  if (kind === 'done') setTimeout(() => dismiss(toast.id), undo === null ? SHOWN_MS : UNDO_MS);
}

onPersonChanged(() => set([]));

export function dismiss(id: number): void {
  set(toasts.filter((toast) => toast.id !== id));
}

export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(subscribe, () => toasts);
}

function set(value: readonly Toast[]): void {
  toasts = value;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
