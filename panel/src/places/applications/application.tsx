import { type ComponentType, lazy, Suspense } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Empty, Page, Tabs } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { UnknownView } from '../../parts/unknown-view.tsx';
import { useRecent } from '../../shell/recents.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './applications.module.css';
import Overview from './overview/overview.tsx';
import type { ViewProps } from './view-props.ts';

/** In the order of the tabs. The first has no segment of its own. */
const VIEWS = {
  overview: Overview,
  matrix: lazy(() => import('./matrix/matrix.tsx')),
  permissions: lazy(() => import('./permissions/permissions.tsx')),
  people: lazy(() => import('./people/people.tsx')),
  records: lazy(() => import('./records/records.tsx')),
  messages: lazy(() => import('./messages/messages.tsx')),
  manifest: lazy(() => import('./manifest/manifest.tsx')),
  history: lazy(() => import('./history/history.tsx')),
} satisfies Record<string, ComponentType<ViewProps>>;
type View = keyof typeof VIEWS;

/** One application: each view has an address of its own. */
export default function Application({ appCode }: { appCode: string }) {
  const { applications: words, problem } = useWords();
  const rights = useRights();
  // Of an application that is not theirs to see, the service would say so by 403.
  const hidden = rights.level(appCode) === null;
  const application = useRead('GET /api/applications/{appCode}', { path: { appCode } }, { enabled: !hidden });
  const base = `/applications/${encodeURIComponent(appCode)}`;
  const opened = application.data?.data;
  useRecent(opened === undefined ? null : { kind: 'applications', href: base, label: opened.name || appCode });
  if (hidden) {
    return (
      <Page title={appCode} trail={[['/applications', words.title]]}>
        <Empty title={problem.notFound} />
      </Page>
    );
  }
  if (application.data === undefined) {
    return (
      <Page title={appCode} trail={[['/applications', words.title]]}>
        {application.isPending ? (
          <Loading />
        ) : (
          <Problem error={asError(application.error)} onRetry={() => void application.refetch()} />
        )}
      </Page>
    );
  }
  const { data } = application.data;
  const props: ViewProps = { appCode, application: data, mayEdit: rights.mayEdit(appCode) };
  const views = Object.keys(VIEWS) as View[];
  return (
    <Page
      title={data.name || appCode}
      trail={[['/applications', words.title]]}
      lead={
        data.description !== null && (
          <p className={css.clamped} dir="auto" title={data.description}>
            {data.description}
          </p>
        )
      }
      readOnly={!props.mayEdit}
    >
      <Tabs
        label={data.name}
        tabs={views.map((view) => [view === 'overview' ? base : `${base}/${view}`, words[view].title] as const)}
      />
      <Suspense fallback={<Loading rows={6} />}>
        <Switch>
          {views.map((view) => {
            const Shown = VIEWS[view];
            return (
              <Route
                key={view}
                path={view === 'overview' ? '/applications/:appCode' : `/applications/:appCode/${view}/*?`}
              >
                <Shown {...props} />
              </Route>
            );
          })}
          <Route path="/applications/:appCode/:name/*?">{({ name }) => <Renamed name={name} />}</Route>
          <Route>
            <UnknownView />
          </Route>
        </Switch>
      </Suspense>
    </Page>
  );
}

/** Views by what their tabs are called, where the address says it in another word. */
const CALLED: Readonly<Record<string, View>> = {
  roles: 'matrix',
  types: 'messages',
  templates: 'messages',
  overview: 'overview',
};

/** What is called so, at the address that it has. */
function Renamed({ name }: { name: string }) {
  const [path] = useLocation();
  const view = CALLED[name];
  if (view === undefined) return <UnknownView />;
  const [, place = '', app = '', , ...rest] = path.split('/');
  const below = view === 'overview' ? [] : [view, ...rest];
  return <Redirect to={`/${[place, app, ...below].join('/')}${location.search}`} replace />;
}
