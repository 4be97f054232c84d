// A list of any number of rows, of which only those on screen exist. Arrows move the chosen row.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { useSize } from './size';

const ROW = 30; // height of a row and of the header; the CSS has the same number
const SPARE = 3; // rows kept beyond each edge

export interface Column<Row> {
  title: string;
  width: string; // of a CSS grid
  right?: boolean;
  cell(row: Row): ComponentChildren;
}

interface Props<Row> {
  id: string; // of the panel whose title names the list
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  name(row: Row): string;
  kind?(row: Row): string; // class of the row
  data?(row: Row): Record<`data-${string}`, string>;
  chosen: string | null;
  choose(name: string | null): void;
  empty: ComponentChildren;
}

export function Grid<Row>({ id, columns, rows, name, kind, data, chosen, choose, empty }: Props<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const { height } = useSize(box);
  const top = useSignal(0);
  const first = Math.max(0, Math.floor(top.value / ROW) - SPARE);
  const last = Math.min(rows.length, Math.ceil((top.value + Math.max(height, ROW)) / ROW) + SPARE);
  const at = chosen === null ? -1 : rows.findIndex((row) => name(row) === chosen);
  const mounted = Array.from({ length: Math.max(0, last - first) }, (_, n) => first + n);
  // The chosen row stays mounted wherever one scrolls: aria-activedescendant must name something that exists.
  if (at >= 0 && (at < first || at >= last)) mounted.push(at);
  const template = { gridTemplateColumns: columns.map((column) => column.width).join(' ') };

  const onKey = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW) - 2);
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: rows.length - 1 };
    if (event.key === 'Escape') choose(null);
    const step = steps[event.key];
    if (step === undefined || rows.length === 0) return;
    event.preventDefault();
    const to = Math.max(0, Math.min(rows.length - 1, step));
    choose(name(rows[to]!));
    reveal(box.current!, to);
  };

  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-labelledby={`${id}-title`}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={at >= 0 ? `${id}-row-${at}` : undefined}
      data-testid={`${id}-list`}
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      onKeyDown={onKey}
    >
      <div role="rowgroup" class="grid-head">
        <div role="row" class="grid-row" aria-rowindex={1} style={template}>
          {columns.map((column) => (
            <span key={column.title} role="columnheader" class={column.right ? 'right' : ''}>
              {column.title}
            </span>
          ))}
        </div>
      </div>
      {rows.length === 0 ? (
        <div role="rowgroup">
          <div role="row">
            <div role="gridcell" class="calm">
              {empty}
            </div>
          </div>
        </div>
      ) : (
        <div role="rowgroup" class="grid-body" style={{ height: `${rows.length * ROW}px` }}>
          {mounted.map((n) => {
            const row = rows[n]!;
            const mine = name(row);
            return (
              <div
                key={mine}
                id={`${id}-row-${n}`}
                class={`grid-row is-row ${kind?.(row) ?? ''}`}
                role="row"
                aria-rowindex={n + 2}
                aria-selected={n === at}
                data-testid={`${id}-row`}
                {...data?.(row)}
                style={{ ...template, transform: `translateY(${n * ROW}px)` }}
                onClick={() => choose(n === at ? null : mine)}
              >
                {columns.map((column) => (
                  <span key={column.title} role="gridcell" class={column.right ? 'right clip' : 'clip'}>
                    {column.cell(row)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      )}
    </div>
  );
}

function reveal(box: HTMLElement, at: number): void {
  const top = at * ROW;
  const room = box.clientHeight - ROW; // the header covers one row
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW > box.scrollTop + room) box.scrollTop = top + ROW - room;
}
