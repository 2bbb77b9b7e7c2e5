import {
  type ClipboardEvent,
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type RefObject,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Link } from 'wouter';
import { isSecondOfPair } from '../../../shell/keys.ts';
import { useWords } from '../../../words/words.ts';
import { pasted, type Range, tsvOf } from './clipboard.ts';
import { type Changes, drafted, type WantedCell } from './draft.ts';
import css from './grid.module.css';
import { COLUMN, columnsShown, GridRow, HEAD, ROW, type RowState } from './grid-row.tsx';
import { inSight, moved, type Place } from './movement.ts';
import {
  type CellLevel,
  type MatrixRow,
  type MatrixTable,
  nextLevel,
  type PermissionRecord,
  type RoleRecord,
} from './table.ts';

interface GridProps {
  readonly table: MatrixTable;
  readonly rows: readonly MatrixRow[];
  readonly roles: readonly RoleRecord[];
  readonly changes: Changes;
  readonly selection: Selection;
  readonly onSelection: (selection: Selection) => void;
  readonly onSet: (cells: readonly WantedCell[]) => void;
  readonly onUndo: () => void;
  /** The address of the application. */
  readonly base: string;
}

/** The active cell, and the other corner of what is selected. Row and column 0 are the headings. */
export interface Selection {
  readonly active: Place;
  readonly anchor: Place;
}

interface View {
  readonly top: number;
  readonly left: number;
  readonly width: number;
  readonly height: number;
}

const LEVEL_KEYS: Readonly<Record<string, CellLevel>> = {
  e: 'edit',
  v: 'view',
  a: 'allowed',
  Delete: null,
  Backspace: null,
};
const NOTHING: RowState = { activeColumn: null, selected: null };

/** An ARIA grid that draws only what is in sight: a table of 50,000 cells is laid out anew by every change otherwise. */
export function MatrixGrid(props: GridProps) {
  const { table, rows, roles, changes, selection, base } = props;
  const words = useWords();
  const { matrix } = words.applications;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, read] = useView(scroller);
  const heading = view.width < 760 ? 180 : 280;
  const { active } = selection;
  const handlers = useHandlers(props, scroller, heading, read);
  const [firstRow, endRow] = inSight(view.top, view.height, ROW, rows.length, 6);
  const [firstColumn, endColumn] = inSight(view.left, view.width - heading, COLUMN, roles.length, 2);
  const shown = rowsShown(firstRow, endRow, active.row, rows.length);
  const range = rangeOf(selection);
  const width = heading + roles.length * COLUMN;
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={matrix.label}
      aria-multiselectable
      aria-rowcount={rows.length + 1}
      aria-colcount={roles.length + 1}
      className={css.scroller}
      onScroll={read}
      {...handlers}
    >
      <div role="rowgroup" className={css.head} style={{ width, height: HEAD }}>
        <div role="row" aria-rowindex={1} className={css.body} style={{ height: HEAD }}>
          <div role="columnheader" aria-colindex={1} className={css.corner} style={{ width: heading }}>
            {matrix.permissionCount(rows.filter(({ kind }) => kind === 'permission').length)}
          </div>
          {columnsShown(firstColumn, endColumn, active.row === 0 ? active.column : null, roles.length).map((column) => {
            const role = roles[column - 1];
            return role === undefined ? null : (
              <div
                key={role.id}
                role="columnheader"
                aria-colindex={column + 1}
                className={css.column}
                style={{ left: heading + (column - 1) * COLUMN, width: COLUMN }}
              >
                <Link
                  href={`${base}/matrix/${encodeURIComponent(role.code)}`}
                  data-place={`0:${column}`}
                  tabIndex={active.row === 0 && active.column === column ? 0 : -1}
                  title={[role.name, role.code, role.description].filter(Boolean).join('\n')}
                >
                  {role.name ?? role.code}
                </Link>
                <span className={css.holders}>{words.common.people(role.holders)}</span>
              </div>
            );
          })}
        </div>
      </div>
      <div role="rowgroup" className={css.body} style={{ width, height: rows.length * ROW }}>
        {shown.map((at) => {
          const row = rows[at - 1];
          return row === undefined ? null : (
            <GridRow
              key={row.kind === 'group' ? `group ${row.name}` : row.permission.id}
              row={row}
              at={at}
              roles={roles}
              first={firstColumn}
              end={endColumn}
              heading={heading}
              table={table}
              changes={changes}
              base={base}
              words={words}
              {...(row.kind === 'group' ? NOTHING : stateOf(at, active, range))}
            />
          );
        })}
      </div>
    </div>
  );
}

