import { Time } from '../../parts/badge.tsx';
import { ButtonLink } from '../../parts/button.tsx';
import { useFilters } from '../../parts/filters.ts';
import { type Column, List } from '../../parts/list.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useSession } from '../../session/session.ts';
import { useWords } from '../../words/words.ts';
import css from './mailbox.module.css';
import { type Mail, useMails } from './mails.ts';

/** The mails that were kept, with new ones as they come. */
export function MailList() {
  const { mailbox: words, common } = useWords();
  const { kind } = useSession();
  const { values, set } = useFilters({ q: '' });
  const listed = useMails(values.q);
  const { isSuccess, isError, isRefetchError } = listed.query;
  return (
    <Page title={words.heading} lead={words.lead}>
      <Toolbar>
        <SearchField label={words.filter} value={values.q} onText={(q) => set({ q })} />
        {(isSuccess || isError) && (
          <p className={css.state} role="status">
            {isRefetchError ? words.away : `${words.mails(listed.items.length)}. ${words.live}`}
          </p>
        )}
      </Toolbar>
      <List
        label={words.heading}
        listed={listed}
        columns={useColumns()}
        keyOf={({ id }) => id}
        href={({ id }) => `/mailbox/${id}`}
        empty={
          <Empty title={values.q === '' ? words.empty : common.noMatch}>
            {values.q === '' && <p>{words.emptyWhy}</p>}
            {values.q === '' && kind === 'in' && <ButtonLink href="/notifications/send">{words.send}</ButtonLink>}
          </Empty>
        }
      />
    </Page>
  );
}

function useColumns(): readonly Column<Mail>[] {
  const { mailbox: words } = useWords();
  return [
    {
      title: words.subject,
      cell: ({ subject }) => <bdi>{subject === '' ? words.noSubject : subject}</bdi>,
      width: 'minmax(0, 2fr)',
    },
    { title: words.to, cell: ({ to }) => to, width: 'minmax(0, 1.2fr)' },
    { title: words.from, cell: ({ from }) => <bdi>{from.name || from.address}</bdi>, wide: true },
    { title: words.sent, cell: ({ at }) => <Time iso={at} />, width: 'minmax(6rem, 0.7fr)' },
  ];
}
