/** Ranges of cells as text for the clipboard: a line a row, a tab between cells, as spreadsheets write and read it. */

import type { WantedCell } from './draft.ts';
import type { CellLevel, PermissionRecord, RoleRecord } from './table.ts';

const NAMES: Readonly<Record<string, CellLevel>> = {
  edit: 'edit',
  e: 'edit',
  view: 'view',
  v: 'view',
  allowed: 'allowed',
  a: 'allowed',
  '': null,
  '·': null,
  '-': null,
  none: null,
  null: null,
};

export function tsvOf(rows: readonly (readonly CellLevel[])[]): string {
  return rows.map((row) => row.map((level) => level ?? '').join('\t')).join('\n');
}

/** Undefined where a cell holds no level: such a cell is left alone. */
export function levelsOfTsv(text: string): (CellLevel | undefined)[][] {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/);
  return lines.map((line) => line.split('\t').map((cell) => NAMES[cell.trim().toLowerCase()]));
}

export interface Range {
  readonly rows: readonly [first: number, last: number];
  readonly columns: readonly [first: number, last: number];
}

/**
 * The cells that pasting sets. One copied cell fills the whole range; a larger copy begins at the range's corner. What would lie
 * outside the table is left out.
 */
export function pasted(
  text: string,
  range: Range,
  permissions: readonly (PermissionRecord | null)[],
  roles: readonly RoleRecord[],
): WantedCell[] {
  const copied = levelsOfTsv(text);
  const [first] = copied;
  const single = copied.length === 1 && first?.length === 1;
  const [top, bottom] = range.rows;
  const [left, right] = range.columns;
  const cells: WantedCell[] = [];
  const set = (row: number, column: number, level: CellLevel | undefined): void => {
    const permission = permissions[row];
    const role = roles[column];
    if (permission == null || role === undefined || level === undefined) return;
    cells.push({ roleId: role.id, permissionId: permission.id, level });
  };
  if (single) {
    for (let row = top; row <= bottom; row += 1) {
      for (let column = left; column <= right; column += 1) set(row, column, first?.[0]);
    }
    return cells;
  }
  // Headings of groups lie between the rows and hold no cells.
  let row = top;
  for (const line of copied) {
    while (permissions[row] === null) row += 1;
    for (const [at, level] of line.entries()) set(row, left + at, level);
    row += 1;
  }
  return cells;
}
