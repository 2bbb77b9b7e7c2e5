import type { ReactNode } from 'react';
import css from './sign-in.module.css';

/** A table that scrolls by itself where it does not fit. */
export function Table({ label, heads, children }: { label: string; heads: readonly string[]; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
    <section className={css.scroller} aria-label={label} tabIndex={0}>
      <table className={css.table}>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

/** Why something came of an event, in words where they are known. */
export function reasonOf(reason: string, known: Readonly<Record<string, string>>): ReactNode {
  return known[reason] ?? <code>{reason}</code>;
}
