import { useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import type { Item } from '../../../../src/gen/api.ts';
import { useList, useRead } from '../../api/queries.ts';
import { Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { SearchField } from '../../parts/search-field.tsx';
import { Toolbar } from '../../parts/toolbar.tsx';
import { useAction } from '../../shell/actions.ts';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { personPath } from './address.ts';
import { FindPerson } from './find-person.tsx';
import { filtersOf, LIST_FILTERS, ofApplication, queryOf, SORTS, VIEWS, viewOf } from './list-query.ts';
import css from './people.module.css';
import { StateBadges } from './state-badges.tsx';

type User = Item<'GET /api/users'>;

export default function PeopleList() {
  const { people: words, common } = useWords();
  const rights = useRights();
  const [, navigate] = useLocation();
  const filters = useFilters(LIST_FILTERS);
  const listed = useList('GET /api/users', { query: queryOf(filters.values) });
  const [adding, setAdding] = useState(false);
  const isAssigner =
    rights.isSuperAdmin || rights.status.applications.some(({ appCode }) => mayWriteIn(rights, appCode));
  useAction(isAssigner ? words.add : null, () => setAdding(true));
  const columns = useColumns();
  const filtered = Object.values(filters.values).some((value) => value !== '');
  return (
    <Page
      title={words.title}
      lead={words.lead}
      actions={
        isAssigner && (
          <Button kind="primary" onClick={() => setAdding(true)}>
            {words.add}
          </Button>
        )
      }
    >
      <Views view={viewOf(filters.values)} onView={(view) => filters.set(filtersOf(view))} />
      <Toolbar>
        <SearchField label={words.search} value={filters.values.q} onText={(q) => filters.set({ q })} />
        <ApplicationFilters values={filters.values} set={(changes) => filters.set(changes)} />
        <SelectField
          bare
          label={words.sort}
          value={filters.values.sort}
          options={[['', words.sorts.none], ...SORTS.map((sort) => [sort, words.sorts[sort]] as const)]}
          onText={(sort) => filters.set({ sort })}
        />
        <ExportButton name="people" items={listed.items} columns={columns} />
      </Toolbar>
      <List
        label={words.title}
        listed={listed}
        columns={columns}
        keyOf={({ id }) => id}
        href={({ email }) => personPath(email)}
        empty={<Empty title={filtered ? common.noMatch : words.nobody} />}
      />
      {adding && <FindPerson onClose={() => setAdding(false)} onFound={(email) => navigate(personPath(email))} />}
    </Page>
  );
}

function useColumns(): readonly Column<User>[] {
  const { people: words, common } = useWords();
  return [
    {
      title: common.email,
      width: 'minmax(0, 1.6fr)',
      cell: ({ email }) => email,
      csv: ({ email }) => email,
    },
    {
      title: common.personName,
      wide: true,
      cell: ({ displayName }) => <bdi>{displayName}</bdi>,
      csv: ({ displayName }) => displayName,
    },
    {
      title: common.status,
      width: 'minmax(0, 0.9fr)',
      cell: (user) => <StateBadges {...user} />,
      csv: ({ active, blocked, movedTo }) => {
        if (movedTo !== null) return words.states.movedWhy(movedTo);
        return active ? words.states.active : blocked ? words.states.blocked : words.states.inactive;
      },
    },
    {
      title: words.lastLogin,
      width: 'minmax(0, 0.7fr)',
      wide: true,
      cell: ({ lastLoginAt }) => <Time iso={lastLoginAt} />,
      csv: ({ lastLoginAt }) => lastLoginAt,
    },
    {
      title: words.since,
      width: 'minmax(0, 0.7fr)',
      wide: true,
      cell: ({ createdAt }) => <Time iso={createdAt} />,
      csv: ({ createdAt }) => createdAt,
    },
  ];
}

function Views({ view, onView }: { view: string; onView: (view: (typeof VIEWS)[number]) => void }) {
  const { people: words } = useWords();
  return (
    <fieldset className={css.views}>
      <legend className="visually-hidden">{words.show}</legend>
      {VIEWS.map((one) => (
        <button
          key={one}
          type="button"
          aria-pressed={one === view}
          title={words.viewsWhy[one]}
          onClick={() => onView(one)}
        >
          {words.views[one]}
        </button>
      ))}
    </fieldset>
  );
}

type Filters = ReturnType<typeof useFilters<keyof typeof LIST_FILTERS>>;

/** An application, and then who holds a role of it or to whom one of its permissions is allowed. */
function ApplicationFilters({ values, set }: Pick<Filters, 'values' | 'set'>) {
  const { people: words, common } = useWords();
  const { app, role, permission, ending } = values;
  const path = { appCode: app };
  const applications = useRead('GET /api/applications', {});
  const first = applications.data?.data[0]?.code;
  // What ends soon is asked of one application.
  useEffect(() => {
    if (ending !== '' && app === '' && first !== undefined) set({ app: first });
  }, [ending, app, first, set]);
  const roles = useRead('GET /api/applications/{appCode}/roles', { path }, { enabled: app !== '' });
  const permissions = useRead('GET /api/applications/{appCode}/permissions', { path }, { enabled: app !== '' });
  const codes = (listed: readonly { code: string }[] | undefined, chosen: string, none: string) => [
    ['', none] as const,
    ...[...new Set([...(listed ?? []).map(({ code }) => code), ...(chosen === '' ? [] : [chosen])])].map(
      (code) => [code, code] as const,
    ),
  ];
  return (
    <>
      <SelectField
        bare
        label={common.application}
        value={app}
        options={codes(applications.data?.data, app, words.anyApplication)}
        onText={(code) => set(ofApplication(code))}
      />
      {app !== '' && (
        <>
          <SelectField
            bare
            label={common.role}
            value={role}
            options={codes(roles.data?.data, role, words.anyRole)}
            onText={(code) => set({ role: code })}
          />
          <SelectField
            bare
            label={common.permission}
            value={permission}
            options={codes(permissions.data?.data, permission, words.anyPermission)}
            onText={(code) => set({ permission: code })}
          />
        </>
      )}
    </>
  );
}