/** What of the grid is in sight. */
function useView(scroller: RefObject<HTMLDivElement | null>): readonly [View, () => void] {
  const [view, setView] = useState<View>({ top: 0, left: 0, width: 1_000, height: 600 });
  const read = useCallback(() => {
    const element = scroller.current;
    if (element === null) return;
    const { scrollTop: top, scrollLeft: left, clientWidth: width, clientHeight: height } = element;
    setView((before) =>
      before.top === top && before.left === left && before.width === width && before.height === height
        ? before
        : { top, left, width, height },
    );
  }, [scroller]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    read();
    const resized = new ResizeObserver(read);
    resized.observe(element);
    return () => resized.disconnect();
  }, [read, scroller]);
  return [view, read];
}

function useHandlers(
  { table, rows, roles, changes, selection, onSelection, onSet, onUndo }: GridProps,
  scroller: RefObject<HTMLDivElement | null>,
  heading: number,
  read: () => void,
) {
  const wantsFocus = useRef(false);
  const pressed = useRef(false);
  const { active, anchor } = selection;
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    elementAt(scroller.current, active)?.focus({ preventScroll: true });
  });
  const permissions = useMemo(() => rows.map((row) => (row.kind === 'group' ? null : row.permission)), [rows]);
  const cells = (): PlacedCell[] => cellsIn(rangeOf(selection), permissions, roles);
  const set = (levelOf: (cell: PlacedCell) => CellLevel): void =>
    onSet(cells().map((cell) => ({ roleId: cell.role.id, permissionId: cell.permission.id, level: levelOf(cell) })));
  const cycle = (): void => {
    const [one] = cells();
    if (one === undefined) return;
    // All of a selection take the level that comes after its first cell's.
    const next = nextLevel(one.permission.type, drafted(table, changes, one.role.id, one.permission.id));
    set(() => next);
  };
  const go = (to: Place, extend: boolean): void => {
    wantsFocus.current = true;
    reveal(scroller.current, to, heading);
    read();
    onSelection({ active: to, anchor: extend ? anchor : to });
  };
  const copied = (): string => {
    const {
      rows: [top, bottom],
      columns: [left, right],
    } = rangeOf(selection);
    const lines = permissions.slice(top, bottom + 1).filter((permission) => permission !== null);
    return tsvOf(
      lines.map(({ id }) => roles.slice(left, right + 1).map((role) => drafted(table, changes, role.id, id))),
    );
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const control = event.ctrlKey || event.metaKey;
    if (event.altKey || isSecondOfPair(event)) return;
    const page = Math.max(1, Math.floor(((scroller.current?.clientHeight ?? 0) - HEAD) / ROW) - 1);
    const skips = (row: number): boolean => row > 0 && permissions[row - 1] === null;
    const size = { rows: rows.length + 1, columns: roles.length + 1, page, skips };
    const to = moved(active, { key: event.key, control }, size);
    if (to !== null) {
      event.preventDefault();
      go(to, event.shiftKey);
    } else if (event.key === 'Escape' && (anchor.row !== active.row || anchor.column !== active.column)) {
      event.preventDefault();
      onSelection({ active, anchor: active });
    } else if (control && event.key.toLowerCase() === 'z') {
      event.preventDefault();
      onUndo();
    } else if (!control && active.row > 0 && active.column > 0) {
      const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
      const level = LEVEL_KEYS[key];
      if (key !== ' ' && level === undefined) return;
      event.preventDefault();
      if (level === undefined) cycle();
      else set(() => level);
    }
  };
  return {
    onKeyDown,
    onFocus: (event: FocusEvent): void => {
      const place = placeOf(event.target);
      if (place !== null && (place.row !== active.row || place.column !== active.column) && !pressed.current) {
        onSelection({ active: place, anchor: place });
      }
    },
    onMouseDown: (event: MouseEvent): void => {
      const place = placeOf(event.target);
      if (place === null || event.button !== 0) return;
      const again = place.row === active.row && place.column === active.column;
      const focused = again && document.activeElement === elementAt(scroller.current, place);
      if (event.shiftKey) event.preventDefault();
      if (focused && !event.shiftKey && place.row > 0 && place.column > 0) {
        cycle();
        return;
      }
      pressed.current = true;
      wantsFocus.current = true;
      onSelection({ active: place, anchor: event.shiftKey ? anchor : place });
      setTimeout(() => {
        pressed.current = false;
      });
    },
    onCopy: (event: ClipboardEvent): void => {
      if (active.row === 0 || active.column === 0) return;
      event.preventDefault();
      event.clipboardData.setData('text/plain', copied());
    },
    onCut: (event: ClipboardEvent): void => {
      if (active.row === 0 || active.column === 0) return;
      event.preventDefault();
      event.clipboardData.setData('text/plain', copied());
      set(() => null);
    },
    onPaste: (event: ClipboardEvent): void => {
      if (active.row === 0 || active.column === 0) return;
      event.preventDefault();
      onSet(pasted(event.clipboardData.getData('text/plain'), rangeOf(selection), permissions, roles));
    },
  };
}

