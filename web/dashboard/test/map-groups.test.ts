import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentState, CELL_STATES, cellGroups, countStates, keptCellGroups, taskTotals } from '../src/shared/model/map-groups';
import { mapGroups } from '../src/shared/model/order';
import type { AgentRow, ClusterRow, TaskRows } from '../src/shared/model/protocol';
import { Tasks } from '../src/shared/model/tasks';

const agent = (cluster: string, index: number, more: Partial<AgentRow> = {}): AgentRow => ({
  cluster,
  job: 'trainer',
  index,
  state: 'CONNECTED',
  incarnation: '1',
  address: '',
  registered: 0,
  seen: 0,
  devices: 8,
  waits: [],
  ...more,
});
const cluster = (name: string, tasks: number, main = false): ClusterRow => ({
  name,
  main,
  tasks,
  has_workers: false,
  address: '',
  state: 'RUNNING',
  generation: 1,
  started: 0,
  barriers: 0,
  keys: 0,
  key_waits: 0,
  agents: { connected: Math.max(0, tasks - 2), registering: tasks > 0 ? 1 : 0, missing: tasks > 0 ? 1 : 0, disconnected: 0, late: 0, error: 0 },
});

function workers(clusters: string[]): Tasks {
  const n = clusters.length;
  const rows: TaskRows = {
    i: clusters.map((_, k) => k + 1),
    cluster: clusters,
    job: Array(n).fill('worker'),
    index: clusters.map((_, k) => k),
    state: Array(n).fill('CONNECTED'),
    seen: Array(n).fill(0),
    since: Array(n).fill(0),
    incarnation: Array(n).fill('a'),
    host: Array(n).fill('h'),
    slots: Array(n).fill(1),
    running: Array(n).fill(0),
    finished: Array(n).fill(0),
    error: Array(n).fill(''),
  };
  const tasks = new Tasks();
  tasks.apply(rows, [], 0, 5000);
  return tasks;
}

test('groups are cached until their inputs change', () => {
  const tasks = workers(['', '']);
  const groupsOf = keptCellGroups();
  const none: AgentRow[] = [];
  const clusters = [cluster('default', 0, true)];
  // The rows exist before they are grouped by job.
  assert.deepEqual(groupsOf(tasks, [], none, clusters, undefined), []);
  const grouped = mapGroups(tasks);
  const shown = groupsOf(tasks, grouped, none, clusters, undefined);
  assert.equal(shown.length, 1);
  assert.equal(groupsOf(tasks, grouped, none, clusters, undefined), shown);
  assert.notEqual(groupsOf(tasks, grouped, none, clusters, clusters[0]), shown);
});

test('groups contain workers and agents of all clusters or of the chosen one', () => {
  const tasks = workers(['', '', 'train']);
  const clusters = [cluster('default', 0, true), cluster('train', 3)];
  const agents = [agent('train', 1), agent('train', 0)];
  const all = cellGroups(tasks, mapGroups(tasks), agents, clusters, undefined);
  assert.deepEqual(
    all.map((g) => [g.label, g.ids.length, g.devices]),
    [
      ['worker', 2, 0],
      ['train/worker', 1, 0],
      ['train/trainer', 2, 16],
    ],
  );
  assert.deepEqual(
    all[2]!.agents!.map((a) => a.index),
    [0, 1],
  );
  assert.deepEqual(
    cellGroups(tasks, mapGroups(tasks), agents, clusters, clusters[0]).map((g) => g.label),
    ['worker'],
  );
  assert.deepEqual(
    cellGroups(tasks, mapGroups(tasks), agents, clusters, clusters[1]).map((g) => g.label),
    ['train/worker', 'train/trainer'],
  );
});

test('agent states are mapped to the colours of the map', () => {
  const states = [
    agent('a', 0, { state: 'ERROR', casualty: false }),
    agent('a', 1, { state: 'ERROR', casualty: true }),
    agent('a', 2, { state: 'LATE' }),
    agent('a', 3, { state: 'REGISTERING' }),
    agent('a', 4, { state: 'MISSING' }),
    agent('a', 5, { unheard: true }),
  ].map((a) => CELL_STATES[agentState(a)]);
  assert.deepEqual(states, ['ERROR', 'ERROR', 'LATE', 'REGISTERING', 'REGISTERING', 'UNHEARD']);
  const tasks = workers(['']);
  const counts = countStates(tasks, cellGroups(tasks, mapGroups(tasks), [agent('a', 0, { state: 'ERROR' })], [], undefined), undefined);
  assert.equal(counts[CELL_STATES.indexOf('CONNECTED')], 1);
  assert.equal(counts[CELL_STATES.indexOf('ERROR')], 1);
});

