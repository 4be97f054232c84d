import { serverUrl } from '../shared/base';
import type { ComponentChildren } from 'preact';
import { Bar, partsOf } from '../shared/bar';
import { age, count, moment, outOf, percent, plural, short, shortId } from '../shared/model/format';
import { bare } from '../shared/model/ansi';
import { endedOf, waitingOf } from '../shared/model/counts';
import { lineOf } from '../shared/model/closures';
import { doing } from '../shared/model/doing';
import { cluster, poolOf, slow, store, viewNow } from '../shared/page';
import { Panel } from '../shared/panel';
import type { ShownFunction } from '../shared/model/counters-protocol';
import { unfinished, type Job } from '../shared/model/protocol';
import { follow, jobAddress, picked } from '../shared/route';
import { DoingChip } from '../shared/state';

const JOBS_SHOWN = 6;

export function Jobs() {
  slow.value;
  const of = picked.value ? cluster() : undefined;
  const jobs = store.jobs().filter((job) => !of || (job.cluster ?? '') === poolOf(of));
  // Unfinished jobs come first, then the newest jobs.
  const order = [...jobs].sort((a, b) => Number(unfinished(b.state)) - Number(unfinished(a.state)));
  const shown = order.slice(0, JOBS_SHOWN);
  const totals = of ? undefined : store.counters?.jobs;
  const open = totals ? (totals.queued ?? 0) + totals.running : 0;
  const all = totals ? open + endedOf(totals) : jobs.length;
  const rest = Math.max(all, jobs.length) - shown.length;
  return (
    <Panel id="jobs" title="Progress by job" span={12} aside={totals && <span class="note">{short(open)} unfinished</span>}>
      {shown.map((job) => (
        <JobRow key={job.id} job={job} />
      ))}
      {shown.length === 0 && store.jobsVersion > 0 && (
        <p class="calm">
          No jobs yet. Try <code class="wrap">muster submit muster.echo hello --url {serverUrl()}</code>
        </p>
      )}
      {rest > 0 && <p class="foot">and {count(rest)} more</p>}
    </Panel>
  );
}

export function JobRow({ job, chosen }: { job: Job; chosen?: boolean }) {
  const now = viewNow();
  const ended = !unfinished(job.state);
  const waiting = waitingOf(job.total, endedOf(job), job.running);
  const time = ended ? `${age(now - job.finished_ms)} ago` : age(now - job.created_ms);
  return (
    <div class={`progress${chosen ? ' is-chosen' : ''}`} data-testid="job-row" data-job={job.id} data-state={job.state}>
      <div class="progress-head">
        <a class="mono clip" href={jobAddress(job.id)} aria-current={chosen ? 'true' : undefined} onClick={follow} title={job.name ? `${job.name} (${job.id})` : job.id}>
          <bdi>{job.name || shortId(job.id)}</bdi>
        </a>
        {job.cluster && (
          <span class="soft clip" title="cluster">
            <bdi>{job.cluster}</bdi>
          </span>
        )}
        <span data-testid="job-ended">{fraction(endedOf(job), job.total)}</span>
      </div>
      <Bar parts={partsOf(job, waiting)} total={job.total} />
      <div class="progress-foot">
        {(ended || job.running === 0) && <DoingChip is={doing(job, job.running, waiting)} />}
        {ended ? null : <span>{`${count(job.running)} running · ${count(waiting)} waiting`}</span>}
        <Failed n={job.failed} />
        <Cancelled n={job.cancelled} />
        <time title={moment(ended ? job.finished_ms : job.created_ms)}>{time}</time>
      </div>
      {job.state === 'FAILED' && job.error && (
        <p class="progress-error text-error" title={bare(job.error)}>
          <bdi>{lineOf(job.error)}</bdi>
        </p>
      )}
    </div>
  );
}

export function Functions() {
  slow.value;
  const { counters } = store;
  const { functions, more } = counters?.progress ?? { functions: [], more: 0 };
  return (
    <Panel id="functions" title="Progress by function" span={12}>
      {functions.map((f) => (
        <FunctionRow key={f.name} f={f} />
      ))}
      {more > 0 && <p class="foot">and {count(more)} more</p>}
      {functions.length === 0 && <p class="calm">No closure has been scheduled yet.</p>}
    </Panel>
  );
}

function FunctionRow({ f }: { f: ShownFunction }) {
  const waiting = f.queued + f.waiting;
  const total = waiting + f.running + endedOf(f);
  return (
    <div class="progress" data-testid="function-row" data-function={f.name}>
      <div class="progress-head">
        <b class="mono clip" title={f.name}>
          <bdi>{f.name}</bdi>
        </b>
        <span>{fraction(endedOf(f), total)}</span>
      </div>
      <Bar parts={partsOf(f, waiting)} total={total} />
      <div class="progress-foot">
        <span>{`${count(f.running)} running · ${count(waiting)} waiting`}</span>
        <Failed n={f.failed} />
        <Cancelled n={f.cancelled} />
      </div>
    </div>
  );
}

function fraction(ended: number, total: number): ComponentChildren {
  return total === 0 ? 'empty' : `${outOf(ended, total)} ended · ${percent(ended, total)}`;
}

function Failed({ n }: { n: number }) {
  return n > 0 ? (
    <b class="text-error" title={plural(n, 'closure')}>
      {count(n)} failed
    </b>
  ) : null;
}

function Cancelled({ n }: { n: number }) {
  return n > 0 ? <span>{count(n)} cancelled</span> : null;
}
