import { lazy, Suspense } from 'react';
import { Route, Switch } from 'wouter';
import { Empty, Page, Tabs } from '../../parts/page.tsx';
import { Loading } from '../../parts/problem.tsx';
import { UnknownView } from '../../parts/unknown-view.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';

const VIEWS = {
  status: lazy(async () => ({ default: (await import('./status-view.tsx')).Status })),
  events: lazy(async () => ({ default: (await import('./events.tsx')).Events })),
  organizations: lazy(async () => ({ default: (await import('./organizations.tsx')).Organizations })),
  mails: lazy(async () => ({ default: (await import('./mails.tsx')).Mails })),
};
const NAMES = Object.keys(VIEWS) as (keyof typeof VIEWS)[];

const pathOf = (name: string) => (name === 'status' ? '/sign-in' : `/sign-in/${name}`);

/** The identity provider: whether it works, what it sent, its organizations and mails. For SuperAdmins. */
export default function SignInPlace() {
  const { signIn: words, problem } = useWords();
  const { isSuperAdmin } = useRights();
  return (
    <Page title={words.title} lead={isSuperAdmin && words.lead}>
      {!isSuperAdmin && <Empty title={problem.notFound} />}
      {isSuperAdmin && (
        <>
          <Tabs label={words.title} tabs={NAMES.map((name) => [pathOf(name), words.views[name]] as const)} />
          <Suspense fallback={<Loading rows={6} />}>
            <Switch>
              {NAMES.map((name) => (
                <Route key={name} path={pathOf(name)} component={VIEWS[name]} />
              ))}
              <Route component={UnknownView} />
            </Switch>
          </Suspense>
        </>
      )}
    </Page>
  );
}
