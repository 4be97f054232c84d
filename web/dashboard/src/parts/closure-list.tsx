// The closures of a job: any of a million, by state, function, worker and words.

import { useSignal } from '@preact/signals';
import { bare } from '../model/ansi';
import { CLOSURE_SHAPES, nameOf, ran, remark, stateFilters, waited, whereOf } from '../model/rest/closures';
import { count } from '../model/format';
import type { ClosureView, JobView } from '../model/rest/views';
import { ENDED } from '../model/rest/views';
import { query, slow, store } from '../page';
import { api } from '../rest';
import { chosen, closureAddress, follow, workerAddress } from '../route';
import { Grid, type Column } from './grid';
import { Choices, FilterField, Filters, Pages, useListing, useSorting } from './listing';
import { Panel } from './panel';
import { ClosureChip } from './state';
import { Ago, Span } from './when';

const LIMIT = 100;

const columns: readonly Column<ClosureView>[] = [
  { title: '#', width: '72px', right: true, sort: 'index', cell: (c) => count(c.index) },
  { title: 'State', width: '98px', cell: (c) => <ClosureChip state={c.state} /> },
  {
    title: 'Function',
    width: 'minmax(130px, 1.4fr)',
    cell: (c) => (
      <a class="mono" href={closureAddress(c.id, c.job)} onClick={follow} tabIndex={-1} title={`${nameOf(c)} ${c.function} ${c.id}`}>
        <bdi>{nameOf(c)}</bdi>
        {c.display_name && <small class="soft"> {c.function}</small>}
      </a>
    ),
  },
  {
    title: 'Worker',
    width: 'minmax(84px, 0.9fr)',
    cell: (c) =>
      whereOf(c) ? (
        <a class={c.sent_to ? 'mono soft' : 'mono'} href={workerAddress(whereOf(c))} onClick={follow} tabIndex={-1} title={c.sent_to && 'prefetched, behind what runs there'}>
          <bdi>{whereOf(c)}</bdi>
        </a>
      ) : (
        <span class="soft">–</span>
      ),
  },
  { title: 'Tries', width: '46px', right: true, narrow: 'hide', cell: (c) => c.attempts.length || <span class="soft">–</span> },
  { title: 'Waited', width: '72px', right: true, narrow: 'hide', cell: (c) => <Span {...waited(c)} /> },
  { title: 'Started', width: '92px', right: true, sort: 'started', narrow: 'hide', cell: (c) => <Ago ms={ran(c).from} /> },
  { title: 'Ran', width: '76px', right: true, sort: 'duration', cell: (c) => <Span {...ran(c)} /> },
  { title: 'Remark', width: 'minmax(180px, 3fr)', narrow: 'long', says: remark, cell: (c) => <Remark c={c} /> },
];

function Remark({ c }: { c: ClosureView }) {
  const text = remark(c);
  return (
    <bdi class={c.state === 'FAILED' ? 'text-error' : 'soft'} title={c.error ? bare(c.error.message) : text}>
      {text}
    </bdi>
  );
}

export function ClosureList({ job }: { job: JobView }) {
  slow.value;
  const now = useSignal<string | null>(null);
  const wanted = query.value.trim();
  const state = chosen('state').value;
  const fn = chosen('function').value;
  const worker = chosen('worker').value;
  const sorting = useSorting('index');
  const sorted = sorting.by !== 'index' || sorting.descending;
  const filtered = !!(wanted || state || fn || worker);
  const path = api(`jobs/${encodeURIComponent(job.id)}/closures`, { state, function: fn, worker, q: wanted, ...(sorted && { sort: sorting.by, order: sorting.order }) });
  const looked = useListing<ClosureView>(path, LIMIT, { over: () => ENDED.includes(job.state), rows: (body: { closures: ClosureView[] }) => body.closures });
  const rows = looked.value?.rows ?? [];
  const names = store.counters?.functions.map((f) => f.name) ?? [];
  return (
    <Panel id="closures" title="Closures" note="Enter or a click opens one" span={12}>
      <Filters names={['q', 'state', 'function', 'worker']} problem={looked.problem}>
        <Choices name="state" label="State" options={stateFilters(job.counts, state).map(([value, word, n]) => [value, word, count(n)])} />
        <FilterField name="function" label="Function" list={names} />
        <FilterField name="worker" label="Worker" />
      </Filters>
      <Grid
        id="closures"
        columns={columns}
        rows={rows}
        name={(c) => c.id}
        kind={(c) => (c.state === 'FAILED' ? 'row-error' : '')}
        data={(c) => ({ 'data-closure': c.id, 'data-state': c.state, 'data-shape': CLOSURE_SHAPES[c.state] })}
        href={(c) => closureAddress(c.id, c.job)}
        chosen={now.value}
        choose={(name) => (now.value = name)}
        sorting={sorting}
        old={looked.stale}
        least={860}
        empty={!looked.value ? (looked.problem ? '–' : 'Loading…') : looked.value.next ? 'None on this page; the next one looks on.' : filtered ? 'No closure fits.' : 'It has no closures.'}
      />
      <Pages looked={looked} what="closures" filtered={filtered} />
    </Panel>
  );
}
