// Jobs; of the chosen one its closures with their progress, and what they log.

import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { Bar } from './bar';
import { readClosures, type Closure, type Closures } from './closures-client';
import { age, count, percent } from './format';
import { LogPanel } from './log-panel';
import { frozen, shownJob, slow, store, viewNow } from './page';
import { Panel } from './panel';
import { JobRow } from './progress';
import { address, follow, pickedClosure } from './route';
import { Mark, type Shape } from './shape';

const LOOK_MS = 1000;
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
  const jobs = store.jobs();
  const job = shownJob.value;
  return (
    <div class="panels">
      <div class="stack span-4">
        <Panel id="jobs" title="Jobs" note={jobs.length > 0 && 'newest first'} span={12}>
          <div class="jobs-list">
            {jobs.map((j) => (
              <JobRow key={j.id} job={j} chosen={j.id === job} />
            ))}
          </div>
          {jobs.length === 0 && (
            <p class="calm">
              No job yet. Try <code class="wrap">muster submit muster.echo hello --url {location.origin}</code>
            </p>
          )}
        </Panel>
        {job && <ClosureList key={job} job={job} />}
      </div>
      {job && <LogPanel key={pickedClosure.value || job} id={pickedClosure.value || job} note={pickedClosure.value ? `closure ${pickedClosure.value}` : `all closures of ${name(job)}`} />}
    </div>
  );
}

const name = (job: string): string => store.jobs().find((j) => j.id === job)?.name || job;

// Asked for over REST while anything of the job can change.
function ClosureList({ job }: { job: string }) {
  const read = useSignal<Closures | null>(null);
  const problem = useSignal('');
  useEffect(() => {
    let gone = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      if (!frozen.value && !document.hidden)
        try {
          const next = await readClosures(job);
          if (gone) return;
          read.value = next;
          problem.value = '';
        } catch (error) {
          problem.value = error instanceof Error ? error.message : String(error);
        }
      if (!gone) timer = setTimeout(look, LOOK_MS);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [job]);
  const closures = read.value?.closures ?? [];
  const all = pickedClosure.value !== '' && (
    <a href={address('/jobs', { job })} onClick={follow} data-testid="all-closures">
      log of all
    </a>
  );
  return (
    <Panel id="closures" title="Closures" note={closures.length > 0 && 'in schedule order'} span={12} aside={all}>
      <div class="jobs-list">
        {closures.map((c) => (
          <ClosureRow key={c.id} job={job} c={c} />
        ))}
      </div>
      {problem.value && <p class="calm text-error">{problem.value}</p>}
      {read.value && closures.length === 0 && <p class="calm">It has no closures.</p>}
      {read.value?.more && <p class="foot">Only the first {count(closures.length)} are shown.</p>}
    </Panel>
  );
}

function ClosureRow({ job, c }: { job: string; c: Closure }) {
  const last = c.attempts.at(-1);
  const fraction = c.state === 'SUCCEEDED' ? 1 : (c.progress?.fraction ?? 0);
  const time = last ? age((last.ended_ms || viewNow()) - last.started_ms) : '';
  return (
    <div class={`progress${pickedClosure.value === c.id ? ' is-chosen' : ''}`} data-testid="closure-row" data-closure={c.id} data-state={c.state}>
      <div class="progress-head">
        <a class="mono clip" href={address('/jobs', { job, closure: c.id })} aria-current={pickedClosure.value === c.id ? 'true' : undefined} onClick={follow}>
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
        {last && <span>{last.worker}</span>}
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
