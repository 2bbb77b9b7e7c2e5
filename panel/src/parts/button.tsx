import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Link } from 'wouter';
import css from './button.module.css';

type Kind = 'primary' | 'plain' | 'quiet' | 'danger';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: Kind;
  /** Shown as under way; a second press does nothing. */
  readonly busy?: boolean | undefined;
  readonly children: ReactNode;
}

export function Button({ kind = 'plain', busy = false, children, className = '', ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-busy={busy || undefined}
      disabled={rest.disabled || busy}
      className={`${css.button} ${css[kind]} ${className}`}
    >
      {children}
    </button>
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
