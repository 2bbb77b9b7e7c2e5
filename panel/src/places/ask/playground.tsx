import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { Page } from '../../parts/page.tsx';
import { Loading } from '../../parts/problem.tsx';
import { useSession } from '../../session/session.ts';
import { Toaster } from '../../shell/toaster.tsx';
import { useWords } from '../../words/words.ts';
import look from './playground/playground.module.css';

const PlaygroundView = lazy(async () => {
  await import('../../parts/without-eval.ts');
  return await import('./playground/view.tsx');
});

/** The playground as a page of its own, for everybody: it needs neither a sign-in nor a service. */
export default function Playground() {
  const { ask: words } = useWords();
  const { kind } = useSession();
  return (
    <main className={look.frame}>
      <div className={look.top}>
        <Link href="/" className={look.brand}>
          <img src="/panel/icon.svg" alt="" width="22" height="22" />
          Usher
        </Link>
        {kind === 'in' ? (
          <Link href="/ask/playground">{words.title}</Link>
        ) : (
          <span>
            {words.playground.signedOut} <Link href="/">{words.playground.signIn}</Link>
          </span>
        )}
      </div>
      <Page title={words.playground.title} lead={words.playground.lead}>
        <Suspense fallback={<Loading rows={6} />}>
          <PlaygroundView />
        </Suspense>
      </Page>
      <Toaster />
    </main>
  );
}
