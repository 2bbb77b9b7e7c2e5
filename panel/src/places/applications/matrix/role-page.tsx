import { useState } from 'react';
import { Link } from 'wouter';
import { useList } from '../../../api/queries.ts';
import { Badge, Level, Time } from '../../../parts/badge.tsx';
import { Button, ButtonLink } from '../../../parts/button.tsx';
import { useFilters } from '../../../parts/filters.ts';
import { type Column, ExportButton, Growing, List } from '../../../parts/list.tsx';
import { Card, Empty } from '../../../parts/page.tsx';
import { SearchField } from '../../../parts/search-field.tsx';
import { Toolbar } from '../../../parts/toolbar.tsx';
import { windowOf } from '../../../parts/until.ts';
import { WindowBadge } from '../../../parts/window-badge.tsx';
import { useAction } from '../../../shell/actions.ts';
import { useWords } from '../../../words/words.ts';
import css from '../applications.module.css';
import { isSystemRole } from '../system-records.ts';
import type { ViewProps } from '../view-props.ts';
import { AddPeople, DeleteRole, EditRole, RemovePeople } from './role-dialogs.tsx';
import { levelAt, type MatrixAnswer, type RoleRecord, tableOf } from './table.ts';

interface RolePageProps extends ViewProps {
  readonly roleCode: string;
  readonly matrix: MatrixAnswer;
  /** Whether the person may change the role itself, beside who holds it. */
  readonly defines: boolean;
}

type Open = 'add' | 'remove' | 'edit' | 'delete' | null;

/** One role: what it gives, and who holds it. */
export default function RolePage({ appCode, mayEdit, roleCode, matrix, defines }: RolePageProps) {
  const { applications, common } = useWords();
  const words = applications.matrix;
  const [open, setOpen] = useState<Open>(null);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const role = matrix.roles.find(({ code }) => code === roleCode);
  const base = `/applications/${encodeURIComponent(appCode)}`;
  useAction(mayEdit ? words.addPeople : null, () => setOpen('add'));
  if (role === undefined) {
    return (
      <Empty title={words.gone}>
        <ButtonLink href={`${base}/matrix`}>{words.back}</ButtonLink>
      </Empty>
    );
  }
  const close = () => setOpen(null);
  const dialog = { appCode, role, onClose: close };
  return (
    <div className={css.column}>
      <nav aria-label={words.back}>
        <Link href={`${base}/matrix`}>← {words.back}</Link>
      </nav>
      <Card
        title={
          <>
            {role.name !== null && <span dir="auto">{role.name} </span>}
            <code>{role.code}</code>
          </>
        }
        actions={
          defines && (
            <span className={css.buttons}>
              <Button onClick={() => setOpen('edit')}>{common.edit}</Button>
              {!isSystemRole(appCode, role.code) && (
                <Button kind="danger" onClick={() => setOpen('delete')}>
                  {words.deleteRole}
                </Button>
              )}
            </span>
          )
        }
      >
        {role.description && <p dir="auto">{role.description}</p>}
        <p className={css.soft}>{common.people(role.holders)}</p>
      </Card>
      <div className={css.columns}>
        <Holders
          appCode={appCode}
          role={role}
          mayEdit={mayEdit}
          chosen={chosen}
          onChosen={setChosen}
          onAdd={() => setOpen('add')}
          onRemove={() => setOpen('remove')}
        />
        <Grants role={role} matrix={matrix} base={base} mayEdit={defines} />
      </div>
      {open === 'add' && <AddPeople {...dialog} />}
      {open === 'remove' && <RemovePeople {...dialog} emails={[...chosen]} onDone={() => setChosen(new Set())} />}
      {open === 'edit' && <EditRole {...dialog} />}
      {open === 'delete' && <DeleteRole {...dialog} />}
    </div>
  );
}

interface HoldersProps {
  readonly appCode: string;
  readonly role: RoleRecord;
  readonly mayEdit: boolean;
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (chosen: ReadonlySet<string>) => void;
  readonly onAdd: () => void;
  readonly onRemove: () => void;
}

