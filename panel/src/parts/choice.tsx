import { Button } from './button.tsx';
import css from './choice.module.css';

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onChosen: (value: string) => void;
}

/** One of a few, all in sight: how something is shown. */
export function Choice({ label, value, options, onChosen }: ChoiceProps) {
  return (
    <fieldset className={css.choice}>
      <legend className="visually-hidden">{label}</legend>
      {options.map(([of, text]) => (
        <Button key={of} kind="quiet" aria-pressed={of === value} onClick={() => onChosen(of)}>
          {text}
        </Button>
      ))}
    </fieldset>
  );
}
