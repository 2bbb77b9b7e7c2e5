/** Where keys lead in the grid. Row and column 0 are the headings. */

export interface Place {
  readonly row: number;
  readonly column: number;
}

interface Size {
  /** With the row of headings. */
  readonly rows: number;
  /** With the column of headings. */
  readonly columns: number;
  /** Rows that one page shows. */
  readonly page: number;
  /** Whether a row is a heading of a group, where nobody stops. */
  readonly skips: (row: number) => boolean;
}

interface Key {
  readonly key: string;
  readonly control: boolean;
}

/** Null when the key does not move. */
export function moved({ row, column }: Place, { key, control }: Key, size: Size): Place | null {
  const lastRow = size.rows - 1;
  const lastColumn = size.columns - 1;
  switch (key) {
    case 'ArrowRight':
      return { row, column: control ? lastColumn : Math.min(column + 1, lastColumn) };
    case 'ArrowLeft':
      return { row, column: control ? Math.min(1, column) : Math.max(column - 1, 0) };
    case 'ArrowDown':
      return { row: stop(control ? lastRow : row + 1, 1, row, size), column };
    case 'ArrowUp':
      return { row: stop(control ? 1 : row - 1, control ? 1 : -1, row, size), column };
    case 'PageDown':
      return { row: stop(Math.min(row + size.page, lastRow), 1, row, size), column };
    case 'PageUp':
      return { row: stop(Math.max(row - size.page, 1), -1, row, size), column };
    case 'Home':
      return { row: control ? stop(1, 1, row, size) : row, column: 1 };
    case 'End':
      return { row: control ? stop(lastRow, -1, row, size) : row, column: lastColumn };
    default:
      return null;
  }
}

/** The nearest selectable row in a direction, else in the other direction, else the current row. */
function stop(wanted: number, step: 1 | -1, from: number, { rows, skips }: Size): number {
  for (const by of [step, -step]) {
    for (let row = wanted; row >= 0 && row < rows; row += by) {
      if (!skips(row)) return row;
    }
  }
  return from;
}

/** Which of equally large things are in sight, with some more on either side: the first, and the one after the last. */
export function inSight(
  scrolled: number,
  extent: number,
  size: number,
  count: number,
  more: number,
): readonly [first: number, end: number] {
  const first = Math.max(0, Math.floor(scrolled / size) - more);
  return [Math.min(first, count), Math.min(count, Math.ceil((scrolled + extent) / size) + more)];
}