test('the map and the key numbers agree', () => {
  const tasks = workers(['', '', 'used']);
  const agents = [
    agent('used', 0, { state: 'MISSING' }),
    agent('used', 1, { state: 'MISSING' }),
    agent('train', 0, { state: 'ERROR' }),
    agent('train', 1, { state: 'ERROR', casualty: true }),
    agent('train', 2, { state: 'LATE' }),
    agent('train', 3, { state: 'MISSING' }),
    agent('train', 4, { state: 'REGISTERING' }),
    agent('train', 5, { state: 'DISCONNECTED' }),
    agent('train', 6),
    agent('train', 7, { unheard: true }),
  ];
  const row: ClusterRow = { ...cluster('train', 8), agents: { connected: 2, unheard: 1, registering: 1, missing: 1, disconnected: 1, late: 1, error: 2 } };
  // The cluster was used by closure workers, but no agent ever connected.
  const used: ClusterRow = { ...cluster('used', 2), has_workers: true, state: 'WAITING', agents: { connected: 0, registering: 0, missing: 2, disconnected: 0, late: 0, error: 0 } };
  const clusters = [cluster('default', 0, true), row, used];
  const counts = countStates(tasks, cellGroups(tasks, mapGroups(tasks), agents, clusters, undefined), undefined);
  const drawn = Object.fromEntries(CELL_STATES.map((state, n) => [state, counts[n]]));
  const totals = taskTotals({ connected: 3, late: 0, error: 0, disconnected: 0, total: 3 }, clusters);
  assert.deepEqual(drawn, { CONNECTED: totals.connected, REGISTERING: totals.missing, LATE: totals.late, DISCONNECTED: totals.gone, ERROR: totals.error, UNHEARD: totals.unheard });
  assert.deepEqual(totals, { total: 11, connected: 4, late: 1, error: 2, gone: 1, missing: 2, unheard: 1 });
});

test('a cluster is in use only through its own workers', () => {
  const waiting: ClusterRow = { ...cluster('train', 3), state: 'WAITING', agents: { connected: 0, registering: 0, missing: 3, disconnected: 0, late: 0, error: 0 } };
  const main: ClusterRow = { ...waiting, name: 'default', main: true };
  const numbers = { connected: 1, late: 0, error: 0, disconnected: 0, total: 1 };
  assert.equal(taskTotals(numbers, [{ ...waiting, has_workers: true }, main]).missing, 3, 'agents awaited by the main cluster');
  assert.equal(taskTotals(numbers, [waiting, { ...main, has_workers: true }]).missing, 3, 'agents awaited by train');
});

test('a cluster with only agents has tasks', () => {
  const totals = taskTotals({ connected: 0, late: 0, error: 0, disconnected: 0, total: 0 }, [cluster('default', 0, true), cluster('jax', 10)]);
  assert.equal(totals.total, 10);
  assert.equal(totals.missing, 2);
});

test('unused agents are not counted next to closure workers', () => {
  const tasks = workers(['']);
  const unused: ClusterRow = { ...cluster('default', 4, true), has_workers: true, state: 'WAITING', agents: { connected: 0, registering: 0, missing: 4, disconnected: 0, late: 0, error: 0 } };
  const agents = [agent('default', 0, { state: 'MISSING' })];
  assert.deepEqual(
    cellGroups(tasks, mapGroups(tasks), agents, [unused], undefined).map((g) => g.label),
    ['worker'],
  );
  const numbers = { connected: 1, late: 0, error: 0, disconnected: 0, total: 1 };
  assert.equal(taskTotals(numbers, [unused]).total, 1);
  assert.equal(taskTotals({ ...numbers, connected: 0, total: 0 }, [{ ...unused, has_workers: false }]).missing, 4, 'without workers the agents are awaited');
  assert.equal(taskTotals(numbers, [{ ...unused, state: 'REGISTERING' }]).total, 5);
});
