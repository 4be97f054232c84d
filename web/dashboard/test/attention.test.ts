import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attention, type Facts } from '../src/model/attention';
import type { ClusterRow, Counters, Job, TaskRows } from '../src/model/protocol';
import { Tasks } from '../src/model/tasks';

function counters(change: Partial<{ queued: number; workers: number; ever_had: boolean; put_back: number; aborted: number; connected: number }> = {}): Counters {
  return {
    uptime_ms: 60_000,
    tasks: { connected: change.connected ?? 1, late: 0, error: 0, disconnected: 0, total: 1 },
    closures: { blocked: 0, queued: change.queued ?? 0, running: 0, succeeded: 0, failed: 0, cancelled: 0, put_back: change.put_back ?? 0 },
    rates: { finished: 0, failed: 0 },
    remote_values: { not_ready: 0, ready: 0, aborted: change.aborted ?? 0, held: 0, held_bytes: 0 },
    heartbeat_age_ms: { p50: 0, p99: 0, max: 0 },
    jobs: { running: 0, succeeded: 0, failed: 0, cancelled: 0 },
    sessions: 0,
    stalled: { since_ms: 0, oldest: [] },
    alone: { count: 0, oldest: [] },
    functions: change.queued ? [{ name: 'f', workers: change.workers ?? 1, ever_had: change.ever_had ?? true, queued: change.queued, running: 0, succeeded: 0, failed: 0 }] : [],
  };
}

function tasksOf(...of: [state: string, host: string, error: string][]): Tasks {
  const tasks = new Tasks();
  const rows: TaskRows = {
    i: of.map((_, n) => n),
    job: of.map(() => 'worker'),
    index: of.map((_, n) => n),
    state: of.map(([state]) => state),
    seen: of.map(() => 0),
    since: of.map((_, n) => 100 - n),
    incarnation: of.map(() => ''),
    host: of.map(([, host]) => host),
    slots: of.map(() => 1),
    running: of.map(() => 0),
    finished: of.map(() => 0),
    error: of.map(([, , error]) => error),
  };
  tasks.apply(rows, [], 0, 5000);
  return tasks;
}

const facts = (change: Partial<Facts> = {}): Facts => ({ tasks: new Tasks(), counters: counters(), jobs: [], hello: null, now: 10_000_000, ...change });
const failed = (id: string, finished_ms: number, error = 'boom'): Job => ({
  id, name: '', state: 'FAILED', total: 1, queued: 0, running: 0, succeeded: 0, failed: 1, cancelled: 0, created_ms: 0, finished_ms, error,
});

test('a function that no connected worker has is named, and whether one ever had it', () => {
  const only = (change: Parameters<typeof counters>[0]) => attention(facts({ counters: counters({ queued: 3, ...change }) }));
  assert.deepEqual(only({ workers: 1 }), []);
  const [never] = only({ workers: 0, ever_had: false });
  assert.equal(never!.title, '3 closures wait for f, which no connected worker has');
  assert.match(never!.detail, /ever had it/);
  assert.match(only({ workers: 0, ever_had: true })[0]!.detail, /have gone/);
});

test('a healthy cluster needs nothing', () => {
  assert.deepEqual(attention(facts({ tasks: tasksOf(['CONNECTED', 'h', '']) })), []);
});

test('one task is named with its reason', () => {
  const [item] = attention(facts({ tasks: tasksOf(['CONNECTED', 'h', ''], ['ERROR', 'node-2', 'killed']) }));
  assert.equal(item!.title, 'worker:1 is in error');
  assert.equal(item!.detail, 'killed · on node-2');
  assert.equal(item!.row, 1);
});

test('many tasks are one line, with what they share', () => {
  const late = Array.from({ length: 8 }, (): [string, string, string] => ['LATE', 'rack-41', '']);
  const [item, ...rest] = attention(facts({ tasks: tasksOf(...late) }));
  assert.equal(rest.length, 0);
  assert.equal(item!.title, '8 tasks late');
  assert.match(item!.detail, /worker:0, worker:1, worker:2 and 5 more · all on rack-41/);
  assert.equal(item!.since, 93);
});

