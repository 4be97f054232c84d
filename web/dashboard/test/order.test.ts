import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listOrder, mapGroups } from '../src/shared/model/order';
import { TASK_STATES, type TaskRows } from '../src/shared/model/protocol';
import { Tasks } from '../src/shared/model/tasks';

function cluster(of: { job: string; index: number; state?: string; host?: string; cluster?: string; cordoned?: number }[]): Tasks {
  const tasks = new Tasks();
  const columns: TaskRows = {
    i: of.map((_, n) => n + 1),
    cluster: of.map((t) => t.cluster ?? ''),
    job: of.map((t) => t.job),
    index: of.map((t) => t.index),
    state: of.map((t) => t.state ?? 'CONNECTED'),
    seen: of.map(() => 0),
    since: of.map(() => 0),
    incarnation: of.map((_, n) => n.toString(16).padStart(16, '0')),
    host: of.map((t) => t.host ?? 'h'),
    slots: of.map(() => 1),
    running: of.map(() => 0),
    finished: of.map(() => 0),
    cordoned: of.map((t) => t.cordoned ?? 0),
    error: of.map(() => ''),
  };
  tasks.apply(columns, [], 0, 5000);
  return tasks;
}

const names = (tasks: Tasks, ids: Iterable<number>): string[] => Array.from(ids, (id) => tasks.view(id)!.name);

test('problems come first, the most severe first', () => {
  const tasks = cluster([
    { job: 'b', index: 1 },
    { job: 'a', index: 10 },
    { job: 'a', index: 2, state: 'LATE' },
    { job: 'b', index: 0, state: 'ERROR' },
    { job: 'a', index: 9 },
    { job: 'a', index: 1, state: 'DISCONNECTED' },
  ]);
  assert.deepEqual(names(tasks, listOrder(tasks)), ['b:0', 'a:1', 'a:2', 'b:1', 'a:9', 'a:10']);
});

test('the order agrees with a naive sort, for large numbers too', () => {
  const many = Array.from({ length: 3000 }, (_, n) => ({
    job: `job${(n * 7) % 50}`,
    index: (n * 2_654_435_761) % 2 ** 32,
    state: TASK_STATES[(n * 13) % 5]!,
  }));
  const tasks = cluster(many);
  const naive = Array.from({ length: tasks.size }, (_, slot) => slot).sort((a, b) => tasks.stateAt(b) - tasks.stateAt(a) || tasks.jobAt(a) - tasks.jobAt(b) || tasks.indexAt(a) - tasks.indexAt(b));
  assert.deepEqual(
    [...listOrder(tasks)],
    naive.map((slot) => tasks.idAt(slot)),
  );
});

test('the filter finds names, hosts and incarnations, in any case', () => {
  const tasks = cluster([
    { job: 'worker', index: 1, host: 'Rack-7' },
    { job: 'worker', index: 11 },
    { job: 'ps', index: 0 },
  ]);
  assert.deepEqual(names(tasks, listOrder(tasks, 'worker:1')), ['worker:1', 'worker:11']);
  assert.deepEqual(names(tasks, listOrder(tasks, ' rack-7 ')), ['worker:1']);
  assert.deepEqual(names(tasks, listOrder(tasks, '0002')), ['ps:0']);
  assert.deepEqual(names(tasks, listOrder(tasks, 'nobody')), []);
});

test('the map groups by job in order of first sight and folds the smallest beyond ten', () => {
  const tasks = cluster([
    { job: 'z', index: 1 },
    { job: 'a', index: 0 },
    { job: 'z', index: 0 },
  ]);
  assert.deepEqual(
    mapGroups(tasks).map((g) => [g.label, names(tasks, g.ids)]),
    [
      ['z', ['z:0', 'z:1']],
      ['a', ['a:0']],
    ],
  );

  const wide = cluster(Array.from({ length: 120 }, (_, n) => ({ job: `j${n % 15}`, index: n })).concat(Array.from({ length: 9 }, (_, n) => ({ job: `j${n}`, index: 500 }))));
  const groups = mapGroups(wide);
  assert.equal(groups.length, 10);
  assert.equal(groups.at(-1)!.label, '6 other roles');
  assert.equal(
    groups.reduce((n, g) => n + g.ids.length, 0),
    129,
  );
});

test('the list of a cluster has only its workers, and names show the cluster', () => {
  const tasks = cluster([
    { job: 'worker', index: 0 },
    { job: 'worker', index: 0, cluster: 'train' },
    { job: 'worker', index: 1 },
  ]);
  const names = (of?: string): string[] => [...listOrder(tasks, '', of)].map((id) => tasks.view(id)!.name);
  assert.deepEqual(names('train'), ['train/worker:0']);
  assert.deepEqual(names(''), ['worker:0', 'worker:1']);
  assert.equal(names().length, 3);
  assert.deepEqual(
    mapGroups(tasks).map((g) => g.label),
    ['worker', 'train/worker'],
  );
});

test('cordoned workers are found by the whole word only', () => {
  const tasks = cluster([
    { job: 'worker', index: 0 },
    { job: 'worker', index: 1, cordoned: 1 },
  ]);
  assert.deepEqual(names(tasks, listOrder(tasks, 'cordoned')), ['worker:1']);
  assert.equal(tasks.view(2)!.cordoned, true);
  assert.deepEqual(names(tasks, listOrder(tasks, 'cord')), []);
});
