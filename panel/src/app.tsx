import { QueryClientProvider } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useState } from 'react';
import { Route, Router, Switch } from 'wouter';
import { asError } from './api/error.ts';
import { queryClient, useRead } from './api/queries.ts';
import { Empty } from './parts/page.tsx';
import { Loading, Problem } from './parts/problem.tsx';
import type { PanelConfig } from './session/config.ts';
import { useSession } from './session/session.ts';
import { SignIn } from './session/sign-in.tsx';
import { Layout } from './shell/layout.tsx';
import { usePreferences } from './shell/preferences.ts';
import { RightsContext, rightsOf } from './shell/rights.ts';
import type { Text } from './words/en.ts';
import { loadWords, useWords, WordsContext } from './words/words.ts';

const Home = lazy(() => import('./places/home/home.tsx'));
const Applications = lazy(() => import('./places/applications/applications.tsx'));
const People = lazy(() => import('./places/people/people.tsx'));
const Ask = lazy(() => import('./places/ask/ask.tsx'));
const Playground = lazy(() => import('./places/ask/playground.tsx'));
const Activity = lazy(() => import('./places/activity/activity.tsx'));
const Notifications = lazy(() => import('./places/notifications/notifications.tsx'));
const Brands = lazy(() => import('./places/brands/brands.tsx'));
const SignInPlace = lazy(() => import('./places/sign-in/sign-in.tsx'));
const Settings = lazy(() => import('./places/settings/settings.tsx'));

/** The whole panel. `words` are those of the first language, read before the first paint. */
export function App({ config, words }: { config: PanelConfig; words: Text }) {
  const [shown, setShown] = useState(words);
  const { language } = usePreferences();
  useEffect(() => {
    let current = true;
    void loadWords(language).then((loaded) => current && setShown(loaded));
    return () => {
      current = false;
    };
  }, [language]);
  return (
    <QueryClientProvider client={queryClient}>
      <WordsContext value={shown}>
        <Router base="/panel">
          <Gate config={config} />
        </Router>
      </WordsContext>
    </QueryClientProvider>
  );
}

/** The playground is for everybody; all else for who is signed in. */
function Gate({ config }: { config: PanelConfig }) {
  const state = useSession();
  return (
    <Switch>
      <Route path="/playground">
        <Suspense fallback={<Loading />}>
          <Playground />
        </Suspense>
      </Route>
      <Route>
        {state.kind === 'starting' && <Loading />}
        {state.kind === 'out' && <SignIn config={config} problem={state.problem} />}
        {state.kind === 'in' && <SignedIn key={state.email} config={config} />}
      </Route>
    </Switch>
  );
}

function SignedIn({ config }: { config: PanelConfig }) {
  const status = useRead('GET /api/profile/me/admin-status', {});
  if (status.isPending) return <Loading />;
  if (status.data === undefined) return <Problem error={asError(status.error)} onRetry={() => void status.refetch()} />;
  return (
    <RightsContext value={rightsOf(status.data.data)}>
      <Layout config={config}>
        <Suspense fallback={<Loading rows={6} />}>
          <Places config={config} />
        </Suspense>
      </Layout>
    </RightsContext>
  );
}

function Places({ config }: { config: PanelConfig }) {
  const { shell } = useWords();
  return (
    <Switch>
      <Route path="/">
        <Home config={config} />
      </Route>
      <Route path="/applications/*?" component={Applications} />
      <Route path="/people/*?" component={People} />
      <Route path="/ask/*?" component={Ask} />
      <Route path="/activity" component={Activity} />
      <Route path="/notifications/*?">
        <Notifications config={config} />
      </Route>
      <Route path="/brands/*?" component={Brands} />
      <Route path="/sign-in/*?" component={SignInPlace} />
      <Route path="/settings/*?">
        <Settings config={config} />
      </Route>
      <Route>
        <Empty title={shell.unknownPage} />
      </Route>
    </Switch>
  );
}
