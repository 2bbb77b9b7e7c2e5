import { useState } from 'react';
import type { Item } from '../../../../../src/gen/api.ts';
import { useList, useRead } from '../../../api/queries.ts';
import { Badge, Time } from '../../../parts/badge.tsx';
import { Button } from '../../../parts/button.tsx';
import { EndFilter } from '../../../parts/end-filter.tsx';
import { SelectField } from '../../../parts/field.tsx';
import { useFilters } from '../../../parts/filters.ts';
import { type Column, ExportButton, List } from '../../../parts/list.tsx';
import { Empty } from '../../../parts/page.tsx';
import { SearchField } from '../../../parts/search-field.tsx';
import { Toolbar } from '../../../parts/toolbar.tsx';
import { WindowBadge } from '../../../parts/window-badge.tsx';
import { useAction } from '../../../shell/actions.ts';
import { useWords } from '../../../words/words.ts';
import { daysOf } from '../../people/list-query.ts';
import type { ViewProps } from '../view-props.ts';
import { AddPeople } from './add-people.tsx';
import { withKey } from './chosen.ts';
import css from './people.module.css';
import { PersonRoles } from './person-roles.tsx';
import { TakeRole } from './take-role.tsx';

type Person = Item<'GET /api/users'>;

/** Filters, and in `edit` whose roles are being changed. */
const FILTERS = { q: '', role: '', permission: '', ending: '', sort: '', edit: '' };

/** Everybody in the application: with a role, an override, a seat or a sign-in. */
export default function People({ appCode, application, mayEdit }: ViewProps) {
  const { applications, common } = useWords();
  const words = applications.people;
  const { values, set } = useFilters(FILTERS);
  const { q, role, permission, ending } = values;
  const sort = sortOf(values.sort);
  const wanted = role.split(',').filter((code) => code !== '');
  const roles = useRead('GET /api/applications/{appCode}/roles', { path: { appCode } });
  const permissions = useRead('GET /api/applications/{appCode}/permissions', { path: { appCode } });
  const listed = useList('GET /api/users', {
    query: { appCode, q, role, permission, endingWithinDays: daysOf(ending), sort },
  });
  const [chosen, setChosen] = useState<ReadonlySet<string | number>>(new Set());
  const [adding, setAdding] = useState<readonly string[] | null>(null);
  const [taking, setTaking] = useState(false);
  useAction(mayEdit ? words.add : null, () => setAdding([]));
  const emails = [...chosen].map(String);
  const taken = roles.data?.data.find(({ code }) => wanted.length === 1 && code === wanted[0]);
  const columns = columnsOf(useWords(), mayEdit ? (email) => set({ edit: email }) : null);
  return (
    <>
      <Toolbar>
        <SearchField label={words.search} value={q} onText={(text) => set({ q: text })} />
        <RoleFilter
          codes={(roles.data?.data ?? []).map(({ code }) => code)}
          chosen={wanted}
          onChosen={(codes) => set({ role: codes.join(',') })}
        />
        <SelectField
          bare
          label={common.permission}
          value={permission}
          options={[
            ['', words.anyPermission],
            ...(permissions.data?.data ?? []).map(({ code }) => [code, code] as const),
          ]}
          onText={(text) => set({ permission: text })}
        />
        <EndFilter value={ending} onText={(text) => set({ ending: text })} />
        <SelectField
          bare
          label={words.sort}
          value={values.sort}
          options={Object.entries(words.sorts)}
          onText={(text) => set({ sort: text })}
        />
        <ExportButton name={`${appCode}-people`} items={listed.items} columns={columns} />
        {mayEdit && (
          <Button kind="primary" onClick={() => setAdding([])}>
            {words.add}
          </Button>
        )}
      </Toolbar>
      {emails.length > 0 && (
        <div className={css.chosen} role="status">
          <span>{words.chosen(emails.length)}</span>
          <Button onClick={() => setAdding(emails)}>{words.give}</Button>
          {taken !== undefined && <Button onClick={() => setTaking(true)}>{words.take(taken.code)}</Button>}
          <Button kind="quiet" onClick={() => setChosen(new Set())}>
            {common.clear}
          </Button>
        </div>
      )}
      <List
        label={words.title}
        listed={listed}
        columns={columns}
        keyOf={({ email }) => email}
        href={({ email }) => `/people/${encodeURIComponent(email)}`}
        empty={<Empty title={q + role + permission + ending === '' ? words.empty : common.noMatch} />}
        {...(mayEdit ? { chosen, onChoose: (key, on) => setChosen(withKey(chosen, key, on)) } : {})}
      />
      {adding !== null && (
        <AddPeople
          application={application}
          roles={roles.data?.data ?? []}
          emails={adding}
          onClose={() => setAdding(null)}
          onDone={() => setChosen(new Set())}
        />
      )}
      {taking && taken !== undefined && (
        <TakeRole
          appCode={appCode}
          role={taken}
          emails={emails}
          onClose={() => setTaking(false)}
          onDone={() => setChosen(new Set())}
        />
      )}
      {mayEdit && values.edit !== '' && (
        <PersonRoles
          key={values.edit}
          appCode={appCode}
          email={values.edit}
          roles={roles.data?.data ?? []}
          onClose={() => set({ edit: '' })}
        />
      )}
    </>
  );
}

