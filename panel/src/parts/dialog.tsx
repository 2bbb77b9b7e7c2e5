import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useWords } from '../words/words.ts';
import css from './dialog.module.css';

interface DialogProps {
  readonly title: string;
  /** Null: it stays until what it asks for is done, and has no button that closes it. */
  readonly onClose: (() => void) | null;
  readonly children: ReactNode;
  /** Buttons, the one that does it last. */
  readonly actions?: ReactNode;
  /** At the side of the window instead of its middle. */
  readonly drawer?: boolean;
  readonly wide?: boolean;
  /** Whether Escape and a press outside close it: false while something typed would be lost. */
  readonly dismissible?: boolean;
}

/** Where somebody begins to type. */
const FIELD = 'input:not([type=checkbox], [type=radio]), textarea, select';

/** A modal dialog of the platform: it keeps the focus, gives it back, and Escape closes it. */
export function Dialog({
  title,
  onClose,
  children,
  actions,
  drawer = false,
  wide = false,
  dismissible = true,
}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const { common } = useWords();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog?.open === false) {
      dialog.showModal();
      // The platform would begin at the button that closes it.
      dialog.querySelector<HTMLElement>(FIELD)?.focus();
    }
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      className={`${css.dialog} ${drawer ? css.drawer : ''} ${wide ? css.wide : ''}`}
      onCancel={(event) => {
        event.preventDefault();
        if (dismissible) onClose?.();
      }}
      onClick={(event) => {
        if (dismissible && event.target === ref.current) onClose?.();
      }}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <div className={css.inner}>
        <header className={css.header}>
          <h2 id={id}>{title}</h2>
          {onClose !== null && (
            <button type="button" className={css.close} aria-label={common.close} onClick={onClose}>
              ×
            </button>
          )}
        </header>
        <div className={css.body}>{children}</div>
        {actions && <footer className={css.actions}>{actions}</footer>}
      </div>
    </dialog>
  );
}
