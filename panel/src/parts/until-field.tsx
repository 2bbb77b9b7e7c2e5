import { useState } from 'react';
import { useFormats, useWords } from '../words/words.ts';
import { SelectField, TextField } from './field.tsx';
import { endOf, fromField, LENGTHS, type Length, toField } from './until.ts';

interface UntilFieldProps {
  /** What ends, for its label: it is one of several. */
  readonly of?: string;
  /** When it ends; null: never. */
  readonly value: string | null;
  readonly onValue: (endsAt: string | null) => void;
  /** The time zone of the person, where it is known. */
  readonly zone?: string | null | undefined;
}

/** Until when a grant counts: without an end, or until a moment, which is shown in the person's time and in UTC. */
export function UntilField({ of, value, onValue, zone = null }: UntilFieldProps) {
  const { window: words } = useWords().common;
  const formats = useFormats();
  const [choice, setChoice] = useState<'' | Length | 'date'>(value === null ? '' : 'date');
  const choose = (text: string): void => {
    const next = text as typeof choice;
    setChoice(next);
    if (next === '') onValue(null);
    else if (next === 'date') onValue(value ?? endOf('week', new Date()));
    else onValue(endOf(next, new Date()));
  };
  const shown = value === null ? '' : choice;
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zones = [...new Set([zone ?? here, here, 'UTC'])];
  return (
    <div>
      <SelectField
        bare={of !== undefined}
        label={of === undefined ? words.label : words.labelOf(of)}
        value={shown}
        options={[
          ['', words.never],
          ...LENGTHS.map((length) => [length, words.lengths[length]] as const),
          ['date', words.date],
        ]}
        hint={value === null ? undefined : zones.map((one) => `${formats.zoned(value, one)} (${one})`).join(' · ')}
        onText={choose}
      />
      {shown === 'date' && value !== null && (
        <TextField
          bare
          type="datetime-local"
          label={of === undefined ? words.at : words.atOf(of)}
          value={toField(value)}
          onText={(text) => onValue(fromField(text) ?? value)}
        />
      )}
    </div>
  );
}
