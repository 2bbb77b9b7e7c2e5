/** Short messages that leave by themselves; one may offer to undo what it tells of. */

import { onPersonChanged } from '../session/person.ts';
import { Store, useStore } from './store.ts';

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

const toasts = new Store<readonly Toast[]>([]);
let made = 0;

export function tell(text: string, { kind = 'done', undo = null }: Partial<Pick<Toast, 'kind' | 'undo'>> = {}): void {
  made += 1;
  const toast = { id: made, text, kind, undo };
  toasts.set([...toasts.value.slice(-3), toast]);
  // A failure stays until it is dismissed.
  if (kind === 'done') setTimeout(() => dismiss(toast.id), undo === null ? SHOWN_MS : UNDO_MS);
}

onPersonChanged(() => toasts.set([]));

export function dismiss(id: number): void {
  toasts.set(toasts.value.filter((toast) => toast.id !== id));
}

export function useToasts(): readonly Toast[] {
  return useStore(toasts);
}
