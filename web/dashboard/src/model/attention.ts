// What needs a person, worst first, one line for one cause. Pure: the panel draws what this returns.

import { age, count, plural, some, span } from './format';
import { problemIds } from './order';
import type { ClusterRow, Counters, FunctionCounts, Hello, Job } from './protocol';
import { TASK_STATES, type TaskState } from './protocol';
import type { Shape } from '../parts/shape';
import { SHAPES } from '../parts/shape';
import type { Tasks } from './tasks';

export interface Item {
  kind: string;
  shape: Shape;
  title: string;
  detail: string;
  since: number | null; // server time
  row: number | null; // a task to show
  closure?: { job: string; id: string }; // to show
}

export interface Facts {
  tasks: Tasks;
  counters: Counters | null;
  jobs: readonly Job[];
  hello: Hello | null;
  clusters?: readonly ClusterRow[];
  now: number;
}

const FAILED_JOB_MS = 3_600_000; // a job that failed longer ago than this is history
const FAILED_JOBS_SHOWN = 3;

const TITLES: Partial<Record<TaskState, string>> = {
  ERROR: 'in error',
  DISCONNECTED: 'disconnected',
  LATE: 'late',
  RESTARTING: 'restarting',
};

export function attention(facts: Facts): Item[] {
  return [
    ...failedClusters(facts),
    ...taskItem(facts, 'ERROR'),
    ...failedJobs(facts),
    ...starving(facts),
    ...stalled(facts),
    ...alone(facts),
    ...aborted(facts),
    ...taskItem(facts, 'DISCONNECTED'),
    ...taskItem(facts, 'LATE'),
    ...taskItem(facts, 'RESTARTING'),
    ...putBack(facts),
  ];
}

// A run of agents that ended in an error, with the place where it began.
function failedClusters({ clusters = [] }: Facts): Item[] {
  return clusters
    .filter((c) => c.state === 'FAILED')
    .map((c) => ({
      kind: 'cluster-failed',
      shape: 'error',
      title: `Cluster ${c.name} failed`,
      detail: c.cause ? `${c.cause.task ? `it began at ${c.cause.task}: ` : ''}${c.cause.message}` : '',
      since: c.cause?.at ?? null,
      row: null,
    }));
}

function mostCommon(values: readonly string[]): [string, number] {
  const seen = new Map<string, number>();
  let best: [string, number] = ['', 0];
  for (const value of values) {
    if (value === '') continue;
    const n = (seen.get(value) ?? 0) + 1;
    seen.set(value, n);
    if (n > best[1]) best = [value, n];
  }
  return best;
}

function taskItem({ tasks, hello }: Facts, state: TaskState): Item[] {
  const number = TASK_STATES.indexOf(state);
  const slots = problemIds(tasks)
    .map((id) => tasks.slot(id)!)
    .filter((slot) => tasks.stateAt(slot) === number)
    .sort((a, b) => tasks.jobAt(a) - tasks.jobAt(b) || tasks.indexAt(a) - tasks.indexAt(b));
  if (slots.length === 0) return [];

  const [reason, reasons] = mostCommon(slots.map((slot) => tasks.errorAt(slot)));
  const [host, onHost] = mostCommon(slots.map((slot) => tasks.hostAt(slot)));
  const names = some(slots.slice(0, 3).map((slot) => tasks.nameAt(slot)), 3, slots.length);
  const parts = [slots.length === 1 ? '' : names];
  if (reasons > 0) parts.push(reasons === slots.length ? reason : `${count(reasons)}: ${reason}`);
  else if (state === 'LATE' && hello) parts.push(`no heartbeat for ${span(hello.late_ms)}`);
  if (slots.length > 1 && onHost > 1 && onHost * 2 > slots.length) {
    parts.push(`${onHost === slots.length ? 'all' : `${count(onHost)} of them`} on ${host}`);
  } else if (slots.length === 1 && host !== '') parts.push(`on ${host}`);

  return [
    {
      kind: `tasks-${state.toLowerCase()}`,
      shape: SHAPES[state],
      title: slots.length === 1 ? `${names} is ${TITLES[state]}` : `${count(slots.length)} tasks ${TITLES[state]}`,
      detail: parts.filter((part) => part !== '').join(' · '),
      since: Math.min(...slots.slice(0, 1000).map((slot) => tasks.sinceAt(slot))),
      row: tasks.idAt(slots[0]!),
    },
  ];
}

function jobLabel(job: Job): string {
  return job.name || job.id;
}

