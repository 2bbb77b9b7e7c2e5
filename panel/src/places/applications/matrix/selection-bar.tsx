import { useWords } from '../../../words/words.ts';
import { drafted } from './draft.ts';
import { cellsIn, rangeOf, type Selection } from './grid.tsx';
import css from './matrix.module.css';
import type { CellLevel, MatrixRow, MatrixTable, RoleRecord } from './table.ts';
import { fitted } from './table.ts';
import type { Drafting } from './use-draft.ts';

interface SelectionBarProps {
  readonly table: MatrixTable;
  readonly rows: readonly MatrixRow[];
  readonly roles: readonly RoleRecord[];
  readonly selection: Selection;
  readonly drafting: Drafting;
}

const LEVELS: readonly (readonly [level: CellLevel, key: string])[] = [
  ['edit', 'E'],
  ['view', 'V'],
  ['allowed', 'A'],
  [null, 'Del'],
];

/** Says where one is, and sets what is selected by pointer or touch. */
export function SelectionBar({ table, rows, roles, selection, drafting }: SelectionBarProps) {
  const { common, applications } = useWords();
  const words = applications.matrix;
  const permissions = rows.map((row) => (row.kind === 'group' ? null : row.permission));
  const cells = cellsIn(rangeOf(selection), permissions, roles);
  const [only] = cells;
  const { changes } = drafting.draft;
  const levels = new Set(cells.map(({ role, permission }) => drafted(table, changes, role.id, permission.id)));
  const types = new Set(cells.map(({ permission }) => permission.type));
  const offered = LEVELS.filter(([level]) => [...types].some((type) => fitted(type, level) === level));
  const set = (level: CellLevel) =>
    drafting.set(cells.map(({ role, permission }) => ({ roleId: role.id, permissionId: permission.id, level })));
  return (
    <div className={css.selection}>
      <span className={css.where}>
        {only === undefined && words.headings}
        {cells.length === 1 && only !== undefined && (
          <>
            <code>{only.permission.code}</code> <span aria-hidden>×</span> <code>{only.role.code}</code>
          </>
        )}
        {cells.length > 1 && words.selected(cells.length)}
      </span>
      <span className={css.hint}>{words.keysHint}</span>
      <fieldset className={css.levels} aria-label={words.set} disabled={cells.length === 0}>
        {offered.map(([level, key]) => (
          <button
            key={key}
            type="button"
            aria-pressed={levels.size === 1 && levels.has(level)}
            onClick={() => set(level)}
          >
            {common.levels[level ?? 'none']} <kbd>{key}</kbd>
          </button>
        ))}
      </fieldset>
    </div>
  );
}
