import { lazy, Suspense, useMemo, useState } from 'react';
import { type Listed, useList } from '../../api/queries.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useAction } from '../../shell/actions.ts';
import { useRights } from '../../shell/rights.ts';
import { useFormats, useWords } from '../../words/words.ts';
import css from './applications.module.css';
import { type Counted, FIRST, isWhole, LIST_FILTERS, narrowed, queryOf, SORTS, type Sort } from './registry.ts';

const NewApplication = lazy(async () => ({ default: (await import('./new-application.tsx')).NewApplication }));
const FromManifest = lazy(async () => ({ default: (await import('./from-manifest.tsx')).FromManifest }));

const COUNTS = ['people', 'roles', 'permissions', 'admins'] as const;

/** Every application that the person may see. */
export default function ApplicationList() {
  const { applications: words, common } = useWords();
  const { isSuperAdmin } = useRights();
  const filters = useFilters(LIST_FILTERS);
  const { q, sort } = filters.values;
  const { listed, none } = useApplications(q, sort);
  const columns = useColumns();
  const [open, setOpen] = useState<'new' | 'manifest' | 'demo' | null>(filters.values.new === '' ? null : 'new');
  const close = () => {
    setOpen(null);
    filters.set({ new: '' });
  };
  useAction(isSuperAdmin ? words.new : null, () => setOpen('new'));
  const commands = isSuperAdmin && (
    <span className={css.buttons}>
      <Button onClick={() => setOpen('manifest')}>{words.pasteManifest}</Button>
      <Button kind="primary" onClick={() => setOpen('new')}>
        {words.new}
      </Button>
    </span>
  );
  return (
    <Page title={words.title} actions={commands}>
      <Toolbar>
        <SearchField label={common.search} value={q} onText={(text) => filters.set({ q: text })} />
        <SelectField
          bare
          label={words.sort}
          value={sort}
          options={SORTS.map((one) => [one, words.sorts[one]] as const)}
          onText={(text) => filters.set({ sort: text })}
        />
        <ExportButton name="applications" items={listed.items} columns={columns} />
      </Toolbar>
      <List
        label={words.title}
        listed={listed}
        columns={columns}
        keyOf={({ code }) => code}
        href={({ code }) => `/applications/${encodeURIComponent(code)}`}
        empty={
          <Empty title={none ? words.empty : common.noMatch}>
            {isSuperAdmin && none && (
              <span className={css.buttons}>
                <Button onClick={() => setOpen('manifest')}>{words.pasteManifest}</Button>
                <Button onClick={() => setOpen('demo')}>{words.startDemo}</Button>
              </span>
            )}
          </Empty>
        }
      />
      <Suspense fallback={null}>
        {open === 'new' && <NewApplication onClose={close} />}
        {(open === 'manifest' || open === 'demo') && <FromManifest demo={open === 'demo'} onClose={close} />}
      </Suspense>
    </Page>
  );
}

/** The list as it is filtered; `none`: whether there is no application at all. */
function useApplications(q: string, sort: string): { listed: Listed<Counted>; none: boolean } {
  const first = useList('GET /api/applications', { query: FIRST });
  const isHere = first.query.isSuccess && isWhole(first.items, first.query.hasNextPage);
  const long = useList('GET /api/applications', { query: queryOf({ q, sort }) }, !isHere);
  const few = useMemo(() => (isHere ? narrowed(first.items, q, sort as Sort) : []), [isHere, first.items, q, sort]);
  return { listed: isHere ? { ...first, items: few } : long, none: isHere && first.items.length === 0 };
}

function useColumns(): readonly Column<Counted>[] {
  const { applications: words, common } = useWords();
  const formats = useFormats();
  return useMemo(
    () => [
      {
        title: common.name,
        width: 'minmax(0, 2fr)',
        cell: ({ name, code }) => name || code,
        csv: ({ name }) => name,
      },
      {
        title: common.code,
        width: 'minmax(0, 1.2fr)',
        cell: ({ code }) => <code>{code}</code>,
        csv: ({ code }) => code,
      },
      {
        title: common.description,
        width: 'minmax(0, 2.5fr)',
        cell: ({ description }) => (
          <span className={css.line} title={description ?? undefined}>
            {description}
          </span>
        ),
        csv: ({ description }) => description,
        wide: true,
      },
      ...COUNTS.map(
        (count): Column<Counted> => ({
          title: words.counts[count],
          width: '5.6rem',
          cell: ({ counts }) => <span className={css.digits}>{formats.number(counts[count])}</span>,
          csv: ({ counts }) => counts[count],
          wide: true,
        }),
      ),
    ],
    [words, common, formats],
  );
}
