// The jobs of a cluster, all of them: by state, by words, a page at a time.

import { count, outOf, percent, short, shortId } from '../model/format';
import { doneOf } from '../model/rest/rate';
import { bare } from '../model/ansi';
import { failureLine } from '../model/rest/closures';
import { ENDED, type JobCounts, type JobView, type StateCounts } from '../model/rest/views';
import { useSignal } from '@preact/signals';
import { Bar } from '../parts/bar';
import { Grid, type Column } from '../parts/grid';
import { Choices, Filters, Pages, useListing } from '../parts/listing';
import { Elsewhere } from '../parts/elsewhere';
import { Panel } from '../parts/panel';
import { JobChip } from '../parts/state';
import { Ago, Span } from '../parts/when';
import { cluster, clusterQuery, query, slow } from '../page';
import { api } from '../rest';
import { chosen, follow, jobAddress } from '../route';

const LIMIT = 50;

const columns: readonly Column<JobView>[] = [
  { title: 'State', width: '104px', cell: (j) => <JobChip job={j} /> },
  {
    title: 'Name',
    width: 'minmax(150px, 2fr)',
    cell: (j) => (
      <a class="mono" href={jobAddress(j.id)} onClick={follow} tabIndex={-1} title={`${j.name} (${j.id})`}>
        <bdi>{j.name || shortId(j.id)}</bdi>
      </a>
    ),
  },
  {
    title: 'Ended',
    width: 'minmax(236px, 1.6fr)',
    cell: ({ counts }) => (
      <span class="cell-bar">
        <Bar
          parts={[
            { kind: 'done', n: counts.succeeded },
            { kind: 'running', n: counts.running },
            { kind: 'failed', n: counts.failed },
            { kind: 'cancelled', n: counts.cancelled },
          ]}
          total={counts.total}
        />
        {counts.total === 0 ? 'empty' : `${outOf(doneOf(counts), counts.total)} · ${percent(doneOf(counts), counts.total)}`}
      </span>
    ),
  },
  { title: 'Running', width: '64px', right: true, narrow: 'hide', cell: (j) => count(j.counts.running) },
  { title: 'Failed', width: '60px', right: true, narrow: 'hide', cell: (j) => (j.counts.failed > 0 ? <b class="text-error">{count(j.counts.failed)}</b> : 0) },
  { title: 'Began', width: '96px', right: true, cell: (j) => <Ago ms={j.created_ms} /> },
  { title: 'Took', width: '76px', right: true, narrow: 'hide', cell: (j) => <Span from={j.created_ms} to={j.finished_ms} /> },
  { title: 'Error', width: 'minmax(120px, 2fr)', narrow: 'long', cell: (j) => <Remark j={j} /> },
];

function Remark({ j }: { j: JobView }) {
  if (j.error)
    return (
      <bdi class="text-error" title={bare(j.error.message)}>
        {failureLine(j.error)}
      </bdi>
    );
  return <span class="soft">{j.retry_of ? `retry of ${shortId(j.retry_of)}` : j.streaming ? 'session' : ''}</span>;
}

const STATES = [
  ['', 'all'],
  ['UNFINISHED', 'not ended'],
  ['QUEUED', 'queued'],
  ['FAILED', 'failed'],
  ['SUCCEEDED', 'succeeded'],
  ['CANCELLED', 'cancelled'],
] as const;
const KINDS = [
  ['', 'jobs and sessions'],
  ['false', 'jobs'],
  ['true', 'sessions'],
] as const;

// How many there are in a state, of the chosen kind; nothing for none.
function countOf(counts: JobCounts | undefined, state: string, streaming: string): string | undefined {
  if (!counts || !state) return undefined;
  const of = (all: StateCounts) => (state === 'UNFINISHED' ? (all.queued ?? 0) + all.running : (all[state.toLowerCase() as keyof StateCounts] ?? 0));
  const n = (streaming === 'true' ? 0 : of(counts.jobs)) + (streaming === 'false' ? 0 : of(counts.sessions));
  return n > 0 ? short(n) : undefined;
}

export function JobsPage() {
  slow.value;
  const now = useSignal<string | null>(null);
  const of = cluster();
  const wanted = query.value.trim();
  const state = chosen('state').value;
  const streaming = chosen('streaming').value;
  const filtered = !!(wanted || state || streaming);
  const counts = useSignal<JobCounts | undefined>(undefined); // came with the list
  const path = api('jobs', { cluster: clusterQuery.value, state, streaming, q: wanted });
  const looked = useListing<JobView>(path, LIMIT, {
    rows: (body: { jobs: JobView[]; counts?: JobCounts }) => {
      counts.value = body.counts;
      return body.jobs;
    },
  });
  const rows = looked.value?.rows ?? [];
  const hint = `muster submit muster.echo hello ${of && !of.main ? `--cluster ${of.name} ` : ''}--url ${location.origin}`;
  return (
    <div class="panels tall listed">
      <Panel id="jobs" title="Jobs" note="newest first" span={12}>
        <Filters names={['q', 'state', 'streaming']} problem={looked.problem}>
          <Choices name="state" label="State" options={STATES.map(([value, word]) => [value, word, countOf(counts.value, value, streaming)])} />
          <Choices name="streaming" label="Kind" options={KINDS} />
        </Filters>
        <Grid
          id="jobs"
          columns={columns}
          rows={rows}
          name={(j) => j.id}
          kind={(j) => (j.state === 'FAILED' ? 'row-error' : '')}
          data={(j) => ({ 'data-job': j.id, 'data-state': j.state, 'data-ended': String(ENDED.includes(j.state)) })}
          href={(j) => jobAddress(j.id)}
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
              'No job fits.'
            ) : (
              <>
                No job yet. Try <code class="wrap">{hint}</code>
                <Elsewhere what="Jobs" />
              </>
            )
          }
        />
        <Pages looked={looked} what="jobs" filtered={filtered} />
      </Panel>
    </div>
  );
}
