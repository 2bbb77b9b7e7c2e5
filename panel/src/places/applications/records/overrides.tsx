import { useState } from 'react';
import { Link } from 'wouter';
import type { Item } from '../../../../../src/gen/api.ts';
import { undoBound } from '../../../api/bound.ts';
import { type CallOptions, call } from '../../../api/call.ts';
import { isStale } from '../../../api/error.ts';
import { useList, useRead } from '../../../api/queries.ts';
import { Badge, Level, Time } from '../../../parts/badge.tsx';
import { Button } from '../../../parts/button.tsx';
import { EndFilter } from '../../../parts/end-filter.tsx';
import { SelectField } from '../../../parts/field.tsx';
import { useFilters } from '../../../parts/filters.ts';
import { ImpactReview } from '../../../parts/impact.tsx';
import { type Column, ExportButton, List } from '../../../parts/list.tsx';
import { Empty } from '../../../parts/page.tsx';
import { SearchField } from '../../../parts/search-field.tsx';
import { Toolbar } from '../../../parts/toolbar.tsx';
import { windowOf } from '../../../parts/until.ts';
import { WindowBadge } from '../../../parts/window-badge.tsx';
import { useAction } from '../../../shell/actions.ts';
import { useWords } from '../../../words/words.ts';
import { askPath } from '../../people/address.ts';
import { daysOf } from '../../people/list-query.ts';
import { withKey } from '../people/chosen.ts';
import type { ViewProps } from '../view-props.ts';
import { choiceOf, isAddress, permissionsOf } from './choices.ts';
import { OverrideEditor } from './override-editor.tsx';
import css from './records.module.css';

type Override = Item<'GET /api/applications/{appCode}/overrides'>;

/** Filters; and the person, the record and the wish of the override that is being edited. */
const FILTERS = {
  email: '',
  type: '',
  id: '',
  permission: '',
  ending: '',
  edit: '',
  of: '',
  rt: '',
  rid: '',
  want: '',
};
/** The service deletes so many at once. */
const LIMIT = 1000;

interface OverridesProps extends ViewProps {
  /** Only those of one record. */
  readonly record?: { readonly type: string; readonly id: string };
}

