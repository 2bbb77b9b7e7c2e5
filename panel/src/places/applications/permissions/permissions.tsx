import { lazy, Suspense, useMemo, useState } from 'react';
import { Route, Switch } from 'wouter';
import { useList } from '../../../api/queries.ts';
import { Badge } from '../../../parts/badge.tsx';
import { Button } from '../../../parts/button.tsx';
import { SelectField } from '../../../parts/field.tsx';
import { useFilters } from '../../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../../parts/list.tsx';
import { Empty } from '../../../parts/page.tsx';
import { Loading } from '../../../parts/problem.tsx';
import { SearchField } from '../../../parts/search-field.tsx';
import { Toolbar } from '../../../parts/toolbar.tsx';
import { useAction } from '../../../shell/actions.ts';
import { mayWriteIn } from '../../../shell/panel-app.ts';
import { useRights } from '../../../shell/rights.ts';
import { useWords } from '../../../words/words.ts';
import css from '../applications.module.css';
import { rowsOf } from '../matrix/table.ts';
import type { ViewProps } from '../view-props.ts';
import own from './permissions.module.css';

const PermissionPage = lazy(() => import('./permission-page.tsx'));
const NewPermission = lazy(async () => ({ default: (await import('./permission-form.tsx')).NewPermission }));

/** What can be allowed in an application, and each of it. */
export default function Permissions(view: ViewProps) {
  const mayEdit = mayWriteIn(useRights(), view.appCode);
  const props = { ...view, mayEdit };
  return (
    <Switch>
      <Route path="/applications/:appCode/permissions/:code">
        {({ code }) => (
          <Suspense fallback={<Loading />}>
            <PermissionPage key={code} {...props} code={decodeURIComponent(code)} />
          </Suspense>
        )}
      </Route>
      <Route>
        <PermissionList {...props} />
      </Route>
    </Switch>
  );
}

function PermissionList({ appCode, mayEdit }: ViewProps) {
  const { applications, common } = useWords();
  const words = applications.permissions;
  const filters = useFilters({ q: '', type: '', new: '' });
  const { q, type } = filters.values;
  const all = useList('GET /api/applications/{appCode}/permissions', { path: { appCode } });
  const [making, setMaking] = useState(filters.values.new !== '');
  useAction(mayEdit ? words.new : null, () => setMaking(true));
  const items = useMemo(() => {
    const part = q.trim().toLowerCase();
    const fits = (text: string | null) => text?.toLowerCase().includes(part) === true;
    const left = all.items.filter(
      (one) => (type === '' || one.type === type) && (fits(one.code) || fits(one.groupName) || fits(one.description)),
    );
    return rowsOf(left).flatMap((row) => (row.kind === 'permission' ? [row] : []));
  }, [all.items, q, type]);
  type Row = (typeof items)[number];
  const columns = useMemo(
    (): readonly Column<Row>[] => [
      {
        title: common.code,
        width: 'minmax(0, 2fr)',
        cell: ({ permission, depth }) => (
          <span className={own.code} data-depth={Math.min(depth, 4)}>
            {permission.code} {permission.global && <Badge>{words.global}</Badge>}
          </span>
        ),
        csv: ({ permission }) => permission.code,
      },
      {
        title: words.type,
        width: '6.5rem',
        cell: ({ permission }) => <span className={css.soft}>{words.types[permission.type]}</span>,
        csv: ({ permission }) => permission.type,
      },
      {
        title: common.description,
        width: 'minmax(0, 3fr)',
        cell: ({ permission }) => permission.description,
        csv: ({ permission }) => permission.description,
        wide: true,
      },
    ],
    [common, words],
  );
  const base = `/applications/${encodeURIComponent(appCode)}/permissions`;
  const groups = new Set(items.map(({ permission }) => permission.groupName ?? ''));
  return (
    <div className={css.column}>
      <Toolbar>
        <SearchField label={words.search} value={q} onText={(text) => filters.set({ q: text })} />
        <SelectField
          bare
          label={words.type}
          value={type}
          options={[
            ['', words.allTypes],
            ...(['binary', 'tiered'] as const).map((one) => [one, words.types[one]] as const),
          ]}
          onText={(text) => filters.set({ type: text })}
        />
        <ExportButton
          name={`${appCode}-permissions`}
          items={items}
          columns={[
            ...columns,
            { title: words.group, cell: () => null, csv: ({ permission }) => permission.groupName },
          ]}
        />
        {mayEdit && (
          <Button kind="primary" onClick={() => setMaking(true)}>
            {words.new}
          </Button>
        )}
      </Toolbar>
      <List
        label={words.title}
        listed={{ ...all, items }}
        columns={columns}
        keyOf={({ permission }) => permission.id}
        href={({ permission }) => `${base}/${encodeURIComponent(permission.code)}`}
        empty={<Empty title={all.items.length === 0 ? words.empty : words.noMatch} />}
        {...(groups.size > 1 || !groups.has('')
          ? { groupOf: ({ permission }: Row) => permission.groupName ?? words.noGroup }
          : {})}
      />
      {making && (
        <Suspense fallback={null}>
          <NewPermission
            appCode={appCode}
            permissions={all.items}
            onClose={() => {
              setMaking(false);
              filters.set({ new: '' });
            }}
          />
        </Suspense>
      )}
    </div>
  );
}