function failedJobs({ jobs, now }: Facts): Item[] {
  const failed = jobs.filter((job) => job.state === 'FAILED' && now - job.finished_ms < FAILED_JOB_MS);
  const item = (title: string, detail: string, since: number): Item => ({
    kind: 'jobs-failed',
    shape: 'error',
    title,
    detail,
    since,
    row: null,
  });
  if (failed.length > FAILED_JOBS_SHOWN) {
    const newest = failed[0]!;
    const detail = `${some(failed.map(jobLabel))}${newest.error ? ` · newest: ${newest.error}` : ''}`;
    return [item(`${count(failed.length)} jobs failed`, detail, newest.finished_ms)];
  }
  return failed.map((job) =>
    item(`Job ${jobLabel(job)} failed`, job.error || `${plural(job.failed, 'closure')} failed`, job.finished_ms),
  );
}

// Work that waits for nobody: the one queue that does not drain by itself.
function starving({ counters }: Facts): Item[] {
  if (!counters || counters.closures.queued === 0) return [];
  if (counters.tasks.connected + counters.tasks.late > 0) return counters.functions.filter((f) => f.queued > 0 && f.workers === 0).map(unknown);
  const waiting = counters.functions.filter((f) => f.queued > 0).map((f) => f.name);
  const what = waiting.length > 0 ? `${some(waiting)} will start` : 'They will start';
  return [
    {
      kind: 'starving',
      shape: 'error',
      title: `${plural(counters.closures.queued, 'closure waits', 'closures wait')}, but no worker is connected`,
      detail: `${what} when one joins: muster worker --server ${joinAddress()}`,
      since: null,
      row: null,
    },
  ];
}

// Connected workers have other functions.
function unknown(f: FunctionCounts): Item {
  return {
    kind: 'starving',
    shape: 'error',
    title: `${plural(f.queued, 'closure waits', 'closures wait')} for ${f.name}, which no connected worker has`,
    detail: f.ever_had ? 'The workers that had it have gone' : 'No worker has ever had it: is its name right?',
    since: null,
    row: null,
  };
}

// The watchdog has spoken and nothing has finished since.
function stalled({ counters, now }: Facts): Item[] {
  if (!counters || counters.stalled.since_ms === 0) return [];
  const { since_ms, oldest } = counters.stalled;
  const longest = oldest.map((c) => `${c.function} on ${c.worker} for ${span(now - c.since_ms)}`);
  return [
    {
      kind: 'stalled',
      shape: 'error',
      title: `Nothing has finished for ${span(now - since_ms)}`,
      detail: [
        `${plural(counters.closures.running, 'closure runs', 'closures run')}, ${count(counters.closures.queued)} queued`,
        ...(longest.length > 0 ? [`the oldest: ${some(longest)}`] : []),
      ].join(' · '),
      since: since_ms,
      row: null,
    },
  ];
}

// Closures that may be what kills their workers; they run alone until they end.
function alone({ counters }: Facts): Item[] {
  if (!counters) return [];
  const { count: all, oldest } = counters.alone;
  const items = oldest.map((c): Item => ({
    kind: 'closure-alone',
    shape: 'error',
    title: `${c.function} has lost ${plural(c.workers_lost, 'worker')}`,
    detail: `${c.closure} ${c.worker ? `runs alone on ${c.worker}` : 'waits for a worker of its own'}`,
    since: c.since_ms,
    row: null,
    ...(c.job ? { closure: { job: c.job, id: c.closure } } : {}),
  }));
  const rest = all - oldest.length;
  if (rest > 0) items.push({ kind: 'closure-alone', shape: 'error', title: `${plural(rest, 'more closure')} lost worker after worker`, detail: '', since: null, row: null });
  return items;
}

function aborted({ counters }: Facts): Item[] {
  const n = counters?.remote_values.aborted ?? 0;
  if (n === 0) return [];
  return [
    {
      kind: 'values-aborted',
      shape: 'error',
      title: `${plural(n, 'remote value')} aborted`,
      detail: 'their producer was lost or cancelled',
      since: null,
      row: null,
    },
  ];
}

function putBack({ counters }: Facts): Item[] {
  const n = counters?.closures.put_back ?? 0;
  if (!counters || n === 0) return [];
  return [
    {
      kind: 'put-back',
      shape: 'put-back',
      title: `${plural(n, 'closure')} put back`,
      detail: `their worker was lost; they run again elsewhere (in ${age(counters.uptime_ms)} of uptime)`,
      since: null,
      row: null,
    },
  ];
}

// Workers join on the gRPC port; the page only knows the host it was loaded from and the default port.
export function joinAddress(): string {
  const host = typeof location === 'undefined' ? 'localhost' : location.hostname || 'localhost';
  return `${host}:8476`;
}
