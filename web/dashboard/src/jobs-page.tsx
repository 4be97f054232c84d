// Jobs; of the chosen one its closures with their progress, and what they log.

import { useEffect } from 'preact/hooks';
import { Bar } from './parts/bar';
import { age, count, percent } from './model/format';
import { readClosures, readJob, type Closure } from './jobs-client';
import { LogPanel } from './parts/log-panel';
import { useLooked } from './looked';
import { cluster, poolOf, slow, store, viewNow } from './page';
import { Panel } from './parts/panel';
import { JobRow } from './parts/progress';
import type { Job } from './model/protocol';
import { api } from './rest';
import { address, closureAddress, follow, picked, subject } from './route';
import { Mark, type Shape } from './parts/shape';

const SHAPES: Record<Closure['state'], Shape> = {
  BLOCKED: 'waiting',
  QUEUED: 'waiting',
  RUNNING: 'waiting',
  SUCCEEDED: 'connected',
  FAILED: 'error',
  CANCELLED: 'disconnected',
};

export function JobsPage() {
  slow.value;
  const of = picked.value && cluster();
  const jobs = store.jobs().filter((j) => !of || (j.cluster ?? '') === poolOf(of));
  const { job, other, problem, gone } = useShown(jobs);
  return (
    <div class="panels">
      <div class="stack span-4">
        <Panel id="jobs" title="Jobs" note={jobs.length > 0 && 'newest first'} span={12}>
          <div class="jobs-list">
            {jobs.map((j) => (
              <JobRow key={j.id} job={j} chosen={j.id === job?.id} />
            ))}
            {other && <JobRow job={other} chosen />}
          </div>
          {jobs.length === 0 && store.jobsVersion > 0 && (
            <p class="calm">
              No job yet. Try <code class="wrap">muster submit muster.echo hello {of && !of.main && `--cluster ${of.name} `}--url {location.origin}</code>
            </p>
          )}
        </Panel>
        {job && <ClosureList key={job.id} job={job.id} />}
      </div>
      {job && <LogPanel key={job.id} id={job.id} note={`all closures of ${job.name || job.id}`} />}
      {!job && problem && <NoJob why={problem} gone={gone} />}
    </div>
  );
}

// Also one that the list has no room for is shown, at its end: it is older than those.
function useShown(jobs: readonly Job[]): { job: Job | null; other: Job | null; problem: string; gone: boolean } {
  const id = subject.value || (jobs.find((job) => job.state === 'RUNNING') ?? jobs[0])?.id || '';
  const listed = jobs.find((j) => j.id === id) ?? null;
  const looked = useLooked(listed || store.jobsVersion === 0 || !id ? '' : api(`jobs/${encodeURIComponent(id)}`), { read: readJob });
  const job = listed ?? looked.value;
  useEffect(() => {
    if (subject.value) document.querySelector('#jobs .is-chosen')?.scrollIntoView({ block: 'nearest' });
  }, [subject.value, job === null]);
  return { job, other: looked.value, problem: looked.problem, gone: looked.gone };
}

function NoJob({ why, gone }: { why: string; gone: boolean }) {
  return (
    <Panel id="no-job" title={gone ? 'No such job' : 'Job'} span={8}>
      <div data-testid="no-job" role="status">
        <p class="calm text-error">
          <bdi>{why}</bdi>
        </p>
        <p class="calm">
          Choose another one in the list, or <a href={address('/jobs')} onClick={follow}>look at the newest</a>.
        </p>
      </div>
    </Panel>
  );
}

// Asked for over REST while anything of the job can change.
function ClosureList({ job }: { job: string }) {
  const { value: read, problem } = useLooked(api(`jobs/${encodeURIComponent(job)}/closures`, { limit: 200 }), { read: readClosures });
  const closures = read?.closures ?? [];
  return (
    <Panel id="closures" title="Closures" note={closures.length > 0 && 'in schedule order'} span={12}>
      <div class="jobs-list">
        {closures.map((c) => (
          <ClosureRow key={c.id} job={job} c={c} />
        ))}
      </div>
      {problem && <p class="calm text-error">{problem}</p>}
      {read && closures.length === 0 && <p class="calm">It has no closures.</p>}
      {read?.more && <p class="foot">Only the first {count(closures.length)} are shown.</p>}
    </Panel>
  );
}

function ClosureRow({ job, c }: { job: string; c: Closure }) {
  const last = c.attempts.at(-1);
  const fraction = c.state === 'SUCCEEDED' ? 1 : (c.progress?.fraction ?? 0);
  const time = last ? age((last.ended_ms || viewNow()) - last.started_ms) : '';
  return (
    <div class={`progress`} data-testid="closure-row" data-closure={c.id} data-state={c.state}>
      <div class="progress-head">
        <a class="mono clip" href={closureAddress(c.id, job)} onClick={follow}>
          <bdi>
            #{c.index} {c.function}
          </bdi>
        </a>
        <span class="chip">
          <Mark shape={SHAPES[c.state]} /> {c.state.toLowerCase()}
        </span>
      </div>
      {(c.progress || c.state === 'RUNNING') && <Bar parts={[{ kind: 'done', n: fraction }, { kind: 'running', n: c.state === 'RUNNING' ? 1 - fraction : 0 }]} total={1} />}
      <div class="progress-foot">
        {c.progress && <span data-testid="closure-progress">{percent(c.progress.fraction, 1)}</span>}
        {c.progress?.text && (
          <span class="clip">
            <bdi>{c.progress.text}</bdi>
          </span>
        )}
        {c.sent_to ? <span>sent ahead to {c.sent_to}</span> : last && <span>{last.worker}</span>}
        {c.attempts.length > 1 && <span>attempt {last!.attempt}</span>}
        {time && <time>{time}</time>}
      </div>
      {c.error && (
        <p class="progress-error text-error" title={c.error.message}>
          <bdi>{c.error.message}</bdi>
        </p>
      )}
    </div>
  );
}
