import { serverUrl } from '../shared/base';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Retry } from '../now/retry';
import { Span } from '../shared/when';
import { Action } from '../shared/action';
import { Bar, partsOf } from '../shared/bar';
import { ClosureList } from './closure-list';
import { Commands } from '../shared/copy';
import { Fact, Metadata, TextFact, TimeFact } from '../shared/fact';
import { Gone } from '../shared/gone';
import { endedOf, isOver, retryableOf } from '../shared/model/counts';
import { bytes, count, percent, plural } from '../shared/model/format';
import { unfinished } from '../shared/model/protocol';
import { jobCommands } from '../shared/model/commands';
import { within } from '../shared/model/plain';
import { ClosureLink, JobLink } from '../shared/link';
import { Linked } from '../shared/linked';
import { LogPanel } from '../shared/log-panel';
import { CallInspector } from './call-inspector';
import { showRange, rangeShown } from '../explore/stream-state';
import { MachinesTable } from './machines-panel';
import { useMachinesOfJob } from './seen';
import { CompareMenu, ComparePanel } from './compare-panel';
import { callNow } from './inspect';
import { jobHeadline } from './model/headline';
import { RunFrame, RunHead } from './run-frame';
import { cancelText, pace, rateOf, sampled, type Sample } from './model/rate';
import { JobChip } from '../shared/state';
import type { ClosureView, JobView } from '../shared/model/views';
import { JobPicture } from './job-picture';
import { useHeading } from '../shell/heading';
import { useLooked } from '../shared/looked';
import { api, send } from '../shared/rest';
import { address, choose, chosen, follow, picked, subject } from '../shared/route';
import { store, viewNow } from '../shared/page';
import type { Range } from '../shared/range';

export function JobRun() {
  const id = subject.value;
  const path = api(`jobs/${encodeURIComponent(id)}`);
  const looked = useLooked<JobView>(path, { every: 1000, over: isOver });
  const job = looked.value;
  useHeading(job ? job.name || job.id : id, undefined, job?.streaming ? 'Session' : '');
  // Links to workers of another cluster must contain the cluster's name.
  const home = job?.cluster && store.clusters.all().find((c) => c.name === job.cluster && !c.main) ? job.cluster : '';
  useEffect(() => {
    if (home && !picked.value) choose({ cluster: home }, 'replace');
  }, [home]);
  const rows = useSignal<readonly ClosureView[]>([]);
  const call = callNow();
  const other = chosen('compare').value;
  const range = rangeShown();
  if (!job)
    return (
      <div class="panels">
        <Gone id="no-job" what="job" looked={looked} />
      </div>
    );
  return (
    <RunFrame
      head={
        <>
          <Gone id="no-job" what="job" looked={looked} />
          <Summary job={job} again={looked.again} />
        </>
      }
      chosen={call ? <CallInspector id={call} job={job.id} rows={rows.value} /> : null}
    >
      {other && <ComparePanel key={`${job.id} ${other}`} id={job.id} other={other} />}
      <JobPicture key={`${job.id} picture`} job={job} />
      <ClosureList key={job.id} job={job} shown={(all) => (rows.value = all)} />
      <LogPanel key={job.id} id={job.id} note={`all closures of ${job.name || job.id}`} range={range} />
      <JobMachines job={job} range={range} />
    </RunFrame>
  );
}

function JobMachines({ job, range }: { job: JobView; range: Range | null }) {
  const of = useMachinesOfJob(job, range);
  return <MachinesTable of={of} range={range ?? { from: job.created_ms, to: job.finished_ms || viewNow() }} zoomed={range} title="Machines of its workers" named look={showRange} />;
}