/** The overrides of everybody, to filter, make, change and delete. */
export function Overrides({ appCode, mayEdit, record }: OverridesProps) {
  const { applications, common, problem } = useWords();
  const words = applications.records;
  const { values, set } = useFilters(FILTERS);
  const path = { appCode };
  const entities = useRead('GET /api/applications/{appCode}/entities', { path });
  const permissions = useRead('GET /api/applications/{appCode}/permissions', { path });
  const { type, id } = record ?? values;
  const { email, permission, ending } = values;
  // The service compares whole addresses; the beginning of one narrows what is listed so far.
  const whole = isAddress(email);
  const query = {
    resourceType: type,
    resourceId: type === '' ? '' : id,
    email: whole ? email.trim() : '',
    permission,
    endingWithinDays: daysOf(ending),
  };
  const all = useList('GET /api/applications/{appCode}/overrides', { path, query });
  const typed = email.trim().toLowerCase();
  const listed = whole ? all : { ...all, items: all.items.filter((item) => item.email.includes(typed)) };
  const [chosen, setChosen] = useState<ReadonlySet<string | number>>(new Set());
  const [deleting, setDeleting] = useState(false);
  const open = (of = '', at = record ?? { type: '', id: '' }) => set({ edit: '1', of, rt: at.type, rid: at.id });
  useAction(mayEdit ? words.add : null, () => open());
  const picked = listed.items.filter((item) => chosen.has(keyOf(item)));
  const columns = columnsOf(
    useWords(),
    appCode,
    record === undefined,
    mayEdit ? (item) => open(item.email, { type: item.resourceType, id: item.resourceId }) : null,
  );
  return (
    <>
      <Toolbar>
        <SearchField label={words.person} value={email} onText={(text) => set({ email: text })} />
        {record === undefined && (
          <SelectField
            bare
            label={words.type}
            value={type}
            options={[['', words.anyType], ...typesOf(entities.data?.data ?? [], type)]}
            onText={(text) => set({ type: text, ...(text === '' ? { id: '' } : {}) })}
          />
        )}
        {record === undefined && type !== '' && (
          <SearchField label={words.recordId} value={id} onText={(text) => set({ id: text })} />
        )}
        <SelectField
          bare
          label={common.permission}
          value={permission}
          options={[
            ['', words.anyPermission],
            ...(permissions.data?.data ?? []).filter((of) => !of.global).map(({ code }) => [code, code] as const),
          ]}
          onText={(text) => set({ permission: text })}
        />
        <EndFilter value={ending} onText={(text) => set({ ending: text })} />
        <ExportButton name={`${appCode}-overrides`} items={listed.items} columns={columns} />
        {mayEdit && (
          <Button kind="primary" onClick={() => open()}>
            {words.add}
          </Button>
        )}
      </Toolbar>
      {picked.length > 0 && (
        <div className={css.chosen} role="status">
          <span>{words.chosen(picked.length)}</span>
          <Button
            kind="danger"
            disabled={picked.length > LIMIT && words.tooMany(LIMIT)}
            onClick={() => setDeleting(true)}
          >
            {words.deleteChosen}
          </Button>
          <Button kind="quiet" onClick={() => setChosen(new Set())}>
            {common.clear}
          </Button>
          {picked.length > LIMIT && <span>{words.tooMany(LIMIT)}</span>}
        </div>
      )}
      <List
        label={words.overrides}
        listed={listed}
        columns={columns}
        keyOf={keyOf}
        empty={<Empty title={email + type + permission + ending === '' ? words.overridesEmpty : common.noMatch} />}
        {...(mayEdit ? { chosen, onChoose: (key, on) => setChosen(withKey(chosen, key, on)) } : {})}
      />
      {deleting && (
        <ImpactReview
          title={words.deleteTitle(picked.length)}
          operation="POST /api/applications/{appCode}/overrides/delete"
          input={{ path, body: { overrides: picked.map(placeOf) } }}
          danger
          confirm={common.remove}
          done={words.deleted(picked.length)}
          undo={(bound) => restore(appCode, picked, bound, problem.undoStalePartly)}
          onClose={() => setDeleting(false)}
          onDone={() => setChosen(new Set())}
        />
      )}
      {mayEdit && values.edit !== '' && (
        <OverrideEditor
          appCode={appCode}
          entities={entities.data?.data ?? []}
          permissions={permissions.data?.data ?? []}
          at={{ email: values.of, type: values.rt, id: values.rid }}
          wish={values.want}
          onAt={(at) => set({ of: at.email, rt: at.type, rid: at.id })}
          onClose={() => set({ edit: '', of: '', rt: '', rid: '', want: '' })}
        />
      )}
    </>
  );
}

