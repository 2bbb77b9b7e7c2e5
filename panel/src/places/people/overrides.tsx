import { Link } from 'wouter';
import type { Item } from '../../../../src/gen/api.ts';
import { useList } from '../../api/queries.ts';
import { Level, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { useFilters } from '../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Empty } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { windowOf } from '../../parts/until.ts';
import { WindowBadge } from '../../parts/window-badge.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { levelOf } from './access.ts';
import { askPath, personPath } from './address.ts';
import type { PersonProps } from './person-props.ts';

type Row = Item<'GET /api/users/{email}/apps/{appCode}/resources'>;

/** All overrides of a person in one application, a page at a time. */
export function Overrides({ email, appCode, onChange }: PersonProps & { appCode: string }) {
  const { people: words, common } = useWords();
  const mayChange = mayWriteIn(useRights(), appCode);
  const filters = useFilters({ q: '' });
  const listed = useList('GET /api/users/{email}/apps/{appCode}/resources', {
    path: { email, appCode },
    query: { q: filters.values.q, limit: 200 },
  });
  const columns: readonly Column<Row>[] = [
    {
      title: common.record,
      cell: ({ resourceType, resourceId }) => <code>{`${resourceType}:${resourceId}`}</code>,
      csv: ({ resourceType, resourceId }) => `${resourceType}:${resourceId}`,
    },
    { title: common.permission, cell: ({ code }) => <code>{code}</code>, csv: ({ code }) => code },
    { title: common.level, width: '6rem', cell: (row) => <Level level={levelOf(row)} />, csv: levelOf },
    {
      title: common.window.end,
      width: '11rem',
      wide: true,
      cell: (row) => <WindowBadge {...windowOf(row)} />,
      csv: ({ endsAt }) => endsAt,
    },
    {
      title: words.since,
      width: '8rem',
      wide: true,
      cell: ({ createdAt }) => <Time iso={createdAt} />,
      csv: ({ createdAt }) => createdAt,
    },
    {
      title: common.actions,
      width: '10rem',
      wide: true,
      cell: ({ resourceType, resourceId, code }) => {
        const about = `${code} ${resourceType}:${resourceId}`;
        const question = { app: appCode, email, permission: code, resourceType, resourceId };
        return (
          <>
            {mayChange && (
              <Button
                kind="quiet"
                aria-label={words.changeOverrideOf(code, `${resourceType}:${resourceId}`)}
                onClick={() => onChange({ kind: 'override', app: appCode, resourceType, resourceId })}
              >
                {common.edit}
              </Button>
            )}{' '}
            <Link href={askPath(question)} aria-label={words.askAbout(about)}>
              {words.ask}
            </Link>
          </>
        );
      },
    },
  ];
  return (
    <>
      <p>
        <Link href={`${personPath(email)}?app=${encodeURIComponent(appCode)}`}>{words.access}</Link> / {appCode}
      </p>
      <Toolbar>
        <SearchField label={common.search} value={filters.values.q} onText={(q) => filters.set({ q })} />
        <ExportButton name={`overrides-${appCode}-${email}`} items={listed.items} columns={columns} />
      </Toolbar>
      <List
        label={words.overrideTitle}
        listed={listed}
        columns={columns}
        keyOf={({ resourceType, resourceId, code }) => `${resourceType}\n${resourceId}\n${code}`}
        empty={<Empty title={filters.values.q === '' ? words.noOverrides : common.noMatch} />}
      />
    </>
  );
}
