import { useMemo, useState, useSyncExternalStore } from 'react';
import { Button, ButtonLink } from '../../../parts/button.tsx';
import { useFilters } from '../../../parts/filters.ts';
import { Empty } from '../../../parts/page.tsx';
import { useAction } from '../../../shell/actions.ts';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import { ConflictNotice } from './conflict-notice.tsx';
import { drafted, EMPTY, inverseOf } from './draft.ts';
import { DraftBar } from './draft-bar.tsx';
import { MatrixGrid, type Selection } from './grid.tsx';
import css from './matrix.module.css';
import { MatrixToolbar } from './matrix-toolbar.tsx';
import { NewRole } from './new-role.tsx';
import { Proposal } from './proposal-dialog.tsx';
import { Review } from './review.tsx';
import { RoleSwitches } from './role-switches.tsx';
import { SelectionBar } from './selection-bar.tsx';
import { type MatrixAnswer, type MatrixRow, narrowed, type RoleRecord, rowsOf, tableOf } from './table.ts';
import { useDraft } from './use-draft.ts';

interface MatrixViewProps extends ViewProps {
  readonly matrix: MatrixAnswer;
  readonly etag: string | null;
  /** Reads the matrix again: somebody else has changed it. */
  readonly onLookAgain: () => void;
}

type Open = 'review' | 'proposal' | 'role' | null;

export function MatrixView({ appCode, application, mayEdit, matrix, etag, onLookAgain }: MatrixViewProps) {
  const { matrix: words } = useWords().applications;
  const table = useMemo(() => tableOf(matrix), [matrix]);
  const drafting = useDraft(appCode, table);
  const { changes } = drafting.draft;
  const filters = useFilters({ q: '', roles: '', compare: '', changed: '', role: '' });
  const { q, roles: wantedRoles, compare, changed } = filters.values;
  const [open, setOpen] = useState<Open>(null);
  const [stale, setStale] = useState(false);
  const narrow = useNarrow();
  const close = () => setOpen(null);
  useAction(mayEdit ? words.newRole : null, () => setOpen('role'));
  // Only these two look at the draft: without them a change of a cell leaves the rows and columns as they are.
  const seen = compare === '' && changed === '' ? EMPTY.changes : changes;
  const shown = useMemo(() => {
    const [one = '', two = ''] = compare.split(',');
    const at = (roleId: number, permissionId: number) => drafted(table, seen, roleId, permissionId);
    const left = narrowed(
      table,
      { permissions: q, roles: wantedRoles, compare: compare === '' ? null : [one, two], changed: changed !== '' },
      at,
      seen.values(),
    );
    return { roles: left.roles, rows: rowsOf(left.permissions) };
  }, [table, seen, q, wantedRoles, compare, changed]);
  const base = `/applications/${encodeURIComponent(appCode)}`;
  const empty = table.permissions.length === 0 || table.roles.length === 0;
  return (
    <div className={css.view}>
      <MatrixToolbar
        appCode={appCode}
        table={table}
        changes={changes}
        shown={shown}
        filters={filters}
        narrow={narrow}
        onNewRole={mayEdit ? () => setOpen('role') : null}
      />
      <ConflictNotice table={table} drafting={drafting} stale={stale} onSettled={() => setStale(false)} />
      {empty && (
        <Empty title={table.permissions.length === 0 ? words.noPermissions : words.noRoles}>
          {mayEdit && table.permissions.length === 0 && (
            <ButtonLink href={`${base}/permissions?new=1`}>{words.firstPermission}</ButtonLink>
          )}
        </Empty>
      )}
      {!empty && narrow && (
        <RoleSwitches table={table} rows={shown.rows} drafting={drafting} filters={filters} base={base} />
      )}
      {!empty && !narrow && (
        <Cells
          table={table}
          shown={shown}
          drafting={drafting}
          base={base}
          comparing={compare !== ''}
          onClear={() => filters.set({ q: '', roles: '', compare: '', changed: '' })}
        />
      )}
      <DraftBar
        drafting={drafting}
        mayEdit={mayEdit}
        onReview={() => setOpen('review')}
        onProposal={() => setOpen('proposal')}
      />
      {open === 'role' && <NewRole appCode={appCode} onClose={close} />}
      {open === 'proposal' && <Proposal application={application} table={table} changes={changes} onClose={close} />}
      {open === 'review' && (
        <Review
          appCode={appCode}
          table={table}
          changes={changes}
          inverse={inverseOf(changes.values())}
          etag={etag}
          onClose={close}
          onDone={() => {
            drafting.discard();
            setStale(false);
          }}
          onStale={() => {
            close();
            setStale(true);
            onLookAgain();
          }}
        />
      )}
    </div>
  );
}

interface CellsProps {
  readonly table: ReturnType<typeof tableOf>;
  readonly shown: { readonly rows: readonly MatrixRow[]; readonly roles: readonly RoleRecord[] };
  readonly drafting: ReturnType<typeof useDraft>;
  readonly base: string;
  readonly comparing: boolean;
  readonly onClear: () => void;
}

/** The grid, with what is done to its selection. */
function Cells({ table, shown: { rows, roles }, drafting, base, comparing, onClear }: CellsProps) {
  const { matrix: words } = useWords().applications;
  const [chosen, setChosen] = useState<Selection | null>(null);
  if (rows.length === 0 || roles.length === 0) {
    return (
      <Empty title={comparing && roles.length > 1 ? words.same : words.noMatch}>
        <Button onClick={onClear}>{words.clearFilters}</Button>
      </Empty>
    );
  }
  const selection = clamped(chosen, rows, roles.length);
  return (
    <>
      <SelectionBar table={table} rows={rows} roles={roles} selection={selection} drafting={drafting} />
      <MatrixGrid
        table={table}
        rows={rows}
        roles={roles}
        changes={drafting.draft.changes}
        selection={selection}
        onSelection={setChosen}
        onSet={drafting.set}
        onUndo={drafting.undo}
        base={base}
      />
    </>
  );
}

/** The selection within what the filters leave; at first the first cell. */
function clamped(chosen: Selection | null, rows: readonly MatrixRow[], columns: number): Selection {
  const first = rows.findIndex(({ kind }) => kind === 'permission') + 1;
  if (chosen === null) return { active: { row: first, column: 1 }, anchor: { row: first, column: 1 } };
  const within = ({ row, column }: Selection['active']) => ({
    row: row > rows.length || rows[row - 1]?.kind === 'group' ? first : row,
    column: Math.min(column, columns),
  });
  return { active: within(chosen.active), anchor: within(chosen.anchor) };
}

const NARROW = window.matchMedia('(max-width: 639px)');

/** Whether the window is too narrow for a grid of more than one column. */
function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      NARROW.addEventListener('change', changed);
      return () => NARROW.removeEventListener('change', changed);
    },
    () => NARROW.matches,
  );
}
