import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useWords } from '../words/words.ts';
import { Button, type Missing } from './button.tsx';
import css from './dialog.module.css';

interface Act {
  readonly label: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  /** What is missing before it can be done. */
  readonly disabled?: Missing;
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
  /** Makes the dialog a form, which the button of `act` submits. */
  readonly onSubmit?: () => void;
  /** Instead of `act`: other buttons. */
  readonly actions?: ReactNode;
  /** At the side of the window instead of its middle. */
  readonly drawer?: boolean;
  readonly wide?: boolean;
  /** Something would be lost that no field of it shows, such as a draft made before a review. What is typed it sees itself. */
  readonly dirty?: boolean;
  /** What is typed is worth nothing: Escape never asks. */
  readonly fleeting?: boolean;
}

/** A list of suggestions that Escape closes first. */
const OPEN_LIST = '[aria-haspopup=listbox][aria-expanded=true], [role=combobox][aria-expanded=true]';
/** Where somebody begins to type. */
const FIELD = 'input:not([type=checkbox], [type=radio]), textarea, select';

/**
 * A modal dialog of the platform: it keeps the focus and gives it back. Escape closes the innermost thing: a list that is open, the
 * question whether to leave, then the dialog, which asks that question where something typed would be lost.
 */
export function Dialog({
  title,
  onClose,
  children,
  act,
  onSubmit,
  actions,
  drawer = false,
  wide = false,
  dirty = false,
  fleeting = false,
}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const { common } = useWords();
  const typed = useTyped();
  const [asking, setAsking] = useState(false);
  const leave = (): void => {
    if (onClose === null) return;
    if (asking) setAsking(false);
    else if (fleeting || !(dirty || typed.isTyped())) onClose();
    else setAsking(true);
  };
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
        leave();
      }}
      onClick={(event) => {
        if (event.target === ref.current) leave();
      }}
      onFocus={(event) => typed.note(event.target)}
      onKeyDownCapture={(event) => {
        if (event.key !== 'Escape') return;
        // A browser lets a page refuse to close once, and then closes: it must not hear of the key.
        event.preventDefault();
        if (!fleeting && ref.current?.querySelector(OPEN_LIST) !== null) return;
        event.stopPropagation();
        leave();
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
        {asking && <Question onKeep={() => setAsking(false)} onLeave={() => onClose?.()} />}
        {!asking && act !== undefined && (
          <footer className={css.actions}>
            {act.disabled && (
              <p className={css.missing} aria-hidden>
                {act.disabled}
              </p>
            )}
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
        {!asking && actions && <footer className={css.actions}>{actions}</footer>}
      </Inner>
    </dialog>
  );
}

/** Asked before something typed is lost. It begins at what loses nothing. */
function Question({ onKeep, onLeave }: { onKeep: () => void; onLeave: () => void }) {
  const { common } = useWords();
  const keep = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    keep.current?.querySelector('button')?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <footer className={css.actions} role="alert">
      <p className={css.missing}>{common.throwAway}</p>
      <div ref={keep} className={css.answers}>
        <Button kind="primary" onClick={onKeep}>
          {common.keepTyping}
        </Button>
        <Button kind="danger" onClick={onLeave}>
          {common.leave}
        </Button>
      </div>
    </footer>
  );
}

/** What fields held when somebody went into them, to know whether they were changed. */
function useTyped(): { note: (target: EventTarget) => void; isTyped: () => boolean } {
  const before = useRef(new Map<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement, string>());
  return {
    note: (target) => {
      const isField =
        target instanceof HTMLInputElement ||
        target instanceof HTMLTextAreaElement ||
        target instanceof HTMLSelectElement;
      if (isField && !before.current.has(target)) before.current.set(target, held(target));
    },
    isTyped: () => [...before.current].some(([field, value]) => field.isConnected && held(field) !== value),
  };
}

function held(field: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement): string {
  return field instanceof HTMLInputElement && ['checkbox', 'radio'].includes(field.type)
    ? String(field.checked)
    : field.value;
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
