import type { Item } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useList } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Switch } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { More } from '../../parts/list.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import { NotificationTabs } from './notification-tabs.tsx';
import css from './notifications.module.css';
import { linkOf } from './sends.ts';

type InboxItem = Item<'GET /api/profile/me/notifications/inbox'>;

const INBOX = '/api/profile/me/notifications/inbox';

/** What the reader was sent, as every front end can show it to them. */
export default function Inbox() {
  const { notifications: words } = useWords();
  const { values, set } = useFilters({ unread: '' });
  const unreadOnly = values.unread === '' ? undefined : true;
  const listed = useList('GET /api/profile/me/notifications/inbox', { query: { unreadOnly } });
  const { items, query } = listed;
  const writing = useWrite({ refreshes: [INBOX] });
  const readAll = () => writing.run(() => call('POST /api/profile/me/notifications/inbox/read-all', { body: {} }));
  const read = (id: number) =>
    writing.run(() => call('PATCH /api/profile/me/notifications/inbox/{id}/read', { path: { id } }));
  const unread = items.some(({ readAt }) => readAt === null);
  return (
    <Page
      title={words.inbox}
      actions={
        unread && (
          <Button busy={writing.busy} onClick={() => void readAll()}>
            {words.readAll}
          </Button>
        )
      }
    >
      <NotificationTabs />
      <Switch
        label={words.unreadOnly}
        checked={unreadOnly !== undefined}
        onChecked={(only) => set({ unread: only ? '1' : '' })}
      />
      <Problem error={writing.error} />
      {query.isPending && <Loading rows={4} />}
      {query.isError && items.length === 0 && (
        <Problem error={asError(query.error)} onRetry={() => void query.refetch()} />
      )}
      {query.isSuccess && items.length === 0 && (
        <Empty title={unreadOnly === undefined ? words.inboxEmpty : words.inboxRead} />
      )}
      {items.length > 0 && (
        <div>
          <ul className={css.inbox}>
            {items.map((item) => (
              <InboxRow key={item.id} item={item} onRead={() => void read(item.id)} />
            ))}
          </ul>
          <More listed={listed} />
        </div>
      )}
    </Page>
  );
}

function InboxRow({ item, onRead }: { item: InboxItem; onRead: () => void }) {
  const { notifications: words } = useWords();
  const { subject, body, url, appName, readAt, createdAt, locale } = item;
  const link = linkOf(url);
  return (
    <li data-unread={readAt === null ? '' : undefined}>
      <div className={css.message}>
        <h2 dir="auto" lang={locale}>
          {subject} {readAt === null && <Badge tone="accent">{words.isNew}</Badge>}
        </h2>
        {body !== null && (
          <p dir="auto" lang={locale}>
            {body}
          </p>
        )}
        <p className={css.soft}>
          <bdi>{appName}</bdi> · <Time iso={createdAt} />
        </p>
      </div>
      <div className={css.rowActions}>
        {link !== null && (
          <a href={link} target="_blank" rel="noreferrer">
            {words.open}
          </a>
        )}
        {readAt === null && (
          <Button kind="quiet" aria-label={`${words.read}: ${subject}`} onClick={onRead}>
            {words.read}
          </Button>
        )}
      </div>
    </li>
  );
}
