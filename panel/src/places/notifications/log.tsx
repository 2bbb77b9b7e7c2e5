import { lazy, Suspense, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useList, useRead } from '../../api/queries.ts';
import { Time } from '../../parts/badge.tsx';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { SelectField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useAction } from '../../shell/actions.ts';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { Health } from './health.tsx';
import { LOG_FILTERS } from './log-filters.ts';
import { NotificationTabs } from './notification-tabs.tsx';
import css from './notifications.module.css';
import { Reason, StatusBadge } from './reason.tsx';
import { RetryDialog } from './retry-dialog.tsx';
import { reasonOf, type Sent, STATUSES, type Status } from './sends.ts';

const TakeBackWaiting = lazy(async () => ({ default: (await import('./take-back-dialog.tsx')).TakeBackWaiting }));

/** What was sent in the applications that the reader may see, and how it went. */
export default function Log({ mailbox }: { mailbox: boolean }) {
  const { notifications: words, common } = useWords();
  const rights = useRights();
  const [, go] = useLocation();
  const filters = useFilters(LOG_FILTERS);
  const { values, set } = filters;
  const [retrying, setRetrying] = useState(false);
  const [takingBack, setTakingBack] = useState(false);
  // Half an address is nobody's.
  const email = /^[^@\s]+@[^@\s]+$/.test(values.email.trim()) ? values.email.trim() : '';
  const status = STATUSES.includes(values.status as Status) ? (values.status as Status) : undefined;
  const query = { status, type: values.type, email, appCode: values.app };
  const listed = useList('GET /api/admin/notifications', { query });
  const applications = useRead('GET /api/applications', {}).data?.data ?? [];
  const mayWrite = applications.some(({ code }) => mayWriteIn(rights, code));
  useAction(mayWrite ? words.sendTitle : null, () => go('/notifications/send'));
  useAction(mayWrite ? words.retryMany : null, () => setRetrying(true));
  useAction(mayWrite ? words.takeBackMany : null, () => setTakingBack(true));
  const columns = useColumns();
  const filtered = Object.values(query).some((value) => value !== '' && value !== undefined);
  const types = [...new Set([...listed.items.map(({ type }) => type), values.type].filter(Boolean))].sort();
  return (
    <Page
      title={words.title}
      lead={words.lead}
      readOnly={!mayWrite && applications.length > 0}
      actions={
        <>
          {mailbox && (
            <Link className={css.outside} href="/mailbox">
              {words.mailbox}
            </Link>
          )}
          {mayWrite && <Button onClick={() => setRetrying(true)}>{words.retryMany}</Button>}
          {mayWrite && <Button onClick={() => setTakingBack(true)}>{words.takeBackMany}</Button>}
          {mayWrite && (
            <ButtonLink
              kind="primary"
              href={`/notifications/send${values.app === '' ? '' : `?app=${encodeURIComponent(values.app)}`}`}
            >
              {words.send}
            </ButtonLink>
          )}
        </>
      }
    >
      <NotificationTabs ready={!listed.query.isPending} />
      <Health values={values} set={set} />
      <Toolbar>
        <SearchField
          label={`${words.recipient}: ${words.recipientHint}`}
          value={values.email}
          onText={(text) => set({ email: text })}
        />
        <SelectField
          bare
          label={common.status}
          value={values.status}
          options={[['', words.anyStatus], ...STATUSES.map((one) => [one, words.statuses[one]] as const)]}
          onText={(one) => set({ status: one })}
        />
        <SelectField
          bare
          label={words.type}
          value={values.type}
          options={[['', words.anyType], ...types.map((one) => [one, one] as const)]}
          onText={(type) => set({ type })}
        />
        <SelectField
          bare
          label={common.application}
          value={values.app}
          options={[['', words.anyApplication], ...applications.map(({ code, name }) => [code, name || code] as const)]}
          onText={(app) => set({ app })}
        />
        <CopyButton label={common.copyLink} text={() => location.href} />
        <ExportButton name="notifications" items={listed.items} columns={columns} />
      </Toolbar>
      <List
        label={words.log}
        listed={listed}
        columns={columns}
        keyOf={({ appCode, id }) => `${appCode}/${id}`}
        href={({ appCode, id }) => `/notifications/${encodeURIComponent(appCode)}/${id}`}
        empty={
          <Empty title={filtered ? common.noMatch : words.empty}>
            {!filtered && mayWrite && <ButtonLink href="/notifications/send">{words.sendOne}</ButtonLink>}
          </Empty>
        }
      />
      {retrying && <RetryDialog values={values} onClose={() => setRetrying(false)} />}
      {takingBack && (
        <Suspense fallback={null}>
          <TakeBackWaiting values={values} email={email} onClose={() => setTakingBack(false)} />
        </Suspense>
      )}
    </Page>
  );
}

function useColumns(): readonly Column<Sent>[] {
  const { notifications: words, common } = useWords();
  return [
    { title: words.recipient, cell: ({ email }) => email, csv: ({ email }) => email, width: 'minmax(0, 1.4fr)' },
    {
      title: common.status,
      cell: ({ status }) => <StatusBadge status={status} />,
      csv: ({ status }) => words.statuses[status as Status] ?? status,
      width: 'minmax(5.5rem, 0.7fr)',
    },
    {
      title: words.reason,
      cell: (sent) => {
        const code = reasonOf(sent);
        return code === null ? null : <Reason code={code} />;
      },
      csv: (sent) => reasonOf(sent),
      width: 'minmax(0, 1.3fr)',
      wide: true,
    },
    {
      title: words.deliveries,
      cell: ({ deliveries }) =>
        deliveries.map(({ channel }) => words.channels[channel]).join(', ') || <span className={css.soft}>–</span>,
      csv: ({ deliveries }) => deliveries.map(({ channel, status }) => `${channel}: ${status}`).join(', '),
      width: 'minmax(0, 0.6fr)',
      wide: true,
    },
    {
      title: words.type,
      cell: ({ type }) => <code>{type}</code>,
      csv: ({ type }) => type,
      width: 'minmax(0, 0.7fr)',
      wide: true,
    },
    {
      title: common.application,
      cell: ({ appCode }) => <code>{appCode}</code>,
      csv: ({ appCode }) => appCode,
      width: 'minmax(0, 0.7fr)',
      wide: true,
    },
    {
      title: words.accepted,
      cell: ({ createdAt }) => <Time iso={createdAt} />,
      csv: ({ createdAt }) => createdAt,
      width: 'minmax(6rem, 0.9fr)',
    },
  ];
}
