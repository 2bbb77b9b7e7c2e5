import type { ReactNode } from 'react';
import type { Writing } from '../api/writes.ts';
import { useWords } from '../words/words.ts';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

interface ConfirmProps {
  readonly title: string;
  /** What cannot be seen from the title: what else ends with it. */
  readonly children: ReactNode;
  /** What the button says; by default "Delete". */
  readonly action?: string;
  readonly writing: Writing;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks once before something is deleted that nobody gains or loses access by. */
export function Confirm({ title, children, action, writing, onConfirm, onClose }: ConfirmProps) {
  const { common } = useWords();
  return (
    <Dialog
      title={title}
      onClose={onClose}
      act={{ label: action ?? common.remove, danger: true, busy: writing.busy, onAct: () => void onConfirm() }}
    >
      <p>{children}</p>
      <Problem error={writing.error} />
    </Dialog>
  );
}