test('the worst comes first', () => {
  const items = attention(
    facts({
      tasks: tasksOf(['LATE', '', ''], ['ERROR', '', ''], ['DISCONNECTED', '', ''], ['RESTARTING', '', '']),
      counters: counters({ put_back: 2, aborted: 3, queued: 4, connected: 0 }),
      jobs: [failed('job_1', 9_990_000)],
    }),
  );
  assert.deepEqual(items.map((item) => item.kind), [
    'tasks-error', 'jobs-failed', 'starving', 'values-aborted', 'tasks-disconnected', 'tasks-late', 'tasks-restarting', 'put-back',
  ]);
});

test('closures that wait need attention only while nobody can run them', () => {
  assert.deepEqual(attention(facts({ counters: counters({ queued: 4, connected: 1 }) })), []);
  const [item] = attention(facts({ counters: counters({ queued: 4, connected: 0 }) }));
  assert.match(item!.title, /^4 closures wait, but no worker/);
  assert.match(item!.detail, /^f will start .*muster worker --server/);
});

test('failed jobs: three by name, more in one line, old ones not at all', () => {
  const jobs = (n: number) => Array.from({ length: n }, (_, at) => failed(`job_${at}`, 9_990_000));
  assert.equal(attention(facts({ jobs: jobs(3) })).length, 3);
  const [all, ...rest] = attention(facts({ jobs: jobs(5) }));
  assert.equal(rest.length, 0);
  assert.equal(all!.title, '5 jobs failed');
  assert.deepEqual(attention(facts({ jobs: [failed('job_old', 10)] })), []);
});

test('a cluster that failed says where it began', () => {
  const cause = { task: '/job:worker/task:7', message: 'out of memory', at: 5 };
  const cluster = (state: ClusterRow['state'], extra = {}) => ({ name: 'train', state, ...extra }) as ClusterRow;
  const items = attention({ tasks: new Tasks(), counters: null, jobs: [], hello: null, now: 9, clusters: [cluster('RUNNING'), cluster('FAILED', { cause })] });
  assert.deepEqual(
    items.map((i) => [i.kind, i.title, i.detail, i.since]),
    [['cluster-failed', 'Cluster train failed', 'it began at /job:worker/task:7: out of memory', 5]],
  );
});

test('closures that lose worker after worker are listed with where they run, and more of them are counted', () => {
  const now = counters();
  assert.deepEqual(attention(facts({ counters: now })), []);
  now.alone = {
    count: 3,
    oldest: [
      { closure: 'cl_1', job: 'job_2', function: 'train', workers_lost: 4, worker: 'worker:2', since_ms: 50 },
      { closure: 'cl_3', function: 'again', workers_lost: 3, since_ms: 60 },
    ],
  };
  const items = attention(facts({ counters: now }));
  assert.deepEqual(
    items.map((i) => [i.kind, i.title, i.detail, i.since, i.closure]),
    [
      ['closure-alone', 'train has lost 4 workers', 'cl_1 runs alone on worker:2', 50, { job: 'job_2', id: 'cl_1' }],
      ['closure-alone', 'again has lost 3 workers', 'cl_3 waits for a worker of its own', 60, undefined],
      ['closure-alone', '1 more closure lost worker after worker', '', null, undefined],
    ],
  );
  now.alone = { count: 0, oldest: [] };
  assert.deepEqual(attention(facts({ counters: now })), []);
});

test('nothing finishes: since when, and what runs the longest', () => {
  const now = counters({ queued: 3 });
  now.closures.running = 2;
  now.stalled = { since_ms: 9_940_000, oldest: [{ closure: 'cl_1', function: 'f', worker: 'worker:2', since_ms: 9_880_000 }] };
  const [item] = attention(facts({ counters: now }));
  assert.equal(item!.kind, 'stalled');
  assert.match(item!.title, /^Nothing has finished for 1 ?m/);
  assert.match(item!.detail, /^2 closures run, 3 queued · the oldest: f on worker:2 for 2 ?m/);
  assert.equal(item!.since, 9_940_000);
});
