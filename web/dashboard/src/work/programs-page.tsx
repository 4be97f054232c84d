import { count, outOf } from '../shared/model/format';
import type { ProgramRow } from '../run/model/program-protocol';
import { fitting, over, reason, wanted } from '../shared/model/programs';
import type { Column } from '../shared/grid';
import { Link } from '../shared/link';
import { Choices, filters, ListPanel, useListing } from '../shared/listing';
import { ProgramChip } from '../shared/program-state';
import { Clipped } from '../shared/text';
import { Ago, Span } from '../shared/when';
import { cluster, clusterQuery, poolOf, slow, store } from '../shared/page';
import { api } from '../shared/rest';
import { programAddress } from '../shared/route';

const LIMIT = 50;

const columns: readonly Column<ProgramRow>[] = [
  { title: 'State', width: '108px', cell: (p) => <ProgramChip state={p.state} /> },
  {
    title: 'Name',
    width: 'minmax(150px, 1.6fr)',
    cell: (p) => (
      <Link cell to={programAddress(p.id)} title={`${p.name} (${p.id})`}>
        <bdi>{p.name}</bdi>
      </Link>
    ),
  },
  { title: 'Ranks', width: '120px', right: true, cell: (p) => (p.attempt === 0 ? wanted(p) : over(p) ? count(p.ranks) : outOf(p.alive, p.ranks)) },
  { title: 'Attempt', width: '64px', right: true, narrow: 'hide', cell: (p) => p.attempt || '–' },
  { title: 'Restarts', width: '76px', right: true, narrow: 'hide', cell: (p) => (p.max_restarts > 0 ? outOf(p.restarts, p.max_restarts) : count(p.restarts)) },
  { title: 'Began', width: '96px', right: true, cell: (p) => <Ago ms={p.created_ms} /> },
  { title: 'Took', width: '76px', right: true, narrow: 'hide', cell: (p) => <Span from={p.created_ms} to={p.finished_ms ?? 0} /> },
  {
    title: 'Reason',
    width: 'minmax(140px, 2.4fr)',
    narrow: 'long',
    cell: (p) => <Clipped text={reason(p)} kind={p.waits_for ? 'text-late' : p.state === 'FAILED' ? 'text-error' : 'soft'} />,
  },
];

const STATES = [
  ['', 'all'],
  ['PENDING', 'pending'],
  ['RUNNING', 'running'],
  ['FAILED', 'failed'],
  ['SUCCEEDED', 'succeeded'],
  ['CANCELLED', 'cancelled'],
] as const;

const FILTERS = ['q', 'state'];

export function ProgramsPage() {
  slow.value;
  const of = cluster();
  const asked = filters(FILTERS);
  // The list is read in pages if the server does not send all programs.
  const live = store.programs.version > 0 && store.programs.more === 0 && of;
  const paged = useListing<ProgramRow>(live ? '' : api('programs', { cluster: clusterQuery.value, ...asked }), LIMIT, 'programs');
  const rows = live ? fitting(store.programs.all(), poolOf(of), asked.state!, asked.q!) : [];
  const looked = live ? { ...paged, problem: '', stale: false, value: { rows, next: '', lookedAt: 0, of: 0, more: false } } : paged;
  const more = of && !of.main ? `--cluster ${of.name} ` : '';
  return (
    <div class="panels tall listed">
      <ListPanel
        id="programs"
        title="Programs"
        note="newest first"
        what="programs"
        filters={FILTERS}
        looked={looked}
        columns={columns}
        name={(p) => p.id}
        kind={(p) => (p.state === 'FAILED' ? 'row-error' : '')}
        data={(p) => ({ 'data-program': p.id, 'data-state': p.state })}
        href={(p) => programAddress(p.id)}
        least={820}
        none={
          <>
            No programs yet. A program is a command that runs as ranks on workers started with <code>--allow-programs</code>. Try{' '}
            <code class="wrap">
              muster launch --tasks 2 {more}--url {location.origin} -- hostname
            </code>
          </>
        }
      >
        <Choices name="state" label="State" options={STATES} />
      </ListPanel>
    </div>
  );
}
