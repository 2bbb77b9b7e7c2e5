import type { ReactNode } from 'react';
import css from './toolbar.module.css';

/** Filters above a list; the first grows. */
export function Toolbar({ children }: { children: ReactNode }) {
  return <search className={css.toolbar}>{children}</search>;
}
