import { useState } from 'react';
import { TextArea, TextField } from '../../parts/field.tsx';
import { useWords } from '../../words/words.ts';
import css from './notifications.module.css';
import { type Known, shownAt, withValue } from './sends.ts';

interface VariablesProps {
  readonly variables: readonly Known[];
  /** The payload as JSON. */
  readonly text: string;
  /** The same; null where the text is no object. */
  readonly payload: Readonly<Record<string, unknown>> | null;
  readonly fault: string | null;
  readonly onText: (text: string) => void;
}

/** What the template is filled with: a field for each variable that it names, and all of it as JSON for what no field holds. */
export function Variables({ variables, text, payload, fault, onText }: VariablesProps) {
  const { notifications: words, common } = useWords();
  const [open, setOpen] = useState(false);
  const isShown = open || variables.length === 0 || fault !== null;
  return (
    <>
      {payload !== null &&
        variables.map(({ name, required }) => (
          <TextField
            key={name}
            label={required ? name : `${name} (${common.optional})`}
            value={shownAt(payload, name)}
            required={required}
            onText={(value) => onText(JSON.stringify(withValue(payload, name, value), null, 2))}
          />
        ))}
      {!isShown && (
        <button type="button" className={css.asJson} onClick={() => setOpen(true)}>
          {words.asJson}
        </button>
      )}
      {isShown && (
        <TextArea
          label={words.payload}
          value={text}
          rows={4}
          spellCheck={false}
          placeholder='{"number": "2026-17"}'
          hint={words.payloadHint}
          fault={fault}
          onText={onText}
        />
      )}
    </>
  );
}
