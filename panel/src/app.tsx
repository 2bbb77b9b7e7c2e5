import { QueryClientProvider } from '@tanstack/react-query';
import { Suspense, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Link, Route, Router, Switch } from 'wouter';
import { asError } from './api/error.ts';
import { queryClient, useRead } from './api/queries.ts';
import { onDemand } from './parts/on-demand.ts';
import { Page } from './parts/page.tsx';
import { Loading, Problem } from './parts/problem.tsx';
import { emailOfPath } from './places/people/address.ts';
import {
  Activity,
  Application,
  ApplicationList,
  Ask,
  Brands,
  Home,
  Mailbox,
  Notifications,
  PeopleList,
  Person,
  Playground,
  Settings,
  SignInPlace,
} from './places/views.ts';
import type { PanelConfig } from './session/config.ts';
import { useSession } from './session/session.ts';
import { Layout } from './shell/layout.tsx';
import { usePreferences } from './shell/preferences.ts';
import { RightsContext, rightsOf } from './shell/rights.ts';
import type { Text } from './words/places.ts';
import { loadWords, useWords, WordsContext } from './words/words.ts';

const SignIn = onDemand(async () => ({ default: (await import('./session/sign-in.tsx')).SignIn }));

/** Draws the panel in place of the frame that `index.html` shows until then. */
export function draw(config: PanelConfig, words: Text): void {
  const root = document.getElementById('root');
  if (root === null) throw new Error('the page has no #root');
  createRoot(root).render(<App config={config} words={words} />);
}

/** The whole panel. `words` are those of the first language, read before the first paint. */
function App({ config, words }: { config: PanelConfig; words: Text }) {
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

/** The playground and the development mailbox are for everybody; all else for who is signed in. */
function Gate({ config }: { config: PanelConfig }) {
  const state = useSession();
  return (
    <Switch>
      <Route path="/playground">
        <Suspense fallback={<Loading />}>
          <Playground />
        </Suspense>
      </Route>
      {config.mailbox && state.kind === 'out' && (
        <Route path="/mailbox/*?">
          <Suspense fallback={<Loading />}>
            <Mailbox />
          </Suspense>
        </Route>
      )}
      <Route>
        {state.kind === 'starting' && <Starting />}
        {state.kind === 'out' && (
          <Suspense fallback={<Starting />}>
            <SignIn config={config} problem={state.problem} />
          </Suspense>
        )}
        {state.kind === 'in' && <SignedIn key={state.email} config={config} />}
      </Route>
    </Switch>
  );
}

/** While nobody knows yet what to show: the frame of `index.html` stays on the screen (styles/starting.css). */
function Starting() {
  const { common } = useWords();
  return (
    <p role="status" className="visually-hidden" data-starting data-loading>
      {common.loading}
    </p>
  );
}

function SignedIn({ config }: { config: PanelConfig }) {
  const status = useRead('GET /api/profile/me/admin-status', {});
  if (status.isPending) return <Starting />;
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
      <Route path="/applications">
        <ApplicationList />
      </Route>
      <Route path="/applications/:appCode/*?">
        {({ appCode }) => <Application key={appCode} appCode={decodeURIComponent(appCode)} />}
      </Route>
      <Route path="/people">
        <PeopleList />
      </Route>
      <Route path="/people/:email/*?">
        {({ email }) => {
          const address = emailOfPath(location.pathname) ?? email;
          return <Person key={address} email={address} />;
        }}
      </Route>
      <Route path="/ask/*?">
        <Ask />
      </Route>
      <Route path="/activity">
        <Activity />
      </Route>
      <Route path="/notifications/*?">
        <Notifications config={config} />
      </Route>
      {config.mailbox && (
        <Route path="/mailbox/*?">
          <Mailbox />
        </Route>
      )}
      <Route path="/brands/*?">
        <Brands />
      </Route>
      <Route path="/sign-in/*?">
        <SignInPlace />
      </Route>
      <Route path="/settings/*?">
        <Settings config={config} />
      </Route>
      <Route>
        <Page title={shell.unknownPage}>
          <p>
            <Link href="/">{shell.home}</Link>
          </p>
        </Page>
      </Route>
    </Switch>
  );
}
