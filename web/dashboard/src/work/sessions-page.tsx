import { bytes, count, short, shortId } from '../shared/model/format';
import { doneOf } from '../run/model/rate';
import { heldBy } from './model/sessions';
import type { JobView } from '../shared/model/views';
import type { Column } from '../shared/grid';
import { Link } from '../shared/link';
import { Choices, filters, ListPanel, useListing } from '../shared/listing';
import { JobChip } from '../shared/state';
import { Clipped } from '../shared/text';
import { Ago } from '../shared/when';
import { clusterQuery, slow, viewNow } from '../shared/page';
import { api } from '../shared/rest';
import { jobAddress } from '../shared/route';

const LIMIT = 50;

const columns: readonly Column<JobView>[] = [
  { title: 'State', width: '104px', cell: (j) => <JobChip job={j} /> },
  {
    title: 'Session',
    width: 'minmax(150px, 1.6fr)',
    cell: (j) => (
      <Link cell to={jobAddress(j.id)} title={`${j.name} (${j.id})`}>
        <bdi>{j.name || shortId(j.id)}</bdi>
      </Link>
    ),
  },
  { title: 'Values', width: '70px', right: true, cell: (j) => short(j.values ?? j.holding?.values ?? 0) },
  { title: 'Memory', width: '84px', right: true, cell: (j) => bytes(j.value_bytes ?? j.holding?.value_bytes ?? 0) },
  { title: 'Unfinished', width: '80px', right: true, narrow: 'hide', cell: ({ counts }) => count(counts.blocked + counts.queued + counts.running) },
  { title: 'Finished', width: '80px', right: true, narrow: 'hide', cell: (j) => <Finished j={j} /> },
  { title: 'Failed', width: '60px', right: true, narrow: 'hide', cell: ({ counts }) => (counts.failed > 0 ? <b class="text-error">{short(counts.failed)}</b> : 0) },
  { title: 'Began', width: '100px', right: true, cell: (j) => <Ago ms={j.created_ms} /> },
  { title: 'Client', width: 'minmax(170px, 2fr)', narrow: 'long', cell: (j) => <Held j={j} /> },
];

function Finished({ j }: { j: JobView }) {
  const more = j.not_kept ?? 0;
  return (
    <span title={more > 0 ? `and ${count(more)} from before the server restarted, which are no longer kept` : 'including failures'}>
      {short(doneOf(j.counts))}
      {more > 0 && <span class="soft"> + {short(more)}</span>}
    </span>
  );
}

function Held({ j }: { j: JobView }) {
  slow.value;
  const { text, loose } = heldBy(j, viewNow());
  return <Clipped text={text} kind={loose ? 'text-late' : ''} />;
}

const STATES = [
  ['', 'all'],
  ['RUNNING', 'open'],
  ['SUCCEEDED', 'closed'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
] as const;

const FILTERS = ['q', 'state'];

export function SessionsPage() {
  slow.value;
  const looked = useListing<JobView>(api('jobs', { streaming: 'true', cluster: clusterQuery.value, ...filters(FILTERS) }), LIMIT, 'jobs');
  return (
    <div class="panels tall listed">
      <ListPanel
        id="sessions"
        title="Sessions"
        note="newest first"
        what="sessions"
        filters={FILTERS}
        looked={looked}
        columns={columns}
        name={(j) => j.id}
        data={(j) => ({ 'data-job': j.id, 'data-state': j.state })}
        href={(j) => jobAddress(j.id)}
        least={840}
        none={
          <>
            No sessions. A program opens a session with <code>muster.Client()</code> and keeps it while it is connected.
          </>
        }
      >
        <Choices name="state" label="State" options={STATES} />
      </ListPanel>
    </div>
  );
}
