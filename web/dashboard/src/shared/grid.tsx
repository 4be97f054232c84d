// A list of any number of rows, of which only the visible rows exist in the DOM. Arrow keys move the selection, Enter opens the
// row.
//
// On a phone, a row has two lines of cells and an explanatory text, so the list does not scroll sideways. Rows of a short list
// are as high as their text, and the page scrolls.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { go } from './route';
import { useNarrow } from './narrow';
import { useSize } from './size';

const ROW = 30; // height of a row and of the header; the CSS has the same number
const NARROW_ROW = { plain: 54, long: 84 }; // `plain` rows have two lines; `long` rows have four
const MANY = 1000;
const FLOWING = 300; // up to this number of rows, rows on a phone are as high as their text
const SPARE = 3; // number of rows kept beyond each edge

export interface Column<Row> {
  title: string;
  width: string; // column width in a CSS grid
  right?: boolean;
  narrow?: 'hide' | 'long'; // on a phone: hidden, or below the other columns
  sort?: string; // the server's name for the column, if rows can be sorted by it
  largest?: boolean; // whether the first click sorts in descending order
  says?(row: Row): string; // content; if it is empty for all rows, the column is hidden
  cell(row: Row): ComponentChildren;
}

export interface Sorting {
  by: string;
  descending: boolean;
  sort(by: string, descending: boolean): void;
}

export interface GridProps<Row> {
  id: string; // ID of the panel whose title labels the list
  testid?: string; // different name for tests
  columns: readonly Column<Row>[];
  rows: ArrayLike<Row>;
  name(row: Row): string;
  kind?(row: Row): string;
  data?(row: Row): Record<`data-${string}`, string>;
  href?(row: Row): string; // address that Enter or a click opens
  open?(row: Row): string; // called by Enter only; a click selects the row
  chosen: string | null;
  choose(name: string | null): void;
  seen?(rows: Row[]): void; // called with the visible rows
  sorting?: Sorting;
  old?: boolean; // whether the rows answer an earlier request
  least?: number; // minimum width in px; a narrower list scrolls sideways, except on a phone
  empty: ComponentChildren;
}

export function Grid<Row>(props: GridProps<Row>) {
  const { id, columns, rows, name, chosen, choose, sorting } = props;
  const box = useRef<HTMLDivElement>(null);
  const { height } = useSize(box);
  const narrow = useNarrow();
  const top = useSignal(0);
  const shown = narrow ? narrowed(columns) : columns.filter((column) => rows.length === 0 || speaks(column, rows));
  const row = !narrow ? ROW : shown.some((column) => column.narrow === 'long' && speaks(column, rows)) ? NARROW_ROW.long : NARROW_ROW.plain;
  const flows = narrow && rows.length <= FLOWING;
  const first = flows ? 0 : Math.max(0, Math.floor(top.value / row) - SPARE);
  const last = flows ? rows.length : Math.min(rows.length, Math.ceil((top.value + Math.max(height, row)) / row) + SPARE);
  const at = chosen === null ? -1 : placeOf(rows, (other) => name(other) === chosen);
  const mounted = Array.from({ length: Math.max(0, last - first) }, (_, n) => first + n);
  const visible = mounted.map((n) => rows[n]!);
  // aria-activedescendant must refer to an existing element.
  if (at >= 0 && (at < first || at >= last)) mounted.push(at);
  const template = narrow ? undefined : { gridTemplateColumns: shown.map((column) => column.width).join(' ') };
  const least = narrow || !props.least ? undefined : { minWidth: `${props.least}px` };

  useEffect(() => {
    const timer = setTimeout(() => props.seen?.(visible), 200);
    return () => clearTimeout(timer);
  }, [visible.map(name).join()]);
  useEffect(() => {
    if (at >= 0 && flows) document.getElementById(`${id}-row-${at}`)?.scrollIntoView({ block: 'nearest' });
    else if (at >= 0) reveal(box.current!, at, row, narrow ? 0 : ROW);
  }, [chosen]);

  const onKey = (event: KeyboardEvent) => {
    if (event.target !== box.current) return; // a link or a button in the row
    const page = Math.max(1, Math.floor(height / row) - 2);
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 };
    if (event.key === 'Escape') choose(null);
    const lead = props.href ?? props.open;
    if (event.key === 'Enter' && at >= 0 && lead) go(lead(rows[at]!));
    const step = steps[event.key];
    if (step === undefined || rows.length === 0) return;
    event.preventDefault();
    choose(name(rows[Math.max(0, Math.min(rows.length - 1, step))]!));
  };

  return (
    <div
      ref={box}
      class={`grid${narrow ? ' is-narrow' : ''}${flows ? ' is-flowing' : ''}${props.old ? ' is-old' : ''}`}
      role="grid"
      tabIndex={0}
      aria-labelledby={`${id}-title`}
      aria-rowcount={rows.length + 1}
      aria-colcount={shown.length}
      aria-busy={props.old}
      aria-activedescendant={at >= 0 ? `${id}-row-${at}` : undefined}
      data-testid={`${props.testid ?? id}-list`}
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      onKeyDown={onKey}
    >
      <div role="rowgroup" class={narrow ? 'unseen' : 'grid-head'} style={least}>
        <div role="row" class="grid-row" aria-rowindex={1} style={template}>
          {shown.map((column) => (
            <Head key={column.title} column={column} sorting={narrow ? undefined : sorting} />
          ))}
        </div>
      </div>
      {rows.length === 0 ? (
        <div role="rowgroup">
          <div role="row">
            <div role="gridcell" class="calm">
              {props.empty}
            </div>
          </div>
        </div>
      ) : (
        <div role="rowgroup" class="grid-body" style={flows ? {} : { height: `${rows.length * row}px`, ...least }}>
          {mounted.map((n) => (
            <Line
              key={name(rows[n]!)}
              {...props}
              columns={shown}
              row={rows[n]!}
              n={n}
              selected={n === at}
              style={flows ? {} : { ...template, height: `${row}px`, transform: `translateY(${n * row}px)` }}
            />
          ))}
        </div>
      )}
    </div>
  );
}

