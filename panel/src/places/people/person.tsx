import { lazy, Suspense, useState } from 'react';
import { Link, Route, Switch } from 'wouter';
import { ApiError, asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Button } from '../../parts/button.tsx';
import { Empty, Page, Tabs } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { UnknownView } from '../../parts/unknown-view.tsx';
import { useAction } from '../../shell/actions.ts';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRecent } from '../../shell/recents.ts';
import { type Rights, useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { AccessView } from './access-view.tsx';
import { personPath } from './address.ts';
import type { Changing, PersonProps, User } from './person-props.ts';
import { StateBadges } from './state-badges.tsx';

const Overrides = lazy(async () => ({ default: (await import('./overrides.tsx')).Overrides }));
const Logins = lazy(async () => ({ default: (await import('./logins.tsx')).Logins }));
const Sent = lazy(async () => ({ default: (await import('./sent.tsx')).Sent }));
const About = lazy(async () => ({ default: (await import('./about.tsx')).About }));
const ChangeDialog = lazy(async () => ({ default: (await import('./changing.tsx')).ChangeDialog }));

const VIEWS = ['', 'logins', 'messages', 'profile'] as const;

/** Who is this, and what may they do? */
export default function Person({ email }: { email: string }) {
  const { people: words } = useWords();
  const rights = useRights();
  const user = useRead('GET /api/users/{email}', { path: { email } });
  const [change, setChange] = useState<Changing | null>(null);
  const assigns = rights.isSuperAdmin || rights.status.applications.some(({ appCode }) => mayWriteIn(rights, appCode));
  useAction(assigns ? words.changeRoles : null, () => setChange({ kind: 'roles' }));
  useAction(assigns ? words.addOverride : null, () => setChange({ kind: 'override' }));
  useRecent(user.data === undefined ? null : { kind: 'people', href: personPath(email), label: email });
  const data = user.data?.data;
  const isUnknown = isNobody(user.error);
  return (
    <Page
      title={email}
      trail={[['/people', words.title]]}
      lead={
        data !== undefined && (
          <>
            {data.displayName} <StateBadges {...data} />{' '}
            {data.movedTo !== null && <Link href={personPath(data.movedTo)}>{data.movedTo}</Link>}
          </>
        )
      }
      readOnly={!assigns && rights.any}
      actions={
        (data !== undefined || isUnknown) && assigns && <Acts user={data} rights={rights} onChange={setChange} />
      }
    >
      {user.isPending && <Loading rows={6} />}
      {isUnknown && <Empty title={words.unknown(email)}>{assigns && <p>{words.unknownWhy}</p>}</Empty>}
      {user.isError && !isUnknown && <Problem error={asError(user.error)} onRetry={() => void user.refetch()} />}
      {data !== undefined && <Views email={email} user={data} onChange={setChange} />}
      {change !== null && (
        <Suspense fallback={null}>
          <ChangeDialog email={email} user={data} change={change} onClose={() => setChange(null)} />
        </Suspense>
      )}
    </Page>
  );
}

/** Neither known, nor of an application of the reader. */
function isNobody(error: Error | null): boolean {
  return error instanceof ApiError && (error.status === 404 || error.code === 'NO_APPLICATION_LEVEL');
}

interface ActsProps {
  readonly user: User | undefined;
  readonly rights: Rights;
  readonly onChange: (change: Changing) => void;
}

function Acts({ user, rights, onChange }: ActsProps) {
  const { people: words } = useWords();
  return (
    <>
      {rights.isSuperAdmin && user !== undefined && (
        <Button
          kind={user.blocked ? 'plain' : 'danger'}
          onClick={() => onChange({ kind: 'active', active: user.blocked })}
        >
          {user.blocked ? words.unblock : words.block}
        </Button>
      )}
      <Button onClick={() => onChange({ kind: 'override' })}>{words.addOverride}</Button>
      <Button kind="primary" onClick={() => onChange({ kind: 'roles' })}>
        {words.changeRoles}
      </Button>
    </>
  );
}

function Views(props: PersonProps) {
  const { people: words } = useWords();
  const { email } = props;
  const titles = { '': words.access, logins: words.logins, messages: words.sent, profile: words.profile };
  return (
    <>
      <Tabs label={words.viewsOf(email)} tabs={VIEWS.map((view) => [personPath(email, view), titles[view]] as const)} />
      <Suspense fallback={<Loading rows={6} />}>
        <Switch>
          <Route path="/people/:email">
            <AccessView {...props} />
          </Route>
          <Route path="/people/:email/overrides/:app">
            {({ app }) => <Overrides {...props} appCode={decodeURIComponent(app)} />}
          </Route>
          <Route path="/people/:email/logins">
            <Logins {...props} />
          </Route>
          <Route path="/people/:email/messages">
            <Sent {...props} />
          </Route>
          <Route path="/people/:email/profile">
            <About {...props} />
          </Route>
          <Route>
            <UnknownView />
          </Route>
        </Switch>
      </Suspense>
    </>
  );
}
