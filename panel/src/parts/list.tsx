import { Fragment, type KeyboardEvent, memo, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { type Cell, saveCsv } from '../api/csv.ts';
import { asError } from '../api/error.ts';
import type { Listed } from '../api/queries.ts';
import { useKey } from '../shell/keys.ts';
import { useWords } from '../words/words.ts';
import { Button } from './button.tsx';
import css from './list.module.css';
import { Empty } from './page.tsx';
import { Loading, Problem } from './problem.tsx';

export interface Column<T> {
  readonly title: string;
  readonly cell: (item: T) => ReactNode;
  /** A track of CSS grid, `minmax(0, 1fr)` by default. */
  readonly width?: string;
  /** What a spreadsheet gets; without it the column is not exported. */
  readonly csv?: (item: T) => Cell;
  /** Left out on narrow windows. */
  readonly wide?: boolean;
}

interface ListProps<T> {
  readonly label: string;
  readonly listed: Listed<T>;
  readonly columns: readonly Column<T>[];
  readonly keyOf: (item: T) => string | number;
  /** Where a row leads. */
  readonly href?: (item: T) => string | null;
  readonly empty?: ReactNode;
  /** Items are listed by groups: the heading above the first item of each. */
  readonly groupOf?: (item: T) => string;
  /** Rows that are chosen, by key, for a command on many. */
  readonly chosen?: ReadonlySet<string | number>;
  readonly onChoose?: (key: string | number, chosen: boolean) => void;
}

/**
 * A list of any length: a page at a time as it is scrolled, rows out of sight cost no layout. `j` and `k` or the arrows move,
 * Enter opens.
 */
export function List<T>({ label, listed, columns, keyOf, href, empty, groupOf, chosen, onChoose }: ListProps<T>) {
  const { common } = useWords();
  const { items, query } = listed;
  const body = useRef<HTMLDivElement>(null);
  const { shown, end } = useGrowing<HTMLDivElement>(items.length);
  const choosing = chosen !== undefined && onChoose !== undefined;
  const tracks = [...(choosing ? ['2rem'] : []), ...columns.map(({ width }) => width ?? 'minmax(0, 1fr)')].join(' ');
  const narrow = [
    ...(choosing ? ['2rem'] : []),
    ...columns.filter(({ wide }) => wide !== true).map(({ width }) => width ?? 'minmax(0, 1fr)'),
  ];
  const step = (by: 1 | -1) => focusRow(body.current, by);
  useKey('j', () => step(1));
  useKey('k', () => step(-1));
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : null;
    if (by === null || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    step(by);
  };
  if (query.isPending) return <Loading rows={6} />;
  if (query.isError && items.length === 0)
    return <Problem error={asError(query.error)} onRetry={() => void query.refetch()} />;
  if (items.length === 0 && !query.hasNextPage) return empty ?? <Empty title={common.empty} />;
  return (
    <div className={css.frame} aria-busy={query.isFetching}>
      <div
        role="table"
        aria-label={label}
        aria-rowcount={query.hasNextPage ? -1 : items.length + 1}
        className={css.table}
        ref={(element) => {
          element?.style.setProperty('--tracks', tracks);
          element?.style.setProperty('--tracks-narrow', narrow.join(' '));
        }}
      >
        <div role="rowgroup">
          <div role="row" className={`${css.row} ${css.head}`}>
            {choosing && (
              <span role="columnheader">
                <span className="visually-hidden">{common.actions}</span>
              </span>
            )}
            {columns.map(({ title, wide }) => (
              <span key={title} role="columnheader" className={wide ? css.wide : ''}>
                {title}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" ref={body} onKeyDown={onKeyDown}>
          {items.slice(0, shown).map((item, at) => (
            <Fragment key={keyOf(item)}>
              <Heading group={groupOf?.(item)} before={at === 0 ? undefined : groupOf?.(items[at - 1] as T)} />
              <Row item={item} at={at} columns={columns} href={href?.(item) ?? null}>
                {choosing && (
                  <span role="cell" className={css.choose}>
                    <input
                      type="checkbox"
                      aria-label={String(keyOf(item))}
                      checked={chosen.has(keyOf(item))}
                      onChange={(event) => onChoose(keyOf(item), event.target.checked)}
                    />
                  </span>
                )}
              </Row>
            </Fragment>
          ))}
        </div>
      </div>
      {shown < items.length ? (
        <div ref={end} className={css.more}>
          {common.rows(items.length)}
        </div>
      ) : (
        <More listed={listed} />
      )}
    </div>
  );
}

/** Rows drawn at first: more than a window shows. */
const FIRST_SLICE = 50;
/** Rows added each time the end of the drawn ones comes near. */
const SLICE = 150;

/** How many of `total` items to draw. `end` is for an element after the last of them. */
function useGrowing<E extends HTMLElement>(total: number): { shown: number; end: RefObject<E | null> } {
  const [limit, setLimit] = useState(FIRST_SLICE);
  const end = useRef<E>(null);
  const shown = Math.min(limit, total);
  useEffect(() => {
    if (shown >= total || end.current === null) return undefined;
    const near = new IntersectionObserver(([entry]) => entry?.isIntersecting && setLimit(shown + SLICE), {
      rootMargin: '2000px',
    });
    near.observe(end.current);
    return () => near.disconnect();
  }, [shown, total]);
  return { shown, end };
}

/** Items of a list element, drawn as they are scrolled to. `draw` gives each an `li` with a key. */
export function Growing<T>({ items, draw }: { items: readonly T[]; draw: (item: T) => ReactNode }) {
  const { shown, end } = useGrowing<HTMLLIElement>(items.length);
  return (
    <>
      {items.slice(0, shown).map(draw)}
      {shown < items.length && <li ref={end} aria-hidden className={css.end} />}
    </>
  );
}

function Heading({ group, before }: { group: string | undefined; before: string | undefined }) {
  if (group === undefined || group === before) return null;
  return (
    <div role="row" className={`${css.row} ${css.group}`}>
      <span role="rowheader">{group}</span>
    </div>
  );
}

interface RowProps<T> {
  readonly item: T;
  /** From 0. */
  readonly at: number;
  readonly columns: readonly Column<T>[];
  readonly href: string | null;
  readonly children: ReactNode;
}

/** Drawn anew only when it changes: a list that grows keeps its rows. */
const Row = memo(PlainRow) as typeof PlainRow;

function PlainRow<T>({ item, at, columns, href, children }: RowProps<T>) {
  return (
    <div role="row" aria-rowindex={at + 2} className={`${css.row} ${href === null ? '' : css.linked}`}>
      {children}
      {columns.map(({ title, cell, wide }, column) => (
        <span key={title} role="cell" className={`${css.cell} ${wide ? css.wide : ''}`}>
          {column === 0 && href !== null ? (
            <Link href={href} className={css.link}>
              {cell(item)}
            </Link>
          ) : (
            cell(item)
          )}
        </span>
      ))}
    </div>
  );
}

/** Asks for the next page shortly before its end is scrolled into sight. */
export function More({ listed: { query, items } }: { listed: Listed<unknown> }) {
  const { common, problem } = useWords();
  const end = useRef<HTMLDivElement>(null);
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const wanted = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a short page may leave the end in sight, so each one looks again
  useEffect(() => {
    if (!wanted || end.current === null) return undefined;
    const seen = new IntersectionObserver(([entry]) => entry?.isIntersecting && void fetchNextPage(), {
      rootMargin: '1200px',
    });
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [wanted, items.length, fetchNextPage]);
  return (
    <div ref={end} className={css.more}>
      {isFetchNextPageError && (
        <Button onClick={() => void fetchNextPage()}>
          {problem.title}: {common.retry}
        </Button>
      )}
      {isFetchingNextPage && common.loading}
      {!hasNextPage && common.rows(items.length)}
      {hasNextPage && !isFetchingNextPage && !isFetchNextPageError && (
        <Button kind="quiet" onClick={() => void fetchNextPage()}>
          {common.more}
        </Button>
      )}
    </div>
  );
}

function focusRow(body: HTMLElement | null, by: 1 | -1): void {
  const links = [...(body?.querySelectorAll<HTMLElement>(`.${css.row} a, .${css.row} button`) ?? [])].filter(
    (link, at, all) => link.closest('[role=row]') !== all[at - 1]?.closest('[role=row]'),
  );
  const row = document.activeElement?.closest('[role=row]');
  const at = links.findIndex((link) => link.closest('[role=row]') === row);
  links[at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by]?.focus();
}

/** Saves what is listed so far. */
export function ExportButton<T>({
  name,
  items,
  columns,
}: {
  name: string;
  items: readonly T[];
  columns: readonly Column<T>[];
}) {
  const { common } = useWords();
  const exported = columns.filter(({ csv }) => csv !== undefined);
  const rows = () => [
    exported.map(({ title }) => title),
    ...items.map((item) => exported.map(({ csv }) => csv?.(item))),
  ];
  return (
    <Button
      kind="quiet"
      disabled={items.length === 0 && common.missing.rows}
      onClick={() => saveCsv(`${name}.csv`, rows())}
    >
      {common.export}
    </Button>
  );
}
