import { useInfiniteQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { call } from '../../../api/call.ts';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { Badge, Level, Time } from '../../../parts/badge.tsx';
import { Button, ButtonLink } from '../../../parts/button.tsx';
import { SelectField } from '../../../parts/field.tsx';
import { useFilters } from '../../../parts/filters.ts';
import { ImpactReview } from '../../../parts/impact.tsx';
import { type Column, ExportButton, Growing, List } from '../../../parts/list.tsx';
import { Card, Empty, Facts } from '../../../parts/page.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { Toolbar } from '../../../parts/toolbar.tsx';
import { useWords } from '../../../words/words.ts';
import css from '../applications.module.css';
import { levelAt, type MatrixTable, type PermissionRecord, tableOf } from '../matrix/table.ts';
import { isSystemPermission } from '../system-records.ts';
import type { ViewProps } from '../view-props.ts';

const EditPermission = lazy(async () => ({ default: (await import('./permission-form.tsx')).EditPermission }));

/** One permission: which roles give it, and who holds it. */
export default function PermissionPage({ appCode, mayEdit, code }: ViewProps & { code: string }) {
  const words = useWords().applications.permissions;
  const matrix = useRead('GET /api/applications/{appCode}/matrix', { path: { appCode } });
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null);
  const base = `/applications/${encodeURIComponent(appCode)}`;
  if (matrix.data === undefined) {
    if (matrix.isPending) return <Loading />;
    return <Problem error={asError(matrix.error)} onRetry={() => void matrix.refetch()} />;
  }
  const table = tableOf(matrix.data.data);
  const permission = table.permissions.find((one) => one.code === code);
  if (permission === undefined) {
    return (
      <Empty title={words.gone}>
        <ButtonLink href={`${base}/permissions`}>{words.back}</ButtonLink>
      </Empty>
    );
  }
  const close = () => setOpen(null);
  return (
    <div className={css.column}>
      <nav aria-label={words.back}>
        <Link href={`${base}/permissions`}>← {words.back}</Link>
      </nav>
      <About
        appCode={appCode}
        base={base}
        permission={permission}
        table={table}
        actions={mayEdit ? <Actions appCode={appCode} code={code} onOpen={setOpen} /> : null}
      />
      <div className={css.columns}>
        <Subjects appCode={appCode} permission={permission} />
        <Roles base={base} permission={permission} table={table} />
      </div>
      {open === 'edit' && (
        <Suspense fallback={null}>
          <EditPermission appCode={appCode} permission={permission} permissions={table.permissions} onClose={close} />
        </Suspense>
      )}
      {open === 'delete' && <DeletePermission appCode={appCode} permission={permission} onClose={close} />}
    </div>
  );
}

function Actions({
  appCode,
  code,
  onOpen,
}: {
  appCode: string;
  code: string;
  onOpen: (open: 'edit' | 'delete') => void;
}) {
  const { applications, common } = useWords();
  return (
    <span className={css.buttons}>
      <Button onClick={() => onOpen('edit')}>{common.edit}</Button>
      {!isSystemPermission(appCode, code) && (
        <Button kind="danger" onClick={() => onOpen('delete')}>
          {applications.permissions.delete}
        </Button>
      )}
    </span>
  );
}

interface AboutProps {
  readonly appCode: string;
  readonly base: string;
  readonly permission: PermissionRecord;
  readonly table: MatrixTable;
  readonly actions: ReactNode;
}

function About({ appCode, base, permission, table, actions }: AboutProps) {
  const { applications } = useWords();
  const words = applications.permissions;
  const { id, code, type, global, groupName, parentPermissionId, description, createdAt, updatedAt } = permission;
  const parent = parentPermissionId === null ? undefined : table.permissionOf.get(parentPermissionId);
  const children = table.permissions.filter((one) => one.parentPermissionId === id);
  const link = (one: PermissionRecord) => (
    <Link key={one.id} href={`${base}/permissions/${encodeURIComponent(one.code)}`}>
      {one.code}
    </Link>
  );
  const facts: (readonly [string, ReactNode])[] = [
    [words.type, `${words.types[type]}: ${words.typeHints[type]}`],
    ...(global ? [[words.globalLabel, words.globalHint] as const] : []),
    [words.group, groupName ?? words.noGroup],
    ...(parent === undefined ? [] : [[words.parent, link(parent)] as const]),
    ...(children.length === 0
      ? []
      : [
          [
            words.children,
            <span key="children" className={css.buttons}>
              {children.slice(0, 50).map(link)}
            </span>,
          ] as const,
        ]),
    [words.created, <Time key="created" iso={createdAt} />],
    [words.changed, <Time key="changed" iso={updatedAt} />],
  ];
  return (
    <Card
      title={
        <>
          <code>{code}</code> {global && <Badge>{words.global}</Badge>}
        </>
      }
      actions={actions}
    >
      {description && <p dir="auto">{description}</p>}
      <Facts facts={facts} />
      <span className={css.buttons}>
        <ButtonLink href={`/ask?app=${encodeURIComponent(appCode)}&permission=${encodeURIComponent(code)}`}>
          {words.ask}
        </ButtonLink>
        <ButtonLink href={`/ask/who?app=${encodeURIComponent(appCode)}&permission=${encodeURIComponent(code)}`}>
          {words.whoCan}
        </ButtonLink>
        <ButtonLink href={`${base}/matrix?q=${encodeURIComponent(code)}`}>{words.matrix}</ButtonLink>
      </span>
    </Card>
  );
}

