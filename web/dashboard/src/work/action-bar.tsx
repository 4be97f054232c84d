// Actions on the selected runs, and the export of the selection or of the whole list.

import { useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { announcement } from '../shell/connection';
import { Question } from '../shared/action';
import { count, plural } from '../shared/model/format';
import { link, stands, viewNow } from '../shared/page';
import { api, get, send } from '../shared/rest';
import { address, go } from '../shared/route';
import { csvOf, jsonOf } from './model/export';
import { ALREADY, cancelPath, compared, each, notRetried, reportLine } from './model/deeds';
import { isOver } from '../shared/model/counts';
import { NOTHING, MOST, timed, type Run, type Selection, type WorkPage } from './model/work';

interface Props {
  selection: Signal<Selection>;
  path: string; // REST path of all runs that match, without a page
  matching: number;
  shown: readonly Run[];
  again(): void;
}

// Reads all runs that match, page by page, at most MOST.
async function readAll(path: string): Promise<{ runs: Run[]; matching: number }> {
  const asked = timed(path, viewNow());
  const runs: Run[] = [];
  for (let token = ''; ; ) {
    const page = await get<WorkPage>(`${asked}&limit=1000${token && `&page_token=${encodeURIComponent(token)}`}`);
    runs.push(...page.runs.slice(0, MOST - runs.length));
    token = page.next_page_token ?? '';
    if (!token || runs.length >= MOST) return { runs, matching: Math.max(page.matching, runs.length) };
  }
}

function download(text: string, type: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

interface Asking {
  title: string;
  yes: string;
  danger?: boolean;
  text: ComponentChildren;
  run(): Promise<void>;
}

export function ActionBar({ selection, path, matching, shown, again }: Props) {
  const asking = useSignal<Asking | null>(null);
  const result = useSignal('');
  const busy = useSignal(false);
  const { runs, all } = selection.value;
  const n = all ? matching : runs.size;
  const pageSelected = !all && shown.length > 0 && shown.every((run) => runs.has(run.id));
  const still = busy.value || stands.value || link.value === 'lost';
  const why = stands.value ? 'This is the data of a stopped server: nothing can be changed.' : link.value === 'lost' ? 'The server does not answer.' : undefined;

  const chosenRuns = async (): Promise<{ runs: readonly Run[]; matching: number }> => (n > 0 && !all ? { runs: [...runs.values()], matching: runs.size } : readAll(path));
  const report = (text: string) => {
    result.value = text;
    announcement.value = text;
  };
  const perform = async (act: (run: Run) => Promise<string>, word: string) => {
    busy.value = true;
    try {
      const { runs: which, matching: of } = await chosenRuns();
      const line = reportLine(await each(which, act), word);
      report(of > which.length ? `${line}. ${limitNote(of)}` : line);
      selection.value = NOTHING;
      again();
    } finally {
      busy.value = false;
    }
  };
  const cancel = () =>
    perform(async (run) => {
      if (isOver(run)) return ALREADY;
      const now = await send<{ state: string }>('POST', api(cancelPath(run)));
      return now?.state === 'SUCCEEDED' || now?.state === 'FAILED' ? ALREADY : '';
    }, 'cancelled');
  const retry = () =>
    perform(async (run) => {
      const not = notRetried(run);
      if (!not) await send('POST', api(`jobs/${encodeURIComponent(run.id)}/retry`));
      return not;
    }, 'retried');
  const save = async (format: 'csv' | 'json') => {
    busy.value = true;
    try {
      const { runs: which, matching: of } = await chosenRuns();
      if (format === 'csv') download(csvOf(which), 'text/csv', 'runs.csv');
      else download(jsonOf(which), 'application/json', 'runs.json');
      report(`${plural(which.length, 'run')} exported. ${of > which.length ? limitNote(of) : ''}`.trim());
    } catch (error) {
      report(error instanceof Error ? error.message : String(error));
    } finally {
      busy.value = false;
    }
  };
  const pair = [...runs.values()];
  const compare = () => {
    const [run, other] = compared(pair[0]!, pair[1]!);
    go(address(`/runs/${encodeURIComponent(run.id)}`, { compare: other.id }));
  };
  const many = plural(n, 'run');
  const bounded = n > MOST ? <p>{limitNote(n)}</p> : null;

  return (
    <div class={`work-bar${n > 0 ? ' has-selection' : ''}`} data-testid="work-bar">
      <span role="status" data-testid="selected-count">
        {n > 0 ? `${count(n)} selected` : `${plural(matching, 'run')} ${matching === 1 ? 'matches' : 'match'}`}
      </span>
      {matching > 0 && !all && (n === 0 || (pageSelected && matching > n)) && (
        <button type="button" class="plain" data-testid="select-all" onClick={() => (selection.value = { runs: new Map(), all: true })}>
          Select all {count(matching)} that match
        </button>
      )}
      {n > 0 && (
        <>
          <button type="button" class="plain" data-testid="select-none" onClick={() => (selection.value = NOTHING)}>
            Clear selection
          </button>
          <button
            type="button"
            class="danger"
            disabled={still}
            title={why}
            data-testid="cancel-selected"
            onClick={() =>
              (asking.value = {
                title: `Cancel ${many}?`,
                yes: `Cancel ${many}`,
                danger: true,
                run: cancel,
                text: 'Unfinished closures are cancelled and ranks are stopped. Results of succeeded closures are kept.',
              })
            }
          >
            Cancel
          </button>
          <button
            type="button"
            disabled={still}
            title={why}
            data-testid="retry-selected"
            onClick={() =>
              (asking.value = {
                title: `Retry what failed in ${many}?`,
                yes: 'Retry',
                run: retry,
                text: 'Each job with failed closures gets a new job, which runs its failed and cancelled closures again.',
              })
            }
          >
            Retry failed
          </button>
          <button type="button" disabled={all || n !== 2} title={n === 2 ? undefined : 'Select two runs to compare them.'} data-testid="compare-selected" onClick={compare}>
            Compare
          </button>
        </>
      )}
      {matching > 0 && (
        <>
          <button type="button" disabled={busy.value} data-testid="export-csv" onClick={() => void save('csv')}>
            Export CSV
          </button>
          <button type="button" disabled={busy.value} data-testid="export-json" onClick={() => void save('json')}>
            Export JSON
          </button>
        </>
      )}
      {result.value && (
        <span class="work-result" data-testid="work-result">
          <bdi>{result.value}</bdi>
        </span>
      )}
      {asking.value && (
        <Question title={asking.value.title} yes={asking.value.yes} danger={asking.value.danger === true} run={asking.value.run} close={() => (asking.value = null)}>
          <p>{asking.value.text}</p>
          {bounded}
        </Question>
      )}
    </div>
  );
}

const limitNote = (n: number): string => `Only the first ${count(MOST)} of ${count(n)} runs are included; filter the list for the others.`;
