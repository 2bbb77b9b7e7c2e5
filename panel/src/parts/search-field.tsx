import { useEffect, useRef, useState } from 'react';
import { useKey } from '../shell/keys.ts';
import { TextField } from './field.tsx';

interface SearchFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onText: (value: string) => void;
}

/** Typing pauses this long before the list is asked for. */
const PAUSE_MS = 150;

/** A filter of text above a list. `f` goes there; the list is asked for when typing pauses. */
export function SearchField({ label, value, onText }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const frame = useRef<HTMLDivElement>(null);
  const latest = useRef(onText);
  latest.current = onText;
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => latest.current(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  useKey('f', () => frame.current?.querySelector('input')?.focus());
  return (
    <div ref={frame}>
      <TextField bare type="search" label={label} placeholder={label} value={typed} maxLength={64} onText={setTyped} />
    </div>
  );
}