function columnsOf(
  { applications: { records: words }, common }: ReturnType<typeof useWords>,
  appCode: string,
  withRecord: boolean,
  onEdit: ((item: Override) => void) | null,
): readonly Column<Override>[] {
  const base = `/applications/${encodeURIComponent(appCode)}/records/of`;
  const recordLink = ({ resourceType, resourceId }: Pick<Override, 'resourceType' | 'resourceId'>) => (
    <Link href={`${base}/${encodeURIComponent(resourceType)}/${encodeURIComponent(resourceId)}`}>
      {resourceType}:{resourceId}
    </Link>
  );
  const askLink = (item: Override) => (
    <Link href={askPath({ app: appCode, ...placeOf(item) })} aria-label={words.askAbout(keyOf(item))}>
      {words.askOne}
    </Link>
  );
  return [
    {
      title: words.person,
      cell: ({ email, permission, ...of }) => (
        <>
          <Link href={`/people/${encodeURIComponent(email)}`}>{email}</Link>
          <span className={css.below}>
            {withRecord && recordLink(of)} <code>{permission}</code> {askLink({ email, permission, ...of })}{' '}
            <WindowBadge {...windowOf(of)} />
          </span>
        </>
      ),
      csv: ({ email }) => email,
    },
    ...(withRecord
      ? [
          {
            title: common.record,
            cell: recordLink,
            wide: true,
            csv: ({ resourceType, resourceId }: Override) => `${resourceType}:${resourceId}`,
          },
        ]
      : []),
    {
      title: common.permission,
      cell: ({ permission }) => <code>{permission}</code>,
      csv: ({ permission }) => permission,
      wide: true,
    },
    {
      title: words.decision,
      cell: ({ granted, accessLevel }) =>
        granted ? <Level level={accessLevel} /> : <Badge tone="bad">{words.denied}</Badge>,
      csv: choiceOf,
      width: '6.5rem',
    },
    {
      title: words.given,
      cell: ({ createdAt }) => <Time iso={createdAt} />,
      csv: ({ createdAt }) => createdAt,
      width: '9.5rem',
      wide: true,
    },
    {
      title: common.window.end,
      cell: (item) => <WindowBadge {...windowOf(item)} />,
      csv: ({ endsAt }) => endsAt,
      width: '11rem',
      wide: true,
    },
    {
      title: common.actions,
      cell: (item: Override) => (
        <>
          {onEdit !== null && (
            <Button kind="quiet" aria-label={`${common.edit} ${keyOf(item)}`} onClick={() => onEdit(item)}>
              {common.edit}
            </Button>
          )}{' '}
          {askLink(item)}
        </>
      ),
      width: '8rem',
      wide: true,
    },
  ];
}

function keyOf({ email, permission, resourceType, resourceId }: Override): string {
  return `${email} ${permission} ${resourceType}:${resourceId}`;
}

function placeOf({ email, resourceType, resourceId, permission }: Override) {
  return { email, resourceType, resourceId, permission };
}

function typesOf(
  entities: readonly { code: string; name: string }[],
  chosen: string,
): readonly (readonly [string, string])[] {
  const known = entities.map(({ code, name }) => [code, name] as const);
  return chosen === '' || known.some(([code]) => code === chosen) ? known : [...known, [chosen, chosen]];
}

/** Gives deleted overrides back, record by record. */
async function restore(
  appCode: string,
  deleted: readonly Override[],
  bound: CallOptions,
  partly: string,
): Promise<void> {
  // Of one person the next is bound to what the one before left; people do not concern each other.
  const bounds = new Map<string, CallOptions>();
  const stale: unknown[] = [];

  const places = Map.groupBy(deleted, ({ email, resourceType, resourceId }) =>
    JSON.stringify([email, resourceType, resourceId]),
  );
  for (const [place, overrides] of places) {
    const [email, resourceType, resourceId] = JSON.parse(place) as [string, string, string];
    const path = { email, appCode, resourceType, resourceId };
    const operation = '/api/users/{email}/apps/{appCode}/resources/{resourceType}/{resourceId}/permissions';
    const { data, etag } = await call(`GET ${operation}`, { path });
    const kept = Object.fromEntries(data.permissions.map((override) => [override.code, choiceOf(override)]));
    const back = Object.fromEntries(overrides.map((override) => [override.permission, choiceOf(override)]));
    const windows = Object.fromEntries(overrides.map((override) => [override.permission, windowOf(override)]));
    const body = { permissions: permissionsOf({ ...back, ...kept }, without(windows, Object.keys(kept))) };
    const options = bounds.get(email) ?? bound;
    try {
      const answer = await call(`PUT ${operation}`, { path, body }, { ...options, ifMatch: etag ?? undefined });
      bounds.set(email, { ...options, ...undoBound(answer) });
    } catch (error) {
      if (!isStale(error)) throw error;
      stale.push(error);
    }
  }
  if (stale.length > 0) throw stale.length === places.size ? stale[0] : new Error(partly);
}

function without<T>(record: Readonly<Record<string, T>>, names: readonly string[]): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}
