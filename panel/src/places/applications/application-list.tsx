import type { Item } from '../../api/call.ts';
import { useList } from '../../api/queries.ts';
import { useFilters } from '../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useWords } from '../../words/words.ts';

type Application = Item<'GET /api/applications'>;

export default function ApplicationList() {
  const { applications: words, common } = useWords();
  const filters = useFilters({ q: '' });
  const all = useList('GET /api/applications', {});
  const wanted = filters.values.q.toLowerCase();
  const items = all.items.filter(({ code, name }) => `${code}\n${name}`.toLowerCase().includes(wanted));
  const listed = { ...all, items };
  const columns: readonly Column<Application>[] = [
    { title: common.name, cell: ({ name }) => name, csv: ({ name }) => name },
    { title: common.code, cell: ({ code }) => <code>{code}</code>, csv: ({ code }) => code },
    {
      title: common.description,
      cell: ({ description }) => description,
      csv: ({ description }) => description,
      wide: true,
    },
  ];
  return (
    <Page title={words.title}>
      <Toolbar>
        <SearchField label={common.search} value={filters.values.q} onText={(q) => filters.set({ q })} />
        <ExportButton name="applications" items={listed.items} columns={columns} />
      </Toolbar>
      <List
        label={words.title}
        listed={listed}
        columns={columns}
        keyOf={({ code }) => code}
        href={({ code }) => `/applications/${encodeURIComponent(code)}`}
      />
    </Page>
  );
}
