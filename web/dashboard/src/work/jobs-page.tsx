import { count, outOf, percent, short, shortId } from '../shared/model/format';
import { doneOf } from '../run/model/rate';
import { bare } from '../shared/model/ansi';
import { failureLine } from '../shared/model/closures';
import { ENDED, type JobCounts, type JobView, type StateCounts } from '../shared/model/views';
import { useSignal } from '@preact/signals';
import { Bar, partsOf } from '../shared/bar';
import type { Column } from '../shared/grid';
import { Link } from '../shared/link';
import { Choices, filters, ListPanel, useListing } from '../shared/listing';
import { Elsewhere } from '../shared/elsewhere';
import { JobChip } from '../shared/state';
import { Clipped } from '../shared/text';
import { Ago, Span } from '../shared/when';
import { cluster, clusterQuery, slow } from '../shared/page';
import { api } from '../shared/rest';
import { chosen, jobAddress } from '../shared/route';

const LIMIT = 50;

const columns: readonly Column<JobView>[] = [
  { title: 'State', width: '104px', cell: (j) => <JobChip job={j} /> },
  {
    title: 'Name',
    width: 'minmax(150px, 2fr)',
    cell: (j) => (
      <Link cell to={jobAddress(j.id)} title={`${j.name} (${j.id})`}>
        <bdi>{j.name || shortId(j.id)}</bdi>
      </Link>
    ),
  },
  {
    title: 'Ended',
    width: 'minmax(236px, 1.6fr)',
    cell: ({ counts }) => (
      <span class="cell-bar">
        <Bar parts={partsOf(counts)} total={counts.total} />
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
  if (j.error) return <Clipped text={failureLine(j.error)} kind="text-error" title={bare(j.error.message)} />;
  return <span class="soft">{j.retry_of ? `retry of ${shortId(j.retry_of)}` : j.streaming ? 'session' : ''}</span>;
}

const STATES = [
  ['', 'all'],
  ['UNFINISHED', 'unfinished'],
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

function countOf(counts: JobCounts | undefined, state: string, streaming: string): string | undefined {
  if (!counts || !state) return undefined;
  const of = (all: StateCounts) => (state === 'UNFINISHED' ? (all.queued ?? 0) + all.running : (all[state.toLowerCase() as keyof StateCounts] ?? 0));
  const n = (streaming === 'true' ? 0 : of(counts.jobs)) + (streaming === 'false' ? 0 : of(counts.sessions));
  return n > 0 ? short(n) : undefined;
}

const FILTERS = ['q', 'state', 'streaming'];

export function JobsPage() {
  slow.value;
  const of = cluster();
  const counts = useSignal<JobCounts | undefined>(undefined); // part of the list's response
  const looked = useListing<JobView>(api('jobs', { cluster: clusterQuery.value, ...filters(FILTERS) }), LIMIT, 'jobs', {
    heard: (body: { counts?: JobCounts }) => (counts.value = body.counts),
  });
  const hint = `muster submit muster.echo hello ${of && !of.main ? `--cluster ${of.name} ` : ''}--url ${location.origin}`;
  return (
    <div class="panels tall listed">
      <ListPanel
        id="jobs"
        title="Jobs"
        note="newest first"
        what="jobs"
        filters={FILTERS}
        looked={looked}
        columns={columns}
        name={(j) => j.id}
        kind={(j) => (j.state === 'FAILED' ? 'row-error' : '')}
        data={(j) => ({ 'data-job': j.id, 'data-state': j.state, 'data-ended': String(ENDED.includes(j.state)) })}
        href={(j) => jobAddress(j.id)}
        least={820}
        none={
          <>
            No jobs yet. Try <code class="wrap">{hint}</code>
            <Elsewhere what="Jobs" />
          </>
        }
      >
        <Choices name="state" label="State" options={STATES.map(([value, word]) => [value, word, countOf(counts.value, value, chosen('streaming').value)])} />
        <Choices name="streaming" label="Kind" options={KINDS} />
      </ListPanel>
    </div>
  );
}
