import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Toaster } from '../shell/toaster.tsx';
import css from './standalone.module.css';

/** A page for somebody who need not be signed in, without the navigation. `aside` stands at the right of the name. */
export function Standalone({ aside, children }: { aside: ReactNode; children: ReactNode }) {
  return (
    <main className={css.frame}>
      <div className={css.top}>
        <Link href="/" className={css.brand}>
          <img src="/panel/icon.svg" alt="" width="22" height="22" />
          Usher
        </Link>
        {aside}
      </div>
      {children}
      <Toaster />
    </main>
  );
}
