import { useEffect } from 'preact/hooks';
import { bare } from '../shared/model/ansi';
import { CLOSURE_SHAPES, nameOf, ran, remark, stateFilters, waited, whereOf } from '../shared/model/closures';
import { count } from '../shared/model/format';
import type { ClosureView, JobView } from '../shared/model/views';
import { isOver } from '../shared/model/counts';
import { slow, store } from '../shared/page';
import { api } from '../shared/rest';
import { chosen, closureAddress, follow, jobAddress, workerAddress } from '../shared/route';
import type { Column } from '../shared/grid';
import { callNow, selectCall } from './inspect';
import { Choices, FilterField, filters, ListPanel, useListing, useSorting } from '../shared/listing';
import { ClosureChip } from '../shared/state';
import { Clipped } from '../shared/text';
import { Ago, Span } from '../shared/when';

const LIMIT = 100;

const columns: readonly Column<ClosureView>[] = [
  { title: '#', width: '56px', right: true, sort: 'index', cell: (c) => count(c.index) },
  { title: 'State', width: '98px', cell: (c) => <ClosureChip state={c.state} /> },
  {
    title: 'Function',
    width: 'minmax(130px, 260px)',
    cell: (c) => (
      <a class="mono" tabIndex={-1} href={jobAddress(c.job, { call: c.id })} onClick={(event) => select(event, c.id)} title={`${nameOf(c)} ${c.function} ${c.id}`}>
        <bdi>{nameOf(c)}</bdi>
      </a>
    ),
  },
  {
    title: 'Worker',
    width: 'minmax(84px, 130px)',
    cell: (c) =>
      whereOf(c) ? (
        <a class={c.sent_to ? 'mono soft' : 'mono'} href={workerAddress(whereOf(c))} onClick={follow} tabIndex={-1} title={c.sent_to && 'prefetched; waiting behind running closures'}>
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

// Beside the inspector, which shows the same times.
const beside = columns.filter(({ narrow }) => narrow !== 'hide');

// A plain click selects and keeps filters; with a modifier key, the browser opens the link.
function select(event: MouseEvent, id: string): void {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  selectCall(id);
}

function Remark({ c }: { c: ClosureView }) {
  const text = remark(c);
  return <Clipped text={text} kind={c.state === 'FAILED' ? 'text-error' : 'soft'} title={c.error ? bare(c.error.message) : text} />;
}

const FILTERS = ['q', 'state', 'function', 'worker'];

// `shown` is called with the calls in the list, so that the inspector can go to the next call.
export function ClosureList({ job, shown }: { job: JobView; shown(rows: readonly ClosureView[]): void }) {
  slow.value;
  const sorting = useSorting('index');
  const path = api(`jobs/${encodeURIComponent(job.id)}/closures`, { ...filters(FILTERS), ...sorting.asked });
  const looked = useListing<ClosureView>(path, LIMIT, 'closures', { over: () => isOver(job) });
  const call = callNow();
  const rows = looked.value?.rows;
  useEffect(() => shown(rows ?? []), [rows]);
  return (
    <ListPanel
      id="closures"
      title="Closures"
      note="click or use the arrow keys to inspect a call; Enter opens its page"
      what="closures"
      filters={FILTERS}
      looked={looked}
      columns={call ? beside : columns}
      name={(c) => c.id}
      kind={(c) => (c.state === 'FAILED' ? 'row-error' : '')}
      data={(c) => ({ 'data-closure': c.id, 'data-state': c.state, 'data-shape': CLOSURE_SHAPES[c.state] })}
      chosen={call || null}
      choose={(id) => selectCall(id ?? '')}
      open={(c) => closureAddress(c.id, c.job)}
      sorting={sorting}
      least={call ? 640 : 860}
      none="The job has no closures."
    >
      <Choices name="state" label="State" options={stateFilters(job.counts, chosen('state').value).map(([value, word, n]) => [value, word, count(n)])} />
      <FilterField name="function" label="Function" list={store.counters?.functions.map((f) => f.name) ?? []} />
      <FilterField name="worker" label="Worker" />
    </ListPanel>
  );
}
