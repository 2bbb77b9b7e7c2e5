import { useState } from 'react';
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover, Text } from 'react-aria-components';
import { useWords } from '../words/words.ts';
import css from './combo-field.module.css';

export interface Choice {
  /** What is chosen. */
  readonly value: string;
  /** What it is, beside it. */
  readonly note?: string | null;
}

interface ComboFieldProps {
  readonly label: string;
  readonly bare?: boolean;
  readonly value: string;
  /** What fits what is typed. Anything else may be typed too: a person may be unknown here. */
  readonly choices: readonly Choice[];
  readonly onText: (value: string) => void;
  readonly placeholder?: string;
  readonly autoFocus?: boolean;
  readonly hint?: string | null;
}

/** A field with suggestions, to be used by keyboard and screen reader (ARIA combobox). Loaded with the places that need it. */
export function ComboField({
  label,
  bare = false,
  value,
  choices,
  onText,
  placeholder,
  autoFocus,
  hint,
}: ComboFieldProps) {
  const { shell } = useWords();
  const { paletteEmpty } = shell;
  // A modal dialog lies above all that is not in it.
  const [dialog, setDialog] = useState<Element | undefined>();
  return (
    <ComboBox
      ref={(element) => setDialog(element?.closest('dialog') ?? undefined)}
      className={css.combo ?? ''}
      inputValue={value}
      onInputChange={onText}
      items={choices}
      allowsCustomValue
      allowsEmptyCollection={false}
      onSelectionChange={(key) => key !== null && onText(String(key))}
    >
      <Label className={bare ? 'visually-hidden' : (css.label ?? '')}>{label}</Label>
      <Input
        className={css.input ?? ''}
        placeholder={placeholder ?? ''}
        autoFocus={autoFocus ?? false}
        spellCheck={false}
        dir="auto"
      />
      {hint != null && (
        <Text slot="description" className={css.hint ?? ''}>
          {hint}
        </Text>
      )}
      <Popover className={css.popover ?? ''} {...(dialog === undefined ? {} : { UNSTABLE_portalContainer: dialog })}>
        <ListBox<Choice> className={css.list ?? ''} renderEmptyState={() => paletteEmpty}>
          {({ value: of, note }) => (
            <ListBoxItem id={of} textValue={of} className={css.item ?? ''}>
              <bdi>{of}</bdi>
              {note && <bdi className={css.note}>{note}</bdi>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  );
}
