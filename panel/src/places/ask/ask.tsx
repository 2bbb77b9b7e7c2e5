import { lazy, type ReactNode, Suspense, useEffect, useRef } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import type { Item } from '../../../../src/gen/api.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { onDemand } from '../../parts/on-demand.ts';
import pageCss from '../../parts/page.module.css';
import { Page, useTabInSight } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { UnknownView } from '../../parts/unknown-view.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { useCatalog } from './asked.ts';
import { AssertionsView } from './assertions-view.tsx';
import { DEMO_QUESTION, isComplete, isCompleteWho, type Question, queryOf } from './question.ts';
import { appChoices, Sentence } from './sentence.tsx';
import { useQuestion } from './use-question.ts';
import { What } from './what.tsx';
import { Who } from './who.tsx';
import { Why } from './why.tsx';

const Since = onDemand(() => import('./since.tsx'), 'ask', 'activity');
const AskOwn = lazy(() => import('./own.tsx'));
const PlaygroundView = lazy(async () => {
  await import('../../parts/without-eval.ts');
  return await import('./playground/view.tsx');
});

const VIEWS = ['why', 'who', 'what', 'since', 'assertions', 'playground'] as const;

/** The bench: one question about anybody, its answer, and everything about it. Who administers nothing asks about themselves. */
export default function Ask() {
  const { ask: words } = useWords();
  const rights = useRights();
  const [path] = useLocation();
  const isPlayground = path === '/ask/playground';
  return (
    <Page title={words.title} lead={isPlayground ? words.playground.lead : rights.any ? words.lead : words.own.lead}>
      <Suspense fallback={<Loading rows={6} />}>
        {isPlayground ? (
          <>
            <Views question={null} />
            <PlaygroundView />
          </>
        ) : rights.any ? (
          <Bench />
        ) : (
          <>
            <Views question={null} />
            <AskOwn />
          </>
        )}
      </Suspense>
    </Page>
  );
}

/** Links to the views of one question. */
function Views({ question }: { question: Question | null }) {
  const { ask: words } = useWords();
  const [path] = useLocation();
  const bar = useTabInSight(path);
  const rights = useRights();
  const query = question === null ? '' : queryOf(question);
  const offered = rights.any ? VIEWS : (['why', 'playground'] as const);
  return (
    <nav ref={bar} aria-label={words.title} className={pageCss.tabs}>
      {offered.map((view) => {
        const href = view === 'why' ? '/ask' : `/ask/${view}`;
        return (
          <Link
            key={view}
            href={query === '' ? href : `${href}?${query}`}
            aria-current={path === href ? 'page' : undefined}
          >
            {words.tabs[view]}
          </Link>
        );
      })}
    </nav>
  );
}

function Bench() {
  const apps = useRead('GET /api/applications', {});
  if (apps.data !== undefined) return <Asked apps={apps.data.data} />;
  if (apps.isPending) return <Loading rows={6} />;
  return <Problem error={asError(apps.error)} onRetry={() => void apps.refetch()} />;
}

function Asked({ apps }: { apps: readonly Item<'GET /api/applications'>[] }) {
  const { question, settled, change } = useQuestion();
  const known = apps.some(({ code }) => code === question.app);
  const catalog = useCatalog(question.app, known);
  const [path] = useLocation();
  const started = useRef(false);
  useEffect(() => {
    if (started.current) return;
    started.current = true;
    if (queryOf(question) !== '') return;
    // Nothing is asked yet: the demonstration's question where it is here, else the only application.
    if (apps.some(({ code }) => code === DEMO_QUESTION.app)) change(DEMO_QUESTION);
    else if (apps.length === 1) change({ app: apps[0]?.code ?? '' });
  }, [question, apps, change]);
  const permission = catalog.matrix?.permissions.find(({ code }) => code === question.permission);
  const props = { question, settled, change, apps, catalog };
  return (
    <>
      <Sentence
        who={path === '/ask/who'}
        question={question}
        change={change}
        permissions={(catalog.matrix?.permissions ?? []).map(({ code, description }) => ({
          value: code,
          note: description,
        }))}
        types={(catalog.entities ?? []).map(({ code, name }) => ({ value: code, note: name }))}
        suggest={known ? catalog : null}
        apps={appChoices(apps)}
        tiered={permission === undefined ? null : permission.type === 'tiered'}
      />
      <Views question={question} />
      <Switch>
        <Route path="/ask">
          <Why {...props} />
        </Route>
        <Route path="/ask/who">
          <Complete question={settled} who>
            <Who question={settled} />
          </Complete>
        </Route>
        <Route path="/ask/what">
          <Complete question={settled}>
            <What question={settled} />
          </Complete>
        </Route>
        <Route path="/ask/since">
          <Complete question={settled}>
            <Suspense fallback={<Loading rows={4} />}>
              <Since question={settled} />
            </Suspense>
          </Complete>
        </Route>
        <Route path="/ask/assertions">
          <AssertionsView question={settled} />
        </Route>
        <Route>
          <UnknownView />
        </Route>
      </Switch>
    </>
  );
}

/** What needs a whole question says what is missing. */
function Complete({ question, who = false, children }: { question: Question; who?: boolean; children: ReactNode }) {
  const { ask: words } = useWords();
  if (who ? isCompleteWho(question) : isComplete(question)) return children;
  const half = (question.resourceType === '') !== (question.resourceId === '');
  const missing = who ? words.sentence.incompleteWho : words.sentence.incomplete;
  return <p role="status">{half ? words.sentence.halfRecord : missing}</p>;
}