function Roles({ base, permission, table }: { base: string; permission: PermissionRecord; table: MatrixTable }) {
  const { applications, common } = useWords();
  const words = applications.permissions;
  const given = table.roles.flatMap((role) => {
    const level = levelAt(table, role.id, permission.id);
    return level === null ? [] : [{ ...role, level }];
  });
  return (
    <Card title={words.roles}>
      {given.length === 0 ? (
        <p className={css.soft}>{words.noRoles}</p>
      ) : (
        <ul className={css.plain}>
          <Growing
            items={given}
            draw={({ id, code, holders, level }) => (
              <li key={id}>
                <span>
                  <Link href={`${base}/matrix/${encodeURIComponent(code)}`}>{code}</Link>{' '}
                  <span className={css.soft}>{common.people(holders)}</span>
                </span>
                <Level level={level} />
              </li>
            )}
          />
        </ul>
      )}
    </Card>
  );
}

const SUBJECTS = 'POST /api/applications/{appCode}/subjects';

function Subjects({ appCode, permission }: { appCode: string; permission: PermissionRecord }) {
  const { applications, common } = useWords();
  const words = applications.permissions;
  const filters = useFilters({ level: '' });
  const level = permission.type === 'tiered' && filters.values.level === 'edit' ? ('edit' as const) : undefined;
  const input = {
    path: { appCode },
    body: { permission: permission.code, limit: 100, ...(level === undefined ? {} : { accessLevel: level }) },
  };
  const query = useInfiniteQuery({
    queryKey: [SUBJECTS, input, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      call(SUBJECTS, { ...input, body: { ...input.body, cursor: pageParam } }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
  const items = (query.data?.pages ?? []).flatMap(({ data }) => data.subjects);
  type Subject = (typeof items)[number];
  const columns: readonly Column<Subject>[] = [
    { title: common.email, width: 'minmax(0, 2fr)', cell: ({ email }) => email, csv: ({ email }) => email },
    {
      title: common.level,
      width: '6rem',
      cell: ({ accessLevel }) => <Level level={accessLevel} />,
      csv: ({ accessLevel }) => accessLevel,
    },
    {
      title: words.source,
      cell: ({ source }) => <span className={css.soft}>{common.sources[source]}</span>,
      csv: ({ source }) => source,
      wide: true,
    },
  ];
  return (
    <Card title={words.subjects}>
      <p className={css.soft}>{words.subjectsLead}</p>
      <Toolbar>
        {permission.type === 'tiered' ? (
          <SelectField
            bare
            label={words.level}
            value={filters.values.level}
            options={[
              ['', words.anyLevel],
              ['edit', common.levels.edit],
            ]}
            onText={(text) => filters.set({ level: text })}
          />
        ) : (
          <span />
        )}
        <ExportButton name={`${appCode}-${permission.code}`} items={items} columns={columns} />
      </Toolbar>
      <List
        label={words.subjects}
        listed={{ items, query }}
        columns={columns}
        keyOf={({ email }) => email}
        href={({ email }) => `/people/${encodeURIComponent(email)}`}
        empty={<Empty title={words.noSubjects} />}
      />
    </Card>
  );
}

function DeletePermission({
  appCode,
  permission: { id, code },
  onClose,
}: {
  appCode: string;
  permission: PermissionRecord;
  onClose: () => void;
}) {
  const words = useWords().applications.permissions;
  const [, navigate] = useLocation();
  return (
    <ImpactReview
      title={words.deleteTitle(code)}
      operation="DELETE /api/applications/{appCode}/permissions/{permissionId}"
      input={{ path: { appCode, permissionId: String(id) } }}
      summary={<p>{words.deleteHint}</p>}
      confirm={words.delete}
      danger
      done={words.deleted(code)}
      refreshes={[
        'GET /api/applications/{appCode}/permissions',
        'GET /api/applications/{appCode}/matrix',
        'GET /api/applications',
        '/api/users',
      ]}
      onClose={onClose}
      onDone={() => navigate(`/applications/${encodeURIComponent(appCode)}/permissions`)}
    />
  );
}
