import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import { ApiError } from '../api/error.ts';
import css from './field.module.css';

interface Labelled {
  readonly label: string;
  /** One sentence that says what belongs here. */
  readonly hint?: ReactNode;
  /** Of the service, in words. */
  readonly fault?: string | null | undefined;
  /** Hides the label from the eye: for filters, whose placeholder says the same. */
  readonly bare?: boolean;
}

interface Described {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

/** A label, a control, what belongs in it, and what is wrong with it. */
export function Field({
  label,
  hint,
  fault,
  bare = false,
  children,
}: Labelled & { children: (described: Described) => ReactNode }) {
  const id = useId();
  const described = [hint ? `${id}-hint` : '', fault ? `${id}-fault` : ''].filter(Boolean).join(' ');
  return (
    <div className={css.field}>
      <label htmlFor={id} className={bare ? 'visually-hidden' : css.label}>
        {label}
      </label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': fault ? true : undefined })}
      {hint && (
        <div id={`${id}-hint`} className={css.hint}>
          {hint}
        </div>
      )}
      {fault && (
        <div id={`${id}-fault`} className={css.fault}>
          {fault}
        </div>
      )}
    </div>
  );
}

type TextFieldProps = Labelled &
  Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'value'> & {
    readonly value: string;
    readonly onText: (value: string) => void;
  };

export function TextField({ label, hint, fault, bare, value, onText, className = '', ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} fault={fault} bare={bare ?? false}>
      {(described) => (
        <input
          autoComplete="off"
          spellCheck={false}
          dir="auto"
          title={bare ? label : undefined}
          {...rest}
          {...described}
          className={`${css.input} ${className}`}
          value={value}
          onChange={(event) => onText(event.target.value)}
        />
      )}
    </Field>
  );
}

type TextAreaProps = Labelled &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, 'onChange' | 'value'> & {
    readonly value: string;
    readonly onText: (value: string) => void;
  };

export function TextArea({ label, hint, fault, bare, value, onText, ...rest }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} fault={fault} bare={bare ?? false}>
      {(described) => (
        <textarea
          rows={3}
          dir="auto"
          {...rest}
          {...described}
          className={css.input}
          value={value}
          onChange={(event) => onText(event.target.value)}
        />
      )}
    </Field>
  );
}

type SelectFieldProps = Labelled &
  Omit<SelectHTMLAttributes<HTMLSelectElement>, 'onChange' | 'value'> & {
    readonly value: string;
    readonly options: readonly (readonly [value: string, label: string])[];
    readonly onText: (value: string) => void;
  };

export function SelectField({ label, hint, fault, bare, value, options, onText, ...rest }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} fault={fault} bare={bare ?? false}>
      {(described) => (
        <select
          {...rest}
          {...described}
          className={css.input}
          value={value}
          onChange={(event) => onText(event.target.value)}
        >
          {options.map(([of, text]) => (
            <option key={of} value={of}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface SwitchProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  readonly disabled?: boolean;
  readonly onChecked: (value: boolean) => void;
}

export function Switch({ label, hint, checked, disabled = false, onChecked }: SwitchProps) {
  const id = useId();
  return (
    <div className={css.switch}>
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => onChecked(event.target.checked)}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <div id={`${id}-hint`} className={css.hint}>
            {hint}
          </div>
        )}
      </div>
    </div>
  );
}

/** What the service says about a field of a body; null without a fault. */
export function faultOf(error: Error | null, path: string): string | null {
  return error instanceof ApiError ? error.issueOf(path) : null;
}
