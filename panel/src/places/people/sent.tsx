import { Link } from 'wouter';
import type { Item } from '../../../../src/gen/api.ts';
import { useList } from '../../api/queries.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Empty } from '../../parts/page.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useWords } from '../../words/words.ts';
import css from './people.module.css';
import type { PersonProps } from './person-props.ts';

type Send = Item<'GET /api/admin/notifications'>;

const TONES = { sent: 'good', failed: 'bad', partial: 'warn', queued: 'neutral', suppressed: 'neutral' } as const;

/** What was sent to the person, by the applications of the reader. */
export function Sent({ email }: PersonProps) {
  const { people: words, common } = useWords();
  const listed = useList('GET /api/admin/notifications', { query: { email } });
  const columns: readonly Column<Send>[] = [
    {
      title: words.message,
      width: 'minmax(0, 1.4fr)',
      cell: ({ type }) => <code>{type}</code>,
      csv: ({ type }) => type,
    },
    {
      title: common.application,
      wide: true,
      cell: ({ appCode }) => <code>{appCode}</code>,
      csv: ({ appCode }) => appCode,
    },
    {
      title: common.status,
      cell: ({ status, statusReason }) => (
        <>
          <Badge tone={TONES[status as keyof typeof TONES] ?? 'neutral'}>
            {words.sendStates[status as keyof typeof words.sendStates] ?? status}
          </Badge>{' '}
          {statusReason && <span className={css.soft}>{statusReason}</span>}
        </>
      ),
      csv: ({ status }) => status,
    },
    {
      title: words.channels,
      wide: true,
      cell: ({ deliveries }) =>
        deliveries
          .map(({ channel, status }) => {
            const state = words.deliveryStates[status as keyof typeof words.deliveryStates] ?? status;
            return `${words.channelNames[channel as keyof typeof words.channelNames] ?? channel}: ${state}`;
          })
          .join(', '),
      csv: ({ deliveries }) => deliveries.map(({ channel, status }) => `${channel}: ${status}`).join(', '),
    },
    {
      title: words.when,
      width: '8rem',
      cell: ({ createdAt }) => <Time iso={createdAt} />,
      csv: ({ createdAt }) => createdAt,
    },
  ];
  return (
    <>
      <Toolbar>
        <Link href={`/notifications?email=${encodeURIComponent(email)}`}>{words.inNotifications}</Link>
        <ExportButton name={`messages-${email}`} items={listed.items} columns={columns} />
      </Toolbar>
      <List
        label={words.sent}
        listed={listed}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title={words.nothingSent} />}
      />
    </>
  );
}
