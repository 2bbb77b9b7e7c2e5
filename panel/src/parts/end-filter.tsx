import { useWords } from '../words/words.ts';
import { SelectField } from './field.tsx';

/** Days within which a grant is to end, to choose from; of an address also others. */
const DAYS = ['7', '30', '90'];

/** Narrows a list to what ends soon. `value` is a number of days; empty: whatever the end. */
export function EndFilter({ value, onText }: { value: string; onText: (days: string) => void }) {
  const { window: words } = useWords().common;
  const days = value === '' || DAYS.includes(value) ? DAYS : [...DAYS, value];
  return (
    <SelectField
      bare
      label={words.end}
      value={value}
      options={[['', words.anyEnd], ...days.map((one) => [one, words.ends(Number(one))] as const)]}
      onText={onText}
    />
  );
}
