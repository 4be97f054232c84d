import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byWorker, ready, worstFirst } from '../src/explore/model/per-worker';
import { heldBy } from '../src/work/model/sessions';
import { minuteBars, standing, uses } from '../src/fleet/model/worker';
import type { JobView, PerWorkerView, WorkerView } from '../src/shared/model/views';
import { only, type Part } from './only';

const worker = (more: Part<WorkerView> = {}) =>
  only<WorkerView>({
    kind: 'worker',
    job: 'worker',
    index: 3,
    state: 'CONNECTED',
    since_ms: 0,
    last_seen_ms: 0,
    heartbeat_age_ms: 0,
    incarnation: '',
    host: '',
    pid: 1,
    version: '',
    slots: 4,
    credits: 8,
    running: 3,
    sent_ahead: 0,
    finished: 0,
    failed: 0,
    restarts: 0,
    reconnects: 0,
    draining: false,
    away: false,
    functions: [],
    labels: {},
    resources: {},
    error: '',
    ...more,
  });

test('used slots and resources of a worker are listed', () => {
  const all = uses(worker({ running: 9, resources: { gpu: { total: 4, free: 1 }, cpu: { total: 8 } } }));
  assert.deepEqual(all, [
    { name: 'slots', used: 4, total: 4 },
    { name: 'cpu', used: 0, total: 8 },
    { name: 'gpu', used: 3, total: 4 },
  ]);
});

test('reasons why a worker gets no closures are listed, most severe first', () => {
  assert.deepEqual(standing(worker()), []);
  const words = (w: WorkerView) => standing(w).map(({ word }) => word);
  assert.deepEqual(words(worker({ state: 'ERROR', error: 'lost', cordoned: true, draining: true })), ['in error', 'draining', 'cordoned']);
  assert.deepEqual(words(worker({ away: true })), ['away']);
});

test('bars of the last hour are scaled to the tallest and to all slots', () => {
  const { bars, most, sentence } = minuteBars({ step_ms: 60_000, t: [0, 60_000], finished: [10, 5], failed: [1, 5], busy_ms: [120_000, 999_999] }, 4);
  assert.equal(most, 10);
  assert.deepEqual(
    bars.map(({ succeeded, failed, busy }) => [succeeded, failed, busy]),
    [
      [0.9, 0.1, 0.5],
      [0, 0.5, 1],
    ],
  );
  assert.match(bars[0]!.title, /10 executions, 1 of them failed, 50.0% busy/);
  assert.match(sentence, /^15 executions ended in the last 2m 00s, 6 of them failed; busy 75.0%/);
  assert.equal(minuteBars({ step_ms: 60_000, t: [], finished: [], failed: [], busy_ms: [] }, 0).bars.length, 0);
});

test('the client that holds a session is named', () => {
  const session = (more: Part<JobView>) =>
    only<JobView>({
      id: 'job_1',
      name: '',
      state: 'RUNNING',
      counts: { total: 0, blocked: 0, queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 },
      created_ms: 0,
      finished_ms: 0,
      ...more,
    });
  const holding = { attached: false, detached: false, values: 0, value_bytes: 0 };
  assert.deepEqual(heldBy(session({ holding: { ...holding, attached: true }, client: 'ipv4:10.0.0.7:51234' }), 0), { text: '10.0.0.7:51234', loose: false });
  assert.deepEqual(heldBy(session({ holding: { ...holding, attached: true } }), 0), { text: 'a connected client', loose: false });
  assert.deepEqual(heldBy(session({ holding: { ...holding, kept_until_ms: 30_000 } }), 10_000), { text: 'no client: disconnected, kept for another 20 s', loose: true });
  assert.equal(heldBy(session({ holding: { ...holding, detached: true } }), 0).loose, false);
  assert.equal(heldBy(session({ state: 'SUCCEEDED' }), 0).text, 'ended');
});

test('per-worker values are grouped by worker, failed ones first', () => {
  const value = (name: string, ...components: PerWorkerView['components']) => only<PerWorkerView>({ id: `pw_${name}`, name, function: 'load', created_ms: 0, released: false, users: 0, components });
  const part = (task: string, status: 'READY' | 'NOT_READY' | 'ABORTED', message = '') =>
    only<PerWorkerView['components'][number]>({ task, status, since_ms: 0, ...(message && { error: { kind: 'USER', message } }) });
  const a = value('a', part('worker:10', 'READY'), part('worker:2', 'READY'), part('worker:1', 'ABORTED', 'no disk'));
  const b = value('b', part('worker:2', 'READY'), { ...part('worker:10', 'NOT_READY'), queued_behind: 'etl.slow' });
  assert.equal(ready(a), 2);
  assert.deepEqual(
    worstFirst(a.components).map((c) => c.task),
    ['worker:1', 'worker:2', 'worker:10'],
  );
  assert.deepEqual(
    byWorker([a, b]).map(({ task, has, lacks }) => [task, has.join(), lacks.map((l) => `${l.name} ${l.standing} ${l.why}`).join()]),
    [
      ['worker:1', '', 'a failed no disk'],
      ['worker:10', 'a', 'b queued behind etl.slow '],
      ['worker:2', 'a,b', ''],
    ],
  );
});
