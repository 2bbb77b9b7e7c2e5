import { memo } from 'react';
import { Link } from 'wouter';
import type { Text } from '../../../words/places.ts';
import { type CellChange, type Changes, keyOf } from './draft.ts';
import css from './grid.module.css';
import {
  type CellLevel,
  levelAt,
  type MatrixRow,
  type MatrixTable,
  type PermissionRecord,
  type RoleRecord,
} from './table.ts';

/** Pixels. Rows and columns are equally large, so that what is in sight is known without measuring. */
export const ROW = 34;
export const HEAD = 56;
export const COLUMN = 116;

/** Of one row; null where nothing in it is active or selected, so that moving elsewhere does not draw it anew. */
export interface RowState {
  readonly activeColumn: number | null;
  readonly selected: readonly [first: number, last: number] | null;
}

interface GridRowProps extends RowState {
  readonly row: MatrixRow;
  /** From 1. */
  readonly at: number;
  readonly roles: readonly RoleRecord[];
  readonly first: number;
  readonly end: number;
  readonly heading: number;
  readonly table: MatrixTable;
  readonly changes: Changes;
  readonly base: string;
  readonly words: Text;
}

export const GridRow = memo(function GridRow(props: GridRowProps) {
  const { row, at, words, heading } = props;
  const style = { top: (at - 1) * ROW, height: ROW };
  if (row.kind === 'group') {
    return (
      <div role="row" aria-rowindex={at + 1} className={`${css.row} ${css.group}`} style={style}>
        <div
          role="rowheader"
          className={css.groupHead}
          style={{ width: heading }}
          aria-colspan={props.roles.length + 1}
        >
          <bdi title={row.name ?? undefined}>{row.name ?? words.applications.matrix.otherPermissions}</bdi>
          <span>{row.size}</span>
        </div>
      </div>
    );
  }
  return <PermissionRow {...props} permission={row.permission} depth={row.depth} />;
});

function PermissionRow({
  permission,
  depth,
  at,
  roles,
  first,
  end,
  heading,
  table,
  changes,
  activeColumn,
  selected,
  base,
  words,
}: GridRowProps & { permission: PermissionRecord; depth: number }) {
  const style = { top: (at - 1) * ROW, height: ROW };
  const { code, description } = permission;
  return (
    <div role="row" aria-rowindex={at + 1} className={css.row} style={style}>
      <div
        role="rowheader"
        aria-colindex={1}
        className={css.rowHead}
        style={{ width: heading, paddingLeft: 12 + Math.min(depth, 6) * 14 }}
      >
        <Link
          href={`${base}/permissions/${encodeURIComponent(code)}`}
          data-place={`${at}:0`}
          tabIndex={activeColumn === 0 ? 0 : -1}
          title={description === null ? code : `${code}\n${description}`}
        >
          {code}
        </Link>
        {permission.global && <span className={css.global}>{words.applications.permissions.global}</span>}
      </div>
      {columnsShown(first, end, activeColumn, roles.length).map((column) => {
        const role = roles[column - 1];
        return role === undefined ? null : (
          <Cell
            key={role.id}
            permission={permission}
            role={role}
            at={at}
            column={column}
            left={heading + (column - 1) * COLUMN}
            now={levelAt(table, role.id, permission.id)}
            change={changes.get(keyOf(role.id, permission.id))}
            active={activeColumn === column}
            selected={selected !== null && column >= selected[0] && column <= selected[1]}
            words={words}
          />
        );
      })}
    </div>
  );
}

interface CellProps {
  readonly permission: PermissionRecord;
  readonly role: RoleRecord;
  readonly at: number;
  readonly column: number;
  readonly left: number;
  readonly now: CellLevel;
  readonly change: CellChange | undefined;
  readonly active: boolean;
  readonly selected: boolean;
  readonly words: Text;
}

/** Drawn anew only when something of it changes: a key concerns one or two of the hundreds in sight. */
const Cell = memo(function Cell({
  permission,
  role,
  at,
  column,
  left,
  now,
  change,
  active,
  selected,
  words,
}: CellProps) {
  const { matrix } = words.applications;
  const level = change === undefined ? now : change.to;
  const conflict = change !== undefined && now !== change.from;
  const said = [
    matrix.cell(permission.code, role.code, levelText(level, words)),
    ...(change === undefined ? [] : [matrix.was(levelText(change.from, words))]),
    ...(conflict ? [matrix.theirs(levelText(now, words))] : []),
  ].join(', ');
  const classes = [css.cell, selected ? css.selected : '', change ? css.changed : '', conflict ? css.conflict : ''];
  return (
    <div
      role="gridcell"
      aria-colindex={column + 1}
      aria-label={said}
      aria-selected={selected}
      data-place={`${at}:${column}`}
      tabIndex={active ? 0 : -1}
      className={classes.filter(Boolean).join(' ')}
      style={{ left, width: COLUMN }}
    >
      {change === undefined && level === null && shortText(level, words)}
      {change === undefined && level !== null && <LevelMark level={level} words={words} />}
      {change !== undefined && (
        <>
          {/* Written by the style sheet: the cell's name says it in words. */}
          <span className={css.was} data-was={shortText(conflict ? now : change.from, words)} />
          <ins>
            <LevelMark level={level} words={words} />
          </ins>
        </>
      )}
    </div>
  );
});

function LevelMark({ level, words }: { level: CellLevel; words: Text }) {
  return <span className={`${css.level} ${css[level ?? 'none']}`}>{shortText(level, words)}</span>;
}

function shortText(level: CellLevel, words: Text): string {
  return level === null ? words.applications.matrix.nothing : words.common.levels[level];
}

export function levelText(level: CellLevel, { common }: Text): string {
  return common.levels[level ?? 'none'];
}

/** The columns in sight, and the active one wherever it is: it holds the focus. */
export function columnsShown(first: number, end: number, active: number | null, count: number): number[] {
  const columns: number[] = [];
  const last = Math.min(end, count);
  for (let column = first + 1; column <= last; column += 1) columns.push(column);
  if (active !== null && active > 0 && active <= count && (active <= first || active > last)) columns.push(active);
  return columns;
}
