// The rows of one page. Each row is as high as its content, so that an error is never cut.

import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { Bar } from '../shared/bar';
import { filter } from '../shared/listing';
import { isOver } from '../shared/model/counts';
import { bytes, count, outOf, percent, short } from '../shared/model/format';
import { doing } from '../shared/model/doing';
import type { JobState } from '../shared/model/protocol';
import { slow, viewNow } from '../shared/page';
import { ProgramChip } from '../shared/program-state';
import { address, chosen, follow, go } from '../shared/route';
import { DoingChip } from '../shared/state';
import { Ago, Span } from '../shared/when';
import { NOTHING, facts, nameOf, ranksOf, reasonOf, restartsOf, waiting, type Run, type Selection } from './model/work';
import { heldBy } from './model/sessions';

interface Column {
  title: string;
  sort?: string;
  right?: boolean;
  only?: string; // kind that must be chosen for this column
  cell(run: Run): ComponentChildren;
}

const runAddress = (run: Run): string => address(`/runs/${encodeURIComponent(run.id)}`);

const COLUMNS: readonly Column[] = [
  { title: 'State', cell: (run) => <State run={run} /> },
  { title: 'Name', sort: 'name', cell: (run) => <Name run={run} /> },
  { title: 'Ended', cell: (run) => <Share run={run} /> },
  { title: 'Failed', sort: 'failed', right: true, cell: (run) => failedOf(run) },
  { title: 'Values', right: true, only: 'session', cell: (run) => short(run.values ?? 0) },
  { title: 'Memory', right: true, only: 'session', cell: (run) => bytes(run.value_bytes ?? 0) },
  { title: 'Client', only: 'session', cell: (run) => <Client run={run} /> },
  { title: 'Ranks', right: true, only: 'program', cell: ranksOf },
  { title: 'Attempt', right: true, only: 'program', cell: (run) => run.attempt || '–' },
  { title: 'Restarts', right: true, only: 'program', cell: restartsOf },
  { title: 'Began', sort: 'created', right: true, cell: (run) => <Ago ms={run.created_ms} /> },
  { title: 'Took', sort: 'duration', right: true, cell: (run) => <Span from={run.created_ms} to={run.ended_ms ?? 0} /> },
  { title: 'Reason', cell: (run) => <Reason run={run} /> },
];

function State({ run }: { run: Run }) {
  if (run.kind === 'program') return <ProgramChip state={run.state} />;
  return <DoingChip is={doing({ state: run.state as JobState, stopping: run.stopping }, run.counts.running, waiting(run))} />;
}

function Name({ run }: { run: Run }) {
  slow.value;
  const below = facts(run, chosen('kind').value, viewNow());
  return (
    <>
      <a href={runAddress(run)} onClick={follow} title={`${run.name} (${run.id})`} class="work-name">
        <bdi>{nameOf(run)}</bdi>
      </a>
      <span class="work-facts">
        {below.map((fact) => (
          <bdi key={fact}>{fact}</bdi>
        ))}
      </span>
    </>
  );
}

// The ranks of an ended program have the colour of its state, because their own results are not part of the list.
function Share({ run }: { run: Run }) {
  const { total, ended: done, running } = run.counts;
  const of = (state: string, n: number | undefined) => n ?? (run.state === state ? done : 0);
  const parts = [
    { kind: 'done', n: of('SUCCEEDED', run.counts.succeeded) },
    { kind: 'running', n: running },
    { kind: 'failed', n: of('FAILED', run.counts.failed) },
    { kind: 'cancelled', n: of('CANCELLED', run.counts.cancelled) },
  ];
  const unkept = run.not_kept ?? 0;
  return (
    <span class="work-share">
      <Bar parts={parts} total={total} />
      <span title={unkept > 0 ? `and ${count(unkept)} from before the server restarted, which are no longer kept` : undefined}>
        {total === 0 ? 'empty' : `${outOf(done, total)} · ${percent(done, total)}`}
        {unkept > 0 && <span class="soft"> + {short(unkept)}</span>}
      </span>
    </span>
  );
}

const failedOf = ({ counts: { failed } }: Run): ComponentChildren => (failed === undefined ? '–' : failed > 0 ? <b class="text-error">{count(failed)}</b> : 0);

function Client({ run }: { run: Run }) {
  slow.value;
  const { text, loose } = heldBy(run, viewNow());
  return <bdi class={loose ? 'text-late' : ''}>{text}</bdi>;
}

