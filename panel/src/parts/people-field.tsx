import { useMemo, useRef } from 'react';
import { useWords } from '../words/words.ts';
import { type Pasted, pastedIn } from './addresses.ts';
import { TextArea } from './field.tsx';
import css from './people-field.module.css';

/** The service takes so many at once. */
export const MAX_PEOPLE = 1_000;

interface PeopleFieldProps {
  readonly label: string;
  readonly value: string;
  readonly rows?: number;
  readonly hint?: string;
  /** Of the service. */
  readonly fault?: string | null;
  readonly autoFocus?: boolean;
  readonly onText: (text: string) => void;
}

/** People as they are pasted, and what is wrong with the text; null where nothing is. */
export function usePasted(text: string): Pasted & { readonly fault: string | null } {
  const { pasted: words } = useWords().common;
  return useMemo(() => {
    const pasted = pastedIn(text);
    const { emails, unread } = pasted;
    const fault =
      unread.length > 0 ? words.unread(unread.length) : emails.length > MAX_PEOPLE ? words.tooMany(MAX_PEOPLE) : null;
    return { ...pasted, fault };
  }, [text, words]);
}

/** A field for the addresses of many people. Invalid entries stay in it and are listed below it; a click on one selects it in the text. */
export function PeopleField({ label, value, rows = 6, hint, fault, autoFocus = false, onText }: PeopleFieldProps) {
  const { pasted: words } = useWords().common;
  const { emails, names, repeated, unread, fault: own } = usePasted(value);
  const frame = useRef<HTMLDivElement>(null);
  const goTo = (word: string): void => {
    const field = frame.current?.querySelector('textarea');
    const at = value.indexOf(word);
    if (field == null || at < 0) return;
    field.focus();
    field.setSelectionRange(at, at + word.length);
  };
  const said = [words.found(emails.length), ...(repeated > 0 ? [words.twice(repeated)] : [])].join(' · ');
  return (
    <div ref={frame} className={css.people}>
      <TextArea
        label={label}
        value={value}
        rows={rows}
        placeholder={'ann@example.com\nBen Novák <ben@example.com>; carl@example.com'}
        spellCheck={false}
        autoFocus={autoFocus}
        hint={
          <span aria-live="polite">
            {hint} {said}
          </span>
        }
        fault={own ?? fault}
        onText={onText}
      />
      {unread.length > 0 && (
        <ul className={css.words} aria-label={words.unread(unread.length)}>
          {[...new Set(unread)].slice(0, SHOWN).map((word) => (
            <li key={word}>
              <button type="button" title={words.goTo(word)} onClick={() => goTo(word)}>
                <bdi>{word}</bdi>
              </button>
            </li>
          ))}
          {unread.length > SHOWN && <li>+{unread.length - SHOWN}</li>}
        </ul>
      )}
      {names.size > 0 && (
        <ul className={css.names} aria-label={words.names}>
          {[...names].slice(0, SHOWN).map(([email, name]) => (
            <li key={email}>
              <bdi>{name}</bdi> <bdi>{email}</bdi>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** As many as are looked through one by one. */
const SHOWN = 50;
