import { Button } from '../parts/button.tsx';
import { useWords } from '../words/words.ts';
import css from './shell.module.css';
import { dismiss, useToasts } from './toasts.ts';

export function Toaster() {
  const { common } = useWords();
  const toasts = useToasts();
  return (
    <div className={css.toasts} role="status" aria-live="polite">
      {toasts.map(({ id, text, kind, undo }) => (
        <div key={id} className={`${css.toast} ${kind === 'failed' ? css.failed : ''}`}>
          <span>{text}</span>
          {undo !== null && (
            <Button
              kind="quiet"
              onClick={() => {
                dismiss(id);
                void undo();
              }}
            >
              {common.undo}
            </Button>
          )}
          {kind === 'failed' && (
            <Button kind="quiet" onClick={() => dismiss(id)}>
              {common.close}
            </Button>
          )}
        </div>
      ))}
    </div>
  );
}