/** Roles that stand in a row; the others are counted. */
const CHIPS = 3;

interface RoleFilterProps {
  readonly codes: readonly string[];
  readonly chosen: readonly string[];
  readonly onChosen: (codes: readonly string[]) => void;
}

/** Holders of a role, or of any of several: each that is chosen is taken away by a press. */
function RoleFilter({ codes, chosen, onChosen }: RoleFilterProps) {
  const { applications, common } = useWords();
  const words = applications.people;
  const left = codes.filter((code) => !chosen.includes(code));
  return (
    <span className={css.filter}>
      <SelectField
        bare
        label={common.role}
        value=""
        options={[
          ['', chosen.length === 0 ? words.anyRole : words.orRole],
          ...left.map((code) => [code, code] as const),
        ]}
        onText={(code) => code !== '' && onChosen([...chosen, code])}
      />
      {chosen.map((code) => (
        <Button
          key={code}
          aria-label={words.without(code)}
          onClick={() => onChosen(chosen.filter((one) => one !== code))}
        >
          {code} ×
        </Button>
      ))}
    </span>
  );
}

function columnsOf(
  { applications: { people: words }, common }: ReturnType<typeof useWords>,
  onEdit: ((email: string) => void) | null,
): readonly Column<Person>[] {
  return [
    { title: common.email, cell: ({ email }) => email, csv: ({ email }) => email },
    {
      title: common.personName,
      cell: ({ displayName }) => <bdi>{displayName}</bdi>,
      csv: ({ displayName }) => displayName,
      wide: true,
    },
    {
      title: common.status,
      cell: (person) => <State person={person} />,
      csv: ({ active, blocked }) => (blocked ? 'blocked' : active ? 'active' : 'inactive'),
      width: '10rem',
      wide: true,
    },
    {
      title: words.lastSignIn,
      cell: ({ lastLoginAt }) => <Time iso={lastLoginAt} />,
      csv: ({ lastLoginAt }) => lastLoginAt,
      width: '9rem',
      wide: true,
    },
    {
      title: words.roles,
      cell: ({ email, roles = [], roleWindows = [] }) => (
        <span className={css.held}>
          {roles.slice(0, CHIPS).map((code) => (
            <Badge key={code} title={code}>
              {code}
            </Badge>
          ))}
          {roleWindows.slice(0, CHIPS).map(({ code, ...window }) => (
            <span key={code} className={css.window}>
              {code} <WindowBadge {...window} />
            </span>
          ))}
          {roles.length > CHIPS && <Badge title={roles.slice(CHIPS).join(', ')}>+{roles.length - CHIPS}</Badge>}
          {onEdit !== null && (
            <Button kind="quiet" aria-label={words.editOf(email)} onClick={() => onEdit(email)}>
              {words.edit}
            </Button>
          )}
        </span>
      ),
      csv: ({ roles = [] }) => roles.join(' '),
      width: 'minmax(6rem, 1.4fr)',
    },
  ];
}

function State({ person: { active, blocked, registered } }: { person: Person }) {
  const { people: words } = useWords().applications;
  if (blocked) return <Badge tone="bad">{words.blocked}</Badge>;
  if (!active) return <Badge tone="warn">{words.inactive}</Badge>;
  return registered ? <span className={css.soft}>{words.active}</span> : <Badge>{words.expected}</Badge>;
}

/** An address may say anything; the service takes three orders. */
function sortOf(text: string): 'email' | 'createdAt' | 'lastLoginAt' | undefined {
  return text === 'email' || text === 'createdAt' || text === 'lastLoginAt' ? text : undefined;
}
