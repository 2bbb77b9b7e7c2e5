import { type ButtonHTMLAttributes, type ReactNode, useId } from 'react';
import { Link } from 'wouter';
import type { Text } from '../words/places.ts';
import css from './button.module.css';

type Kind = 'primary' | 'plain' | 'quiet' | 'danger';

/** Why a button does nothing yet: what is missing. Nothing where it does what it says. */
export type Missing = string | false | null | undefined;

/** Says which fields are still empty; null where none is. */
export function missingOf(
  { missing }: Text['common'],
  ...fields: readonly (readonly [label: string, value: string])[]
): string | null {
  const empty = fields.filter(([, value]) => value.trim() === '').map(([label]) => label);
  return empty.length === 0 ? null : missing.fields(empty);
}

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  readonly kind?: Kind;
  /** Shown as under way; a second press does nothing. */
  readonly busy?: boolean | undefined;
  /** A button without what it needs keeps its place in the order of focus, and says this. */
  readonly disabled?: Missing;
  readonly children: ReactNode;
}

export function Button({ kind = 'plain', busy = false, disabled, children, className = '', ...rest }: ButtonProps) {
  const id = useId();
  const missing = disabled || null;
  const button = (
    <button
      type="button"
      {...rest}
      {...(missing === null ? {} : { 'aria-disabled': true, 'aria-describedby': id, title: missing })}
      onClick={missing === null ? rest.onClick : (event) => event.preventDefault()}
      aria-busy={busy || undefined}
      disabled={busy}
      className={`${css.button} ${css[kind]} ${className}`}
    >
      {children}
    </button>
  );
  if (missing === null) return button;
  return (
    <>
      {button}
      <span id={id} className="visually-hidden">
        {missing}
      </span>
    </>
  );
}

/** A link that looks like a button: it goes somewhere. */
export function ButtonLink({ kind = 'plain', href, children }: { kind?: Kind; href: string; children: ReactNode }) {
  return (
    <Link href={href} className={`${css.button} ${css[kind]}`}>
      {children}
    </Link>
  );
}
