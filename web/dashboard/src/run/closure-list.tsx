import { bare } from '../shared/model/ansi';
import { CLOSURE_SHAPES, nameOf, ran, remark, stateFilters, waited, whereOf } from '../shared/model/closures';
import { count } from '../shared/model/format';
import type { ClosureView, JobView } from '../shared/model/views';
import { ENDED } from '../shared/model/views';
import { slow, store } from '../shared/page';
import { api } from '../shared/rest';
import { chosen, closureAddress, follow, workerAddress } from '../shared/route';
import type { Column } from '../shared/grid';
import { Link } from '../shared/link';
import { Choices, FilterField, filters, ListPanel, useListing, useSorting } from '../shared/listing';
import { ClosureChip } from '../shared/state';
import { Clipped } from '../shared/text';
import { Ago, Span } from '../shared/when';

const LIMIT = 100;

const columns: readonly Column<ClosureView>[] = [
  { title: '#', width: '72px', right: true, sort: 'index', cell: (c) => count(c.index) },
  { title: 'State', width: '98px', cell: (c) => <ClosureChip state={c.state} /> },
  {
    title: 'Function',
    width: 'minmax(130px, 1.4fr)',
    cell: (c) => (
      <Link cell to={closureAddress(c.id, c.job)} title={`${nameOf(c)} ${c.function} ${c.id}`}>
        <bdi>{nameOf(c)}</bdi>
        {c.display_name && <small class="soft"> {c.function}</small>}
      </Link>
    ),
  },
  {
    title: 'Worker',
    width: 'minmax(84px, 0.9fr)',
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

function Remark({ c }: { c: ClosureView }) {
  const text = remark(c);
  return <Clipped text={text} kind={c.state === 'FAILED' ? 'text-error' : 'soft'} title={c.error ? bare(c.error.message) : text} />;
}

const FILTERS = ['q', 'state', 'function', 'worker'];

export function ClosureList({ job }: { job: JobView }) {
  slow.value;
  const sorting = useSorting('index');
  const path = api(`jobs/${encodeURIComponent(job.id)}/closures`, { ...filters(FILTERS), ...sorting.asked });
  const looked = useListing<ClosureView>(path, LIMIT, 'closures', { over: () => ENDED.includes(job.state) });
  return (
    <ListPanel
      id="closures"
      title="Closures"
      note="press Enter or click to open a closure"
      what="closures"
      filters={FILTERS}
      looked={looked}
      columns={columns}
      name={(c) => c.id}
      kind={(c) => (c.state === 'FAILED' ? 'row-error' : '')}
      data={(c) => ({ 'data-closure': c.id, 'data-state': c.state, 'data-shape': CLOSURE_SHAPES[c.state] })}
      href={(c) => closureAddress(c.id, c.job)}
      sorting={sorting}
      least={860}
      none="The job has no closures."
    >
      <Choices name="state" label="State" options={stateFilters(job.counts, chosen('state').value).map(([value, word, n]) => [value, word, count(n)])} />
      <FilterField name="function" label="Function" list={store.counters?.functions.map((f) => f.name) ?? []} />
      <FilterField name="worker" label="Worker" />
    </ListPanel>
  );
}
