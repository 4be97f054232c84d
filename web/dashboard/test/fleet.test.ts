import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countShows, gpuBusy, type Host, largestHolder, ratioPath, slowest, slownessText, stateOf, sumOf, treeOf, type Worker } from '../src/fleet/model/fleet';
import { setClockZone } from '../src/shared/model/format';
import { only, type Part } from './only';

setClockZone('UTC');
const AT = Date.UTC(2026, 10, 30, 17, 12);

const worker = (task: string, more: Part<Worker> = {}): Worker =>
  only<Worker>({
    cluster: 'default',
    task,
    state: 'CONNECTED',
    since_ms: 0,
    draining: false,
    cordoned: false,
    away: false,
    pid: 1,
    slots: 4,
    running: 0,
    waiting_for_values: 0,
    sent_ahead: 0,
    finished: 0,
    failed: 0,
    failed_last_hour: 0,
    value_bytes: 0,
    error: '',
    ...more,
  });
const host = (name: string, workers: Worker[], machine?: Part<NonNullable<Host['machine']>>): Host => only<Host>({ host: name, workers, ...(machine && { machine: { gpus: [], ...machine } }) });

const hosts = [
  host('a', [worker('worker:0', { value_bytes: 10 }), worker('worker:1', { slowness: 1.2, value_bytes: 70, cordoned: true })], { cpu: 1, cpus: 4 }),
  host('b', [worker('worker:2', { slowness: 2.06, slow_since_ms: AT, failed: 2, failed_last_hour: 1 }), worker('worker:3', { state: 'ERROR', error: 'killed' })], { cpu: 3, cpus: 4 }),
];
const tasks = (of: ReturnType<typeof treeOf>) => of.map(({ host, workers }) => `${host.host}: ${workers.map((w) => w.task).join(' ')}`);

test('workers are grouped by host and filtered by text and state', () => {
  assert.deepEqual(tasks(treeOf(hosts, '', '', 'host', false)), ['a: worker:0 worker:1', 'b: worker:2 worker:3']);
  assert.deepEqual(tasks(treeOf(hosts, 'WORKER:1', '', 'host', false)), ['a: worker:1']);
  assert.deepEqual(tasks(treeOf(hosts, 'b', '', 'host', false)), ['b: worker:2 worker:3']);
  assert.deepEqual(tasks(treeOf(hosts, 'kill', '', 'host', false)), ['b: worker:3']);
  assert.deepEqual(tasks(treeOf(hosts, '', 'slow', 'host', false)), ['b: worker:2']);
  assert.deepEqual(tasks(treeOf(hosts, '', 'cordoned', 'host', false)), ['a: worker:1']);
  assert.deepEqual(tasks(treeOf(hosts, 'nothing', '', 'host', false)), []);
  assert.deepEqual(countShows(hosts), { '': 4, connected: 3, late: 0, lost: 1, cordoned: 1, slow: 1 });
});

test('a column sorts hosts, and the workers of each host', () => {
  assert.deepEqual(tasks(treeOf(hosts, '', '', 'values', true)), ['a: worker:1 worker:0', 'b: worker:2 worker:3']);
  assert.deepEqual(tasks(treeOf(hosts, '', '', 'slowness', true)), ['b: worker:2 worker:3', 'a: worker:1 worker:0']);
  assert.deepEqual(tasks(treeOf(hosts, '', '', 'cpu', true)), ['b: worker:2 worker:3', 'a: worker:0 worker:1']);
  assert.deepEqual(tasks(treeOf(hosts, '', '', 'host', true)), ['b: worker:2 worker:3', 'a: worker:0 worker:1']);
  assert.equal(hosts[0]!.workers[0]!.task, 'worker:0', 'the answer itself is not sorted');
});

test('the figures of a host are those of its workers', () => {
  const sum = sumOf([worker('a', { running: 2, sent_ahead: 3, failed_last_hour: 1, value_bytes: 5 }), worker('b', { running: 1, slowness: 1.5 }), worker('c', { state: 'ERROR' })]);
  assert.deepEqual(sum, { running: 3, slots: 8, queued: 3, values: 5, recent: 1, slowness: 1.5 }, 'lost workers have no slots');
  assert.equal(gpuBusy(host('a', [], { gpus: [{ name: 'H100', busy: 0.5 }, { name: 'H100' }] }).machine), 0.5);
  assert.equal(gpuBusy(undefined), -1);
});

test('the slowest worker and the worker with the most values are found', () => {
  assert.equal(slowest(hosts)?.task, 'worker:2');
  assert.equal(largestHolder(hosts)?.task, 'worker:1');
  assert.equal(slowest([hosts[0]!]), null, 'a ratio of 1.2 is not slow');
  assert.equal(largestHolder([host('c', [worker('worker:9')])]), null);
});

test('slowness is one sentence', () => {
  assert.equal(slownessText({ slowness: 2.06, slow_since_ms: AT }), '2.1 × slower than the median since 17:12');
  assert.equal(slownessText({ slowness: 0.98 }), '1.0 ×');
  assert.equal(slownessText({}), '–');
});

test('the most severe state of a worker is shown', () => {
  assert.equal(stateOf(worker('a', { state: 'ERROR', cordoned: true })).word, 'Error');
  assert.equal(stateOf(worker('a', { draining: true, cordoned: true })).word, 'Draining');
  assert.equal(stateOf(worker('a', { away: true })).word, 'Away');
  assert.equal(stateOf(worker('a', { state: 'LATE' })).shape, 'late');
  assert.equal(stateOf(worker('a')).shape, 'connected');
});

test('unknown minutes interrupt the line of the ratios', () => {
  const { path, top, y } = ratioPath([null, 1, 4, null, 1]);
  assert.equal(top, 4);
  assert.equal(y(4), 1);
  assert.equal(path.match(/M/g)?.length, 2);
  assert.equal(path.match(/L/g)?.length, 1);
  assert.equal(ratioPath([]).path, '');
});
