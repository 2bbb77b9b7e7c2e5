import type { Item } from '../../../../src/gen/api.ts';
import { useList } from '../../api/queries.ts';
import { Badge } from '../../parts/badge.tsx';
import { SelectField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Empty } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useWords } from '../../words/words.ts';
import { configText, isWanted } from './config-text.ts';
import css from './settings.module.css';

type Value = Item<'GET /api/admin/config'>;
const SOURCES = ['environment', 'file', 'default'] as const;

/** The configuration as it is, secrets masked: where each value comes from, and how to set it. */
export function Configuration() {
  const { settings, common } = useWords();
  const words = settings.configuration;
  const filters = useFilters({ q: '', source: '' });
  const all = useList('GET /api/admin/config', {});
  const listed = { ...all, items: all.items.filter((value) => isWanted(value, filters.values)) };
  const columns: readonly Column<Value>[] = [
    { title: words.key, width: 'minmax(0, 1.4fr)', cell: ({ key }) => <code>{key}</code>, csv: ({ key }) => key },
    {
      title: words.value,
      width: 'minmax(0, 1.4fr)',
      cell: ({ value }) => <code className={css.value}>{configText(value)}</code>,
      csv: ({ value }) => configText(value),
    },
    {
      title: words.source,
      width: 'minmax(7rem, 0.6fr)',
      cell: ({ source }) => <Badge tone={source === 'default' ? 'neutral' : 'accent'}>{words.sources[source]}</Badge>,
      csv: ({ source }) => source,
    },
    {
      title: words.variable,
      wide: true,
      cell: ({ variable }) => <code>{variable}</code>,
      csv: ({ variable }) => variable,
    },
  ];
  return (
    <>
      <p className={css.soft}>{words.why}</p>
      <Toolbar>
        <SearchField label={common.search} value={filters.values.q} onText={(q) => filters.set({ q })} />
        <SelectField
          bare
          label={words.source}
          value={filters.values.source}
          options={[['', words.anySource], ...SOURCES.map((source) => [source, words.sources[source]] as const)]}
          onText={(source) => filters.set({ source })}
        />
        <ExportButton name="configuration" items={listed.items} columns={columns} />
      </Toolbar>
      <List
        label={words.title}
        listed={listed}
        columns={columns}
        keyOf={({ key }) => key}
        empty={<Empty title={common.noMatch} />}
      />
    </>
  );
}