interface PlacedCell {
  readonly permission: PermissionRecord;
  readonly role: RoleRecord;
}

/** The cells of a range; headings hold none. */
export function cellsIn(
  { rows: [top, bottom], columns: [left, right] }: Range,
  permissions: readonly (PermissionRecord | null)[],
  roles: readonly RoleRecord[],
): PlacedCell[] {
  const lines = permissions.slice(Math.max(0, top), bottom + 1).filter((permission) => permission !== null);
  const columns = roles.slice(Math.max(0, left), right + 1);
  return lines.flatMap((permission) => columns.map((role) => ({ permission, role })));
}

/** From 0, without the headings. */
export function rangeOf({ active, anchor }: Selection): Range {
  const order = (a: number, b: number): readonly [number, number] => (a < b ? [a - 1, b - 1] : [b - 1, a - 1]);
  return { rows: order(active.row, anchor.row), columns: order(active.column, anchor.column) };
}

function stateOf(at: number, active: Place, { rows: [top, bottom], columns }: Range): RowState {
  const within = at - 1 >= top && at - 1 <= bottom;
  if (at !== active.row && !within) return NOTHING;
  return {
    activeColumn: at === active.row ? active.column : null,
    selected: within ? [columns[0] + 1, columns[1] + 1] : null,
  };
}

function rowsShown(first: number, end: number, active: number, count: number): number[] {
  const rows: number[] = [];
  for (let row = first + 1; row <= Math.min(end, count); row += 1) rows.push(row);
  if (active > 0 && active <= count && (active <= first || active > end)) rows.push(active);
  return rows;
}

/** Scrolls so far that a cell is beside the headings and not below them. */
function reveal(element: HTMLDivElement | null, { row, column }: Place, heading: number): void {
  if (element === null) return;
  if (row > 0) {
    const top = (row - 1) * ROW;
    const bottom = HEAD + row * ROW - element.clientHeight;
    element.scrollTop = Math.min(top, Math.max(bottom, element.scrollTop));
  }
  if (column > 0) {
    const left = (column - 1) * COLUMN;
    const right = heading + column * COLUMN - element.clientWidth;
    element.scrollLeft = Math.min(left, Math.max(right, element.scrollLeft));
  }
}

function elementAt(element: HTMLElement | null, { row, column }: Place): HTMLElement | null {
  return element?.querySelector<HTMLElement>(`[data-place="${row}:${column}"]`) ?? null;
}

function placeOf(target: EventTarget): Place | null {
  const place = target instanceof Element ? target.closest<HTMLElement>('[data-place]')?.dataset.place : undefined;
  if (place === undefined) return null;
  const [row = 0, column = 0] = place.split(':').map(Number);
  return { row, column };
}
