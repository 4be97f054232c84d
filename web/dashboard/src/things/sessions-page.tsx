import { bytes, count, short, shortId } from '../model/format';
import { doneOf } from '../model/rest/rate';
import { heldBy } from '../model/rest/sessions';
import type { JobView } from '../model/rest/views';
import type { Column } from '../parts/grid';
import { Link } from '../parts/link';
import { Choices, filters, ListPanel, useListing } from '../parts/listing';
import { JobChip } from '../parts/state';
import { Clipped } from '../parts/text';
import { Ago } from '../parts/when';
import { clusterQuery, slow, viewNow } from '../page';
import { api } from '../rest';
import { jobAddress } from '../route';

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
