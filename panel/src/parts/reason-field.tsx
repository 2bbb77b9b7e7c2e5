import { useWords } from '../words/words.ts';
import { TextField } from './field.tsx';

/** As long as the service keeps one (docs/reference/administration.md#reasons). */
const MAX_LENGTH = 500;

/** An optional reason for giving or taking rights, which the audit keeps. */
export function ReasonField({ value, onText }: { value: string; onText: (reason: string) => void }) {
  const { impact: words, common } = useWords();
  return (
    <TextField
      label={`${words.reason} (${common.optional})`}
      hint={words.reasonHint}
      value={value}
      maxLength={MAX_LENGTH}
      onText={onText}
    />
  );
}
