import { useRead } from '../api/queries.ts';
import { useWords } from '../words/words.ts';
import { ComboField } from './combo-field.tsx';

interface PersonFieldProps {
  readonly label?: string;
  readonly bare?: boolean;
  readonly value: string;
  readonly onText: (value: string) => void;
  /** Only people of this application are suggested; others can be typed. */
  readonly appCode?: string | undefined;
  readonly autoFocus?: boolean;
}

/** An e-mail address, with the known people that fit what is typed. */
export function PersonField({ label, bare = false, value, onText, appCode, autoFocus = false }: PersonFieldProps) {
  const { common } = useWords();
  const found = useRead('GET /api/users', { query: { q: value.slice(0, 64), limit: 12, appCode } }, { keep: true });
  const choices = (found.data?.data ?? []).map(({ email, displayName }) => ({ value: email, note: displayName }));
  const text = label ?? common.email;
  return (
    <ComboField
      label={text}
      bare={bare}
      value={value}
      choices={choices}
      onText={onText}
      autoFocus={autoFocus}
      placeholder="name@example.com"
    />
  );
}