function Summary({ job, again }: { job: JobView; again(): void }) {
  const { counts } = job;
  const samples = useRef<{ of: string; list: Sample[] }>({ of: '', list: [] });
  if (samples.current.of !== job.id) samples.current = { of: job.id, list: [] };
  samples.current.list = sampled(samples.current.list, { at: viewNow(), done: endedOf(counts) });
  const running = unfinished(job.state);
  const what = job.streaming ? 'session' : 'job';
  const actions = (
    <>
      {running && (
        <Action
          testid="cancel-job"
          label={`Cancel ${what}`}
          title={`Cancel this ${what}?`}
          yes={`Cancel the ${what}`}
          danger
          run={async () => {
            await send('POST', api(`jobs/${encodeURIComponent(job.id)}/cancel`));
            again();
          }}
          done={`The ${what} was cancelled.`}
        >
          <p>{cancelText(counts)} Results of succeeded closures are kept.</p>
        </Action>
      )}
      {!running && !job.streaming && retryableOf(counts) > 0 && <Retry main id={job.id} counts={counts} retryable={job.retryable} />}
      <a class="button" href={address(`/runs/${encodeURIComponent(job.id)}/graph`)} onClick={follow} data-testid="job-graph">
        Graph
      </a>
      <a class="button" href={address('/explore/stream', { job: job.id })} onClick={follow}>
        Task stream
      </a>
      <CompareMenu key={job.id} run={job} />
      <Commands lines={jobCommands(job, serverUrl())} />
    </>
  );
  const facts = (
    <>
      <Fact name="id">
        <code>{job.id}</code>
      </Fact>
      <TextFact name="user" text={job.submitted_by} />
      <TimeFact name="started" ms={job.created_ms} />
      <Fact name={!running ? 'took' : counts.running > 0 ? 'runs for' : 'open for'}>
        <Span from={job.created_ms} to={job.finished_ms} />
      </Fact>
      <TimeFact name="ended" ms={job.finished_ms} />
      <TextFact name="cluster" text={job.cluster} />
      {job.retry_of && (
        <Fact name="retry of">
          <JobLink id={job.retry_of} />
        </Fact>
      )}
      {job.durable && <Fact name="durable">survives a restart of the server</Fact>}
      {!!job.put_back && <Fact name="requeued">{plural(job.put_back, 'closure')}</Fact>}
      {!!job.retried && <Fact name="retried">{plural(job.retried, 'time')}</Fact>}
      <TimeFact name="deadline" ms={job.deadline_ms} />
      {job.value_bytes !== undefined && (
        <Fact name="holds">
          <a href={address('/explore/values', { job: job.id })} onClick={follow}>
            {plural(job.values ?? 0, 'value')}, {bytes(job.value_bytes)}
          </a>
        </Fact>
      )}
      <TextFact name="client" text={job.client} kind="mono" />
      <Metadata of={job.metadata} />
    </>
  );
  return (
    <RunHead
      id="job"
      title={job.name || job.id}
      chip={<JobChip job={job} />}
      headline={jobHeadline(job, viewNow())}
      bad={job.state === 'FAILED'}
      actions={actions}
      facts={facts}
      data={{ 'data-testid': 'job', 'data-job': job.id, 'data-state': job.state }}
      cause={
        <>
          <Bar parts={partsOf(counts, counts.queued + counts.blocked)} total={counts.total} />
          <p class="job-line" data-testid="job-progress">
            <b>{counts.total === 0 ? 'no closures yet' : `${count(endedOf(counts))} of ${count(counts.total)} ended · ${percent(endedOf(counts), counts.total)}`}</b>
            {counts.succeeded > 0 && <span class="text-connected">{count(counts.succeeded)} succeeded</span>}
            {counts.failed > 0 && <b class="text-error">{count(counts.failed)} failed</b>}
            {counts.cancelled > 0 && <span>{count(counts.cancelled)} cancelled</span>}
            {!!job.not_kept && (
              <span data-testid="not-kept" title="The client released these closures before the server was restarted. Nothing is known about them, and these figures do not include them.">
                {count(job.not_kept)} not kept
              </span>
            )}
            {running && <span data-testid="job-pace">{pace(counts, rateOf(samples.current.list, job.created_ms))}</span>}
          </p>
          {running && counts.running === 0 && counts.queued + counts.blocked > 0 && <Waits key={job.id} job={job} />}
        </>
      }
    />
  );
}

// Shows why the first closure is waiting, if nothing is running.
function Waits({ job }: { job: JobView }) {
  const first = useLooked<{ closures: ClosureView[] }>(api(`jobs/${encodeURIComponent(job.id)}/closures`, { state: job.counts.queued > 0 ? 'QUEUED' : 'BLOCKED', limit: 1 }));
  const id = first.value?.closures[0]?.id ?? '';
  const why = useLooked<{ explanation: string }>(id && api(`closures/${encodeURIComponent(id)}/explain`));
  if (!why.value) return null;
  return (
    <p class="why" data-testid="job-waits">
      <ClosureLink id={id} job={job.id} /> is <Linked text={within(why.value.explanation)} job={job.id} />
    </p>
  );
}
