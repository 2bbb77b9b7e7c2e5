import { useState } from 'react';
import type { Item } from '../../../../src/gen/api.ts';
import { useList } from '../../api/queries.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { SelectField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Card, Empty } from '../../parts/page.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useWords } from '../../words/words.ts';
import css from './people.module.css';
import type { PersonProps, User } from './person-props.ts';

type Event = Item<'GET /api/users/{email}/apps/{appCode}/events'>;

/** When the person used which application, and the logins and logouts of one. */
export function Logins({ email, user }: PersonProps) {
  const { people: words } = useWords();
  const filters = useFilters({ app: '' });
  const used = user.applications.filter(({ loginCount }) => loginCount > 0);
  const app = filters.values.app || (used[0]?.appCode ?? '');
  if (used.length === 0) return <Empty title={words.neverIn} />;
  return (
    <>
      <Card title={words.useOf}>
        <Use applications={used} />
      </Card>
      <Events
        email={email}
        app={app}
        apps={used.map(({ appCode }) => appCode)}
        onApp={(code) => filters.set({ app: code })}
      />
    </>
  );
}

const FIRST = 100;

function Use({ applications }: { applications: User['applications'] }) {
  const { people: words, common } = useWords();
  const [all, setAll] = useState(false);
  return (
    <div className={css.scroller}>
      <table className={css.table}>
        <thead>
          <tr>
            <th scope="col">{common.application}</th>
            <th scope="col">{words.loginCount}</th>
            <th scope="col">{words.lastLogin}</th>
            <th scope="col">{words.lastActivity}</th>
          </tr>
        </thead>
        <tbody>
          {applications
            .slice(0, all ? undefined : FIRST)
            .map(({ appCode, loginCount, lastLoginAt, lastActivityAt }) => (
              <tr key={appCode}>
                <th scope="row">
                  <code>{appCode}</code>
                </th>
                <td>{loginCount}</td>
                <td>
                  <Time iso={lastLoginAt} />
                </td>
                <td>
                  <Time iso={lastActivityAt} />
                </td>
              </tr>
            ))}
        </tbody>
      </table>
      {!all && applications.length > FIRST && (
        <button type="button" onClick={() => setAll(true)}>
          {common.more}
        </button>
      )}
    </div>
  );
}

interface EventsProps {
  readonly email: string;
  readonly app: string;
  readonly apps: readonly string[];
  readonly onApp: (app: string) => void;
}

function Events({ email, app, apps, onApp }: EventsProps) {
  const { people: words, common } = useWords();
  const listed = useList('GET /api/users/{email}/apps/{appCode}/events', { path: { email, appCode: app } });
  const columns: readonly Column<Event>[] = [
    { title: words.when, cell: ({ at }) => <Time iso={at} />, csv: ({ at }) => at },
    {
      title: words.event,
      cell: ({ event }) => <Badge>{words.events[event]}</Badge>,
      csv: ({ event }) => words.events[event],
    },
    { title: words.reportedBy, wide: true, cell: ({ actor }) => actor, csv: ({ actor }) => actor },
  ];
  return (
    <>
      <Toolbar>
        <SelectField
          bare
          label={common.application}
          value={app}
          options={apps.map((code) => [code, code] as const)}
          onText={onApp}
        />
        <ExportButton name={`logins-${app}-${email}`} items={listed.items} columns={columns} />
      </Toolbar>
      <List
        label={words.logins}
        listed={listed}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title={words.noEvents} />}
      />
    </>
  );
}
