import type { Item } from '../../../../src/gen/api.ts';
import { useList } from '../../api/queries.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Empty } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';
import css from './settings.module.css';

type Key = Item<'GET /api/admin/keys'>;

/** Keys of backends: what each may do and in which applications, and when it was used last. Never a value. */
export function Keys() {
  const { settings, common } = useWords();
  const words = settings.keys;
  const listed = useList('GET /api/admin/keys', {});
  const columns: readonly Column<Key>[] = [
    { title: common.name, cell: ({ name }) => name, csv: ({ name }) => name },
    {
      title: words.scopes,
      width: 'minmax(0, 2fr)',
      cell: ({ scopes }) => (
        <span className={css.badges}>
          {scopes.map((scope) => (
            <Badge key={scope} title={words.scope[scope]}>
              {scope}
            </Badge>
          ))}
        </span>
      ),
      csv: ({ scopes }) => scopes.join(' '),
    },
    {
      title: words.applications,
      cell: ({ apps }) =>
        apps === null ? (
          words.everyApplication
        ) : (
          <span className={css.badges}>
            {apps.map((app) => (
              <Badge key={app}>{app}</Badge>
            ))}
          </span>
        ),
      csv: ({ apps }) => (apps === null ? words.everyApplication : apps.join(' ')),
    },
    {
      title: words.lastUsed,
      width: '9rem',
      cell: ({ lastUsedAt }) => <Time iso={lastUsedAt} />,
      csv: ({ lastUsedAt }) => lastUsedAt,
    },
  ];
  return (
    <>
      <div className={css.bar}>
        <p className={css.soft}>
          {words.why} <code>internal.apiKeys</code> (<code>INTERNAL_API_KEYS</code>)
        </p>
        <ExportButton name="keys" items={listed.items} columns={columns} />
      </div>
      <List
        label={words.title}
        listed={listed}
        columns={columns}
        keyOf={({ name }) => name}
        empty={<Empty title={words.none} />}
      />
    </>
  );
}
