import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useWords } from '../words/words.ts';
import { Button } from './button.tsx';
import css from './dialog.module.css';

interface Act {
  readonly label: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly disabled?: boolean;
  /** Left out for the button of a form. */
  readonly onAct?: () => void;
}

interface DialogProps {
  readonly title: string;
  /** Null: it stays until what it asks for is done, and has no button that closes it. */
  readonly onClose: (() => void) | null;
  readonly children: ReactNode;
  /** The button that does it, behind the one that leaves all as it is. */
  readonly act?: Act;
  /** What is asked for is a form, which that button sends. */
  readonly onSubmit?: () => void;
  /** Instead of `act`: other buttons. */
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
  act,
  onSubmit,
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
      <Inner onSubmit={onSubmit}>
        <header className={css.header}>
          <h2 id={id}>{title}</h2>
          {onClose !== null && (
            <button type="button" className={css.close} aria-label={common.close} onClick={onClose}>
              ×
            </button>
          )}
        </header>
        <div className={css.body}>{children}</div>
        {act !== undefined && (
          <footer className={css.actions}>
            {onClose !== null && <Button onClick={onClose}>{common.cancel}</Button>}
            <Button
              kind={act.danger ? 'danger' : 'primary'}
              type={onSubmit === undefined ? 'button' : 'submit'}
              busy={act.busy}
              disabled={act.disabled}
              onClick={act.onAct}
            >
              {act.label}
            </Button>
          </footer>
        )}
        {actions && <footer className={css.actions}>{actions}</footer>}
      </Inner>
    </dialog>
  );
}

/** All of a dialog, as a form where it is one. */
function Inner({ onSubmit, children }: { onSubmit: (() => void) | undefined; children: ReactNode }) {
  if (onSubmit === undefined) return <div className={css.inner}>{children}</div>;
  return (
    <form
      className={css.inner}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