function Holders({ appCode, role, mayEdit, chosen, onChosen, onAdd, onRemove }: HoldersProps) {
  const { applications, common } = useWords();
  const words = applications.matrix;
  const filters = useFilters({ q: '' });
  const { q } = filters.values;
  const listed = useList('GET /api/applications/{appCode}/roles/{roleId}/users', {
    path: { appCode, roleId: role.id },
    query: { q, limit: 100 },
  });
  type Holder = (typeof listed.items)[number];
  const columns: readonly Column<Holder>[] = [
    {
      title: common.email,
      width: 'minmax(0, 2fr)',
      cell: ({ email, displayName, active, registered, ...of }) => (
        <>
          {email} {displayName && <span className={css.soft}>{displayName}</span>}{' '}
          {!active && <Badge tone="warn">{words.inactive}</Badge>}
          {active && !registered && <Badge>{words.unregistered}</Badge>} <WindowBadge {...windowOf(of)} />
        </>
      ),
      csv: ({ email }) => email,
    },
    {
      title: words.since,
      cell: ({ assignedAt }) => <Time iso={assignedAt} />,
      csv: ({ assignedAt }) => assignedAt,
      wide: true,
    },
  ];
  const choose = (email: string | number, on: boolean): void => {
    const after = new Set(chosen);
    if (on) after.add(String(email));
    else after.delete(String(email));
    onChosen(after);
  };
  return (
    <Card title={words.holders} actions={mayEdit && <Button onClick={onAdd}>{words.addPeople}</Button>}>
      <Toolbar>
        <SearchField label={words.holdersSearch} value={q} onText={(text) => filters.set({ q: text })} />
        <ExportButton name={`${appCode}-${role.code}`} items={listed.items} columns={columns} />
        {mayEdit && listed.items.length > 1 && (
          <Button
            kind="quiet"
            onClick={() =>
              onChosen(new Set(chosen.size > 0 ? [] : listed.items.slice(0, 1_000).map(({ email }) => email)))
            }
          >
            {chosen.size > 0 ? words.chooseNone : words.chooseAll}
          </Button>
        )}
        {mayEdit && chosen.size > 0 && chosen.size <= 1_000 && (
          <Button kind="danger" onClick={onRemove}>
            {words.removePeople(chosen.size)}
          </Button>
        )}
      </Toolbar>
      <List
        label={words.holders}
        listed={listed}
        columns={columns}
        keyOf={({ email }) => email}
        href={({ email }) => `/people/${encodeURIComponent(email)}`}
        empty={<Empty title={q === '' ? words.noHolders : words.noHoldersMatch} />}
        {...(mayEdit ? { chosen, onChoose: choose } : {})}
      />
    </Card>
  );
}

function Grants({
  role,
  matrix,
  base,
  mayEdit,
}: {
  role: RoleRecord;
  matrix: MatrixAnswer;
  base: string;
  mayEdit: boolean;
}) {
  const words = useWords().applications.matrix;
  const table = tableOf(matrix);
  const held = matrix.permissions.flatMap(({ id, code, description }) => {
    const level = levelAt(table, role.id, id);
    return level === null ? [] : [{ code, description, level }];
  });
  return (
    <Card
      title={words.grants}
      actions={
        mayEdit && (
          <ButtonLink
            href={`${base}/matrix?roles=${encodeURIComponent(role.code)}&role=${encodeURIComponent(role.code)}`}
          >
            {words.editGrants}
          </ButtonLink>
        )
      }
    >
      {held.length === 0 ? (
        <p className={css.soft}>{words.grantsNothing}</p>
      ) : (
        <ul className={css.plain}>
          <Growing
            items={held}
            draw={({ code, description, level }) => (
              <li key={code}>
                <Link href={`${base}/permissions/${encodeURIComponent(code)}`} title={description ?? undefined}>
                  {code}
                </Link>
                <Level level={level} />
              </li>
            )}
          />
        </ul>
      )}
    </Card>
  );
}
