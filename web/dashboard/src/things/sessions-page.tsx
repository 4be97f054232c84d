// Sessions: who holds them, what they hold, and how to end one.

import { useSignal } from '@preact/signals';
import { bytes, count, short, shortId } from '../model/format';
import { doneOf } from '../model/rest/rate';
import { heldBy } from '../model/rest/sessions';
import type { JobView } from '../model/rest/views';
import { Grid, type Column } from '../parts/grid';
import { Choices, Filters, Pages, useListing } from '../parts/listing';
import { Panel } from '../parts/panel';
import { JobChip } from '../parts/state';
import { Ago } from '../parts/when';
import { clusterQuery, query, slow, viewNow } from '../page';
import { api } from '../rest';
import { chosen, follow, jobAddress } from '../route';

const LIMIT = 50;

const columns: readonly Column<JobView>[] = [
  { title: 'State', width: '104px', cell: (j) => <JobChip job={j} /> },
  {
    title: 'Session',
    width: 'minmax(150px, 1.6fr)',
    cell: (j) => (
      <a class="mono" href={jobAddress(j.id)} onClick={follow} tabIndex={-1} title={`${j.name} (${j.id})`}>
        <bdi>{j.name || shortId(j.id)}</bdi>
      </a>
    ),
  },
  { title: 'Values', width: '70px', right: true, cell: (j) => short(j.values ?? j.holding?.values ?? 0) },
  { title: 'Memory', width: '84px', right: true, cell: (j) => bytes(j.value_bytes ?? j.holding?.value_bytes ?? 0) },
  { title: 'Unfinished', width: '80px', right: true, narrow: 'hide', cell: ({ counts }) => count(counts.blocked + counts.queued + counts.running) },
  { title: 'Finished', width: '80px', right: true, narrow: 'hide', cell: (j) => <Finished j={j} /> },
  { title: 'Failed', width: '60px', right: true, narrow: 'hide', cell: ({ counts }) => (counts.failed > 0 ? <b class="text-error">{short(counts.failed)}</b> : 0) },
  { title: 'Began', width: '100px', right: true, cell: (j) => <Ago ms={j.created_ms} /> },
  { title: 'Held by', width: 'minmax(170px, 2fr)', narrow: 'long', cell: (j) => <Held j={j} /> },
];

function Finished({ j }: { j: JobView }) {
  const more = j.not_kept ?? 0;
  return (
    <span title={more > 0 ? `and ${count(more)} from before the server was restarted, which are not kept` : 'ended, failures included'}>
      {short(doneOf(j.counts))}
      {more > 0 && <span class="soft"> + {short(more)}</span>}
    </span>
  );
}

function Held({ j }: { j: JobView }) {
  slow.value;
  const { text, loose } = heldBy(j, viewNow());
  return (
    <bdi class={loose ? 'text-late' : ''} title={text}>
      {text}
    </bdi>
  );
}

const STATES = [
  ['', 'all'],
  ['RUNNING', 'open'],
  ['SUCCEEDED', 'closed'],
  ['FAILED', 'failed'],
  ['CANCELLED', 'cancelled'],
] as const;

export function SessionsPage() {
  slow.value;
  const now = useSignal<string | null>(null);
  const wanted = query.value.trim();
  const state = chosen('state').value;
  const filtered = !!(wanted || state);
  const looked = useListing<JobView>(api('jobs', { streaming: 'true', cluster: clusterQuery.value, state, q: wanted }), LIMIT, { rows: (body: { jobs: JobView[] }) => body.jobs });
  return (
    <div class="panels tall listed">
      <Panel id="sessions" title="Sessions" note="newest first" span={12}>
        <Filters names={['q', 'state']} problem={looked.problem}>
          <Choices name="state" label="State" options={STATES} />
        </Filters>
        <Grid
          id="sessions"
          columns={columns}
          rows={looked.value?.rows ?? []}
          name={(j) => j.id}
          data={(j) => ({ 'data-job': j.id, 'data-state': j.state })}
          href={(j) => jobAddress(j.id)}
          chosen={now.value}
          choose={(name) => (now.value = name)}
          old={looked.stale}
          least={840}
          empty={
            !looked.value ? (
              looked.problem ? (
                '–'
              ) : (
                'Loading…'
              )
            ) : filtered ? (
              'No session fits.'
            ) : (
              <>
                No session. A program opens one with <code>muster.Client()</code> and keeps it while it is connected.
              </>
            )
          }
        />
        <Pages looked={looked} what="sessions" filtered={filtered} />
      </Panel>
    </div>
  );
}
