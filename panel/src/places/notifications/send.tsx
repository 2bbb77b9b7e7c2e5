import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import type { Out } from '../../../../src/gen/api.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Button } from '../../parts/button.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Card, Empty, Page } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './notifications.module.css';
import { Reason, StatusBadge } from './reason.tsx';
import { SendForm } from './send-form.tsx';

type Outcome = Out<'POST /api/applications/{appCode}/notifications'>['notifications'];

const TakeBackDialog = lazy(async () => ({ default: (await import('./take-back-dialog.tsx')).TakeBackDialog }));

/** So many of them are listed afterwards. */
const LISTED = 50;

/** Sends a notification to people of an application. A draft keeps its key, so that pressing again after a failure sends nothing twice. */
export default function Send() {
  const { notifications: words } = useWords();
  const rights = useRights();
  const { values, set } = useFilters({ app: '', type: 'generic' });
  const applications = useRead('GET /api/applications', {});
  const known = (applications.data?.data ?? []).filter(({ code }) => mayWriteIn(rights, code));
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const app = known.some(({ code }) => code === values.app) ? values.app : (known[0]?.code ?? '');
  return (
    <Page title={words.sendTitle} lead={words.sendLead} trail={[['/notifications', words.title]]}>
      {applications.isPending && <Loading rows={5} />}
      {applications.isError && (
        <Problem error={asError(applications.error)} onRetry={() => void applications.refetch()} />
      )}
      {applications.isSuccess && known.length === 0 && <Empty title={words.nowhere} />}
      {outcome !== null && <Sent app={app} outcome={outcome} onAgain={() => setOutcome(null)} />}
      {app !== '' && (
        <div hidden={outcome !== null}>
          <SendForm app={app} type={values.type} known={known} set={set} onSent={setOutcome} />
        </div>
      )}
    </Page>
  );
}

function Sent({ app, outcome, onAgain }: { app: string; outcome: Outcome; onAgain: () => void }) {
  const { notifications: words } = useWords();
  const [takingBack, setTakingBack] = useState(false);
  return (
    <Card
      title={<span role="status">{words.sentTo(outcome.length)}</span>}
      actions={
        <>
          <Button onClick={() => setTakingBack(true)}>{words.takeBack}</Button>
          <Button onClick={onAgain}>{words.again}</Button>
        </>
      }
    >
      <ul className={css.outcome}>
        {outcome.slice(0, LISTED).map(({ id, email, status, statusReason }) => (
          <li key={id}>
            <Link href={`/notifications/${encodeURIComponent(app)}/${id}`}>{email}</Link>
            <StatusBadge status={status} />
            {statusReason !== null && <Reason code={statusReason} />}
          </li>
        ))}
      </ul>
      {takingBack && (
        <Suspense fallback={null}>
          <TakeBackDialog app={app} order={{ ids: outcome.map(({ id }) => id) }} onClose={() => setTakingBack(false)} />
        </Suspense>
      )}
    </Card>
  );
}
