// The programs of a cluster: by state and by words, live; of more than the server sends, a page at a time.

import { useSignal } from '@preact/signals';
import { count, outOf } from '../model/format';
import type { ProgramRow } from '../model/program-protocol';
import { fitting, over, reason, wanted } from '../model/rest/programs';
import { Grid, type Column } from '../parts/grid';
import { Choices, Filters, Pages, useListing } from '../parts/listing';
import { Panel } from '../parts/panel';
import { ProgramChip } from '../parts/program-state';
import { Ago, Span } from '../parts/when';
import { cluster, clusterQuery, poolOf, query, slow, store } from '../page';
import { api } from '../rest';
import { chosen, follow, programAddress } from '../route';

const LIMIT = 50;

const columns: readonly Column<ProgramRow>[] = [
  { title: 'State', width: '108px', cell: (p) => <ProgramChip state={p.state} /> },
  {
    title: 'Name',
    width: 'minmax(150px, 1.6fr)',
    cell: (p) => (
      <a class="mono" href={programAddress(p.id)} onClick={follow} tabIndex={-1} title={`${p.name} (${p.id})`}>
        <bdi>{p.name}</bdi>
      </a>
    ),
  },
  { title: 'Ranks', width: '120px', right: true, cell: (p) => (p.attempt === 0 ? wanted(p) : over(p) ? count(p.ranks) : outOf(p.alive, p.ranks)) },
  { title: 'Attempt', width: '64px', right: true, narrow: 'hide', cell: (p) => p.attempt || '–' },
  { title: 'Restarts', width: '76px', right: true, narrow: 'hide', cell: (p) => (p.max_restarts > 0 ? outOf(p.restarts, p.max_restarts) : count(p.restarts)) },
  { title: 'Began', width: '96px', right: true, cell: (p) => <Ago ms={p.created_ms} /> },
  { title: 'Took', width: '76px', right: true, narrow: 'hide', cell: (p) => <Span from={p.created_ms} to={p.finished_ms ?? 0} /> },
  {
    title: 'Why',
    width: 'minmax(140px, 2.4fr)',
    narrow: 'long',
    cell: (p) => (
      <bdi class={p.waits_for ? 'text-late' : p.state === 'FAILED' ? 'text-error' : 'soft'} title={reason(p)}>
        {reason(p)}
      </bdi>
    ),
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

export function ProgramsPage() {
  slow.value;
  const now = useSignal<string | null>(null);
  const of = cluster();
  const text = query.value.trim();
  const state = chosen('state').value;
  const filtered = !!(text || state);
  // They are live as long as the server shows all there are; of more a page at a time is asked for.
  const live = store.programs.version > 0 && store.programs.more === 0 && of;
  const asked = useListing<ProgramRow>(live ? '' : api('programs', { cluster: clusterQuery.value, state, q: text }), LIMIT, { rows: (body: { programs: ProgramRow[] }) => body.programs });
  const rows = live ? fitting(store.programs.all(), poolOf(of), state, text) : [];
  const looked = live ? { ...asked, problem: '', stale: false, value: { rows, next: '', lookedAt: 0, of: 0, more: false } } : asked;
  const more = of && !of.main ? `--cluster ${of.name} ` : '';
  return (
    <div class="panels tall listed">
      <Panel id="programs" title="Programs" note="newest first" span={12}>
        <Filters names={['q', 'state']} problem={looked.problem}>
          <Choices name="state" label="State" options={STATES} />
        </Filters>
        <Grid
          id="programs"
          columns={columns}
          rows={looked.value?.rows ?? []}
          name={(p) => p.id}
          kind={(p) => (p.state === 'FAILED' ? 'row-error' : '')}
          data={(p) => ({ 'data-program': p.id, 'data-state': p.state })}
          href={(p) => programAddress(p.id)}
          chosen={now.value}
          choose={(name) => (now.value = name)}
          old={looked.stale}
          least={820}
          empty={
            !looked.value ? (
              looked.problem ? (
                '–'
              ) : (
                'Loading…'
              )
            ) : filtered ? (
              'No program fits.'
            ) : (
              <>
                No program yet: a command that runs as ranks on workers which were started with <code>--allow-programs</code>. Try{' '}
                <code class="wrap">
                  muster launch --tasks 2 {more}--url {location.origin} -- hostname
                </code>
              </>
            )
          }
        />
        <Pages looked={looked} what="programs" filtered={filtered} />
      </Panel>
    </div>
  );
}