function Reason({ run }: { run: Run }) {
  const kind = run.waits_for ? 'text-late' : run.state === 'FAILED' ? 'text-error' : 'soft';
  return <bdi class={kind}>{reasonOf(run)}</bdi>;
}

interface Props {
  runs: readonly Run[];
  selection: Signal<Selection>;
  old: boolean;
}

export function WorkTable({ runs, selection, old }: Props) {
  const kind = chosen('kind').value;
  const last = useRef(-1); // row whose box was changed last; the start of a range
  const body = useRef<HTMLTableSectionElement>(null);
  const columns = COLUMNS.filter(({ only }) => !only || only === kind);
  if (runs.length === 0) return null;
  const { all, runs: chosenRuns } = selection.value;
  const selected = (run: Run) => all || chosenRuns.has(run.id);
  const set = (which: readonly Run[], on: boolean) => {
    // Clearing one row of "all that match" leaves the other rows of this page selected.
    const next = new Map(all ? runs.map((run) => [run.id, run]) : chosenRuns);
    for (const run of which) {
      if (on) next.set(run.id, run);
      else next.delete(run.id);
    }
    selection.value = next.size > 0 ? { runs: next, all: false } : NOTHING;
  };
  const toggle = (n: number, on: boolean, range: boolean) => {
    const [from, to] = range && last.current >= 0 ? [Math.min(last.current, n), Math.max(last.current, n)] : [n, n];
    set(runs.slice(from, to + 1), on);
    last.current = n;
  };
  const move = (n: number) => body.current?.querySelectorAll<HTMLInputElement>('input[type=checkbox]')[n]?.focus();
  const everyRow = runs.every(selected);
  return (
    <table class={`work-table${old ? ' is-old' : ''}`} data-testid="work-list" aria-labelledby="work-title" aria-busy={old}>
      <thead>
        <tr>
          <th scope="col" class="work-box">
            <input
              type="checkbox"
              aria-label="Select all runs of this page"
              data-testid="select-page"
              checked={everyRow}
              indeterminate={!everyRow && runs.some(selected)}
              onChange={({ currentTarget }) => set(runs, currentTarget.checked)}
              onKeyDown={(event) => {
                if (event.key !== 'ArrowDown') return;
                move(0);
                event.preventDefault();
              }}
            />
          </th>
          {columns.map((column) => (
            <Head key={column.title} {...column} />
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {runs.map((run, n) => (
          <tr
            key={run.id}
            data-testid="work-row"
            data-run={run.id}
            data-kind={run.kind}
            data-state={run.state}
            data-ended={String(isOver(run))}
            class={selected(run) ? 'is-selected' : ''}
            onClick={(event) => {
              if (event.defaultPrevented || (event.target as Element).closest('a, button, input, label') || getSelection()?.toString()) return;
              go(runAddress(run));
            }}
          >
            <td class="work-box">
              <label>
                <input
                  type="checkbox"
                  aria-label={`Select ${nameOf(run)}`}
                  checked={selected(run)}
                  onClick={(event) => toggle(n, event.currentTarget.checked, event.shiftKey)}
                  onKeyDown={(event) => {
                    if (event.key === 'Enter') go(runAddress(run));
                    else if (event.key === 'ArrowDown') move(n + 1);
                    else if (event.key === 'ArrowUp') move(n - 1);
                    else return;
                    event.preventDefault();
                  }}
                />
              </label>
            </td>
            {columns.map(({ title, right, cell }) => (
              <td key={title} class={`work-${title.toLowerCase()}${right ? ' right' : ''}`} data-title={title}>
                {cell(run)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Head({ title, sort, right }: Column) {
  const by = chosen('sort').value || 'created';
  const up = chosen('order').value === 'asc';
  const mine = sort === by;
  if (!sort)
    return (
      <th scope="col" class={right ? 'right' : ''}>
        {title}
      </th>
    );
  const next = mine ? !up : sort === 'name';
  return (
    <th scope="col" class={right ? 'right' : ''} aria-sort={!mine ? 'none' : up ? 'ascending' : 'descending'}>
      <button type="button" class="plain" data-testid={`sort-${sort}`} onClick={() => filter({ sort: sort === 'created' ? '' : sort, order: next ? 'asc' : '' })}>
        {title} <span aria-hidden="true">{!mine ? '↕' : up ? '↑' : '↓'}</span>
      </button>
    </th>
  );
}
