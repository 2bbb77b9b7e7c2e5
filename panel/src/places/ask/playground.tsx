import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { Page } from '../../parts/page.tsx';
import { Loading } from '../../parts/problem.tsx';
import { Standalone } from '../../parts/standalone.tsx';
import { useSession } from '../../session/session.ts';
import { useWords } from '../../words/words.ts';

const PlaygroundView = lazy(async () => {
  await import('../../parts/without-eval.ts');
  return await import('./playground/view.tsx');
});

/** The playground as a page of its own, for everybody: it needs neither a sign-in nor a service. */
export default function Playground() {
  const { ask: words } = useWords();
  const { kind } = useSession();
  const aside =
    kind === 'in' ? (
      <Link href="/ask/playground">{words.title}</Link>
    ) : (
      <span>
        {words.playground.signedOut} <Link href="/">{words.playground.signIn}</Link>
      </span>
    );
  return (
    <Standalone aside={aside}>
      <Page title={words.playground.title} lead={words.playground.lead}>
        <Suspense fallback={<Loading rows={6} />}>
          <PlaygroundView />
        </Suspense>
      </Page>
    </Standalone>
  );
}