function Head<Row>({ column, sorting }: { column: Column<Row>; sorting: Sorting | undefined }) {
  if (!sorting || !column.sort)
    return (
      <span role="columnheader" class={column.right ? 'right' : ''}>
        {column.title}
      </span>
    );
  const { sort: by } = column;
  const mine = sorting.by === by;
  return (
    <span role="columnheader" class={column.right ? 'right' : ''} aria-sort={!mine ? 'none' : sorting.descending ? 'descending' : 'ascending'}>
      <button type="button" class="plain" data-testid={`sort-${by}`} onClick={() => sorting.sort(by, mine ? !sorting.descending : column.largest === true)}>
        {column.title} <span aria-hidden="true">{!mine ? '↕' : sorting.descending ? '↓' : '↑'}</span>
      </button>
    </span>
  );
}

type LineProps<Row> = GridProps<Row> & { row: Row; n: number; selected: boolean; style: Record<string, string> };

function Line<Row>({ id, testid, columns, name, kind, data, href, choose, row, n, selected, style }: LineProps<Row>) {
  const onClick = (event: MouseEvent) => {
    if (event.defaultPrevented || (event.target as Element).closest('a, button, summary')) return;
    if (!href) choose(selected ? null : name(row));
    else if (!getSelection()?.toString()) go(href(row));
  };
  return (
    <div
      id={`${id}-row-${n}`}
      class={`grid-row is-row ${href ? 'leads ' : ''}${kind?.(row) ?? ''}`}
      role="row"
      aria-rowindex={n + 2}
      aria-selected={selected}
      data-testid={`${testid ?? id}-row`}
      {...data?.(row)}
      style={style}
      onClick={onClick}
    >
      {columns.map((column) => (
        <span
          key={column.title}
          role="gridcell"
          onMouseEnter={whole}
          data-title={column.right ? column.title : undefined}
          class={`${column.right ? 'right ' : ''}${column.narrow === 'long' ? 'clip long' : 'clip'}`}
        >
          {column.cell(row)}
        </span>
      ))}
    </div>
  );
}

// If no column is marked as long, the last column is used.
function narrowed<Row>(columns: readonly Column<Row>[]): readonly Column<Row>[] {
  const left = columns.filter((column) => column.narrow !== 'hide');
  const last = left.at(-1);
  if (!last || last.right || left.some((column) => column.narrow === 'long')) return left;
  return [...left.slice(0, -1), { ...last, narrow: 'long' }];
}

// Long lists are not checked, because the check would take too long.
function speaks<Row>({ says }: Column<Row>, rows: ArrayLike<Row>): boolean {
  return !says || rows.length > MANY || placeOf(rows, (row) => says(row) !== '') >= 0;
}

function placeOf<Row>(rows: ArrayLike<Row>, is: (row: Row) => boolean): number {
  for (let n = 0; n < rows.length; ++n) if (is(rows[n]!)) return n;
  return -1;
}

function reveal(box: HTMLElement, at: number, row: number, head: number): void {
  const top = at * row;
  const room = box.clientHeight - head; // the header covers one row
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + row > box.scrollTop + room) box.scrollTop = top + row - room;
}

function whole({ currentTarget: cell }: { currentTarget: HTMLElement }): void {
  cell.title = cell.scrollWidth > cell.clientWidth && !cell.querySelector('[title]') ? cell.textContent! : '';
}
