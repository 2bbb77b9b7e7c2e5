import { lazy, Suspense, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { call } from '../../api/call.ts';
import { ApiError, asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Card, Empty, Facts, Page } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useAction } from '../../shell/actions.ts';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useFormats, useWords } from '../../words/words.ts';
import css from './notifications.module.css';
import { Reason, StatusBadge } from './reason.tsx';
import { type Delivery, isTakenBack, mayRetry, type Status, toneOf } from './sends.ts';

const TakeBackDialog = lazy(async () => ({ default: (await import('./take-back-dialog.tsx')).TakeBackDialog }));

/** While deliveries are under way their state is asked for this often. */
const POLL_MS = 2_000;

/** One notification, with every delivery: how often it was tried, what came of it, and what to do. */
export default function Notification({ appCode, id }: { appCode: string; id: string }) {
  const { notifications: words, common } = useWords();
  const formats = useFormats();
  const rights = useRights();
  const path = { appCode, id };
  const asked = useRead('GET /api/applications/{appCode}/notifications/{id}', { path });
  const sent = asked.data?.data;
  const { refetch } = asked;
  const waits = sent?.status === 'queued';
  useEffect(() => {
    if (!waits) return undefined;
    const timer = setInterval(() => void refetch(), POLL_MS);
    return () => clearInterval(timer);
  }, [waits, refetch]);
  const writing = useWrite({ done: words.retried, refreshes: ['/api/admin', `/api/applications/${appCode}`] });
  const retry = () =>
    writing.run(() => call('POST /api/applications/{appCode}/notifications/{id}/retry', { path }, {}));
  const retriable = sent !== undefined && mayRetry(rights, { ...sent, appCode });
  useAction(retriable ? words.retry : null, () => void retry());
  const [takingBack, setTakingBack] = useState(false);
  const recallable = waits && mayWriteIn(rights, appCode);
  useAction(recallable ? words.takeBack : null, () => setTakingBack(true));
  const trail = [['/notifications', words.title] as const];
  if (asked.isPending) return <Loading rows={5} />;
  if (sent === undefined) {
    const gone = asked.error instanceof ApiError && (asked.error.status === 404 || asked.error.status === 400);
    return (
      <Page title={words.one(id)} trail={trail}>
        {gone ? (
          <Empty title={words.notFound} />
        ) : (
          <Problem error={asError(asked.error)} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={words.one(id)}
      trail={trail}
      lead={sent.email}
      readOnly={!rights.mayEdit(appCode)}
      actions={
        <>
          {recallable && <Button onClick={() => setTakingBack(true)}>{words.takeBack}</Button>}
          {retriable && (
            <Button kind="primary" busy={writing.busy} onClick={() => void retry()}>
              {words.retry}
            </Button>
          )}
        </>
      }
    >
      <Problem error={writing.error} />
      <Card>
        <Facts
          facts={[
            [
              common.status,
              <span key="status" className={css.stack} aria-live="polite">
                <StatusBadge status={sent.status} />
                {!isTakenBack(sent) && <span>{words.meanings[sent.status as Status] ?? ''}</span>}
              </span>,
            ],
            ...(sent.statusReason === null
              ? []
              : [[words.reason, <Reason key="reason" code={sent.statusReason} help />] as const]),
            [
              words.recipient,
              <Link key="person" href={`/people/${encodeURIComponent(sent.email)}`}>
                {sent.email}
              </Link>,
            ],
            [
              common.application,
              <Link key="application" href={`/applications/${encodeURIComponent(appCode)}`}>
                {appCode}
              </Link>,
            ],
            [words.type, <code key="type">{sent.type}</code>],
            [words.language, sent.locale],
            [
              words.accepted,
              <span key="accepted">
                {formats.moment(sent.createdAt)} (<Time iso={sent.createdAt} />)
              </span>,
            ],
          ]}
        />
      </Card>
      <Card title={words.deliveries}>
        {sent.deliveries.length === 0 ? (
          <p className={css.soft}>{words.noDelivery}</p>
        ) : (
          <ul className={css.deliveries}>
            {sent.deliveries.map((delivery) => (
              <DeliveryRow key={delivery.channel} delivery={delivery} />
            ))}
          </ul>
        )}
        {retriable && <p className={css.soft}>{words.retryLead}</p>}
      </Card>
      {takingBack && (
        <Suspense fallback={null}>
          <TakeBackDialog app={appCode} order={{ ids: [Number(id)] }} onClose={() => setTakingBack(false)} />
        </Suspense>
      )}
    </Page>
  );
}

function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const { notifications: words } = useWords();
  const formats = useFormats();
  const { channel, status, attempts, error, sentAt } = delivery;
  const states = words.deliveryStatuses;
  return (
    <li>
      <strong>{words.channels[channel]}</strong>
      <span>
        <Badge tone={toneOf(status === 'sending' ? 'queued' : status === 'skipped' ? 'suppressed' : status)}>
          {states[status as keyof typeof states] ?? status}
        </Badge>
      </span>
      <span className={css.soft}>
        {words.attempts}: {formats.number(attempts)}
      </span>
      <span>
        {error !== null && <Reason code={error} help />}
        {sentAt !== null && <Time iso={sentAt} />}
      </span>
    </li>
  );
}
