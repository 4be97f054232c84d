import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bins, groups, percentile, pictureIn, pictureOf, ranOf, streamOf, type Ran } from '../src/model/job-picture';
import { Stream } from '../src/model/stream';
import type { ClosureView } from '../src/model/rest/views';

const one = (ms: number, more: Partial<Ran> = {}): Ran => ({ id: 'c', from: 1000, ms, failed: false, function: 'f', called: 'f', worker: 'worker:0', ...more });

test('each bin is twice as wide as the one before, without holes', () => {
  assert.deepEqual(bins([one(0), one(0), one(5, { failed: true }), one(7)]), [
    { from: 0, to: 1, n: 2, failed: 0 },
    { from: 1, to: 2, n: 0, failed: 0 },
    { from: 2, to: 4, n: 0, failed: 0 },
    { from: 4, to: 8, n: 2, failed: 1 },
  ]);
  assert.deepEqual(bins([]), []);
  assert.deepEqual(bins([one(1024)]).map(({ from, to }) => [from, to]), [[1024, 2048]]);
});

test('who took the most time comes first', () => {
  const found = groups([one(1), one(3, { failed: true }), one(100, { function: 'callable', called: 'python:3.11' })], 'function');
  assert.deepEqual(found, [
    { name: 'callable', filter: 'python:3.11', n: 1, failed: 0, p50: 100, max: 100, sum: 100 },
    { name: 'f', filter: 'f', n: 2, failed: 1, p50: 1, max: 3, sum: 4 },
  ]);
  assert.deepEqual(groups([one(1), one(1, { worker: 'worker:1' })], 'worker').map((g) => g.name), ['worker:0', 'worker:1']);
});

test('what runs, or never ran, is left out', () => {
  const closure = (state: string, attempts: unknown[], finished_ms = 0) => ({ state, function: 'f', attempts, finished_ms }) as unknown as ClosureView;
  assert.deepEqual(ranOf([closure('RUNNING', [{ worker: 'w', started_ms: 5, ended_ms: 0 }]), closure('CANCELLED', [], 9), { ...closure('SUCCEEDED', [{ worker: 'w', started_ms: 5, ended_ms: 8 }], 9), id: 'c1' }]), [
    { id: 'c1', from: 5, ms: 3, failed: false, function: 'f', called: 'f', worker: 'w' },
  ]);
  assert.equal(percentile([], 0.5), 0);
  assert.equal(percentile([1, 2, 3, 4], 0.5), 2);
});

test('what a list tells is drawn as the task stream would be', () => {
  const stream = new Stream();
  stream.apply(streamOf([one(50, { id: 'late', from: 1020, worker: 'worker:1', failed: true }), one(10, { id: 'early' })], 'job_1', 'main', 9000), true);
  assert.deepEqual(stream.lanes.map((l) => [l.task, l.cluster, l.bars.length]), [['worker:0', 'main', 1], ['worker:1', 'main', 1]]);
  assert.deepEqual(stream.closures, ['early', 'late']);
  assert.deepEqual([...stream.at.end.slice(0, 2)], [1010, 1070]);
  assert.deepEqual([...stream.at.failed.slice(0, 2)], [0, 1]);
  stream.apply(streamOf([], 'job_1', 'main', 9000), true);
  assert.equal(stream.lanes.length, 0);
});

test('what the server adds up over all executions looks like what is added up of a list', () => {
  const times = { executions: 3, failed: 1, busy_ms: 12, p50_us: 5000, p90_us: 7000, p99_us: 7000, max_us: 7000 };
  const d = { ...times, buckets: [{ up_to_us: 500, executions: 1, failed: 0 }, { up_to_us: 5000, executions: 1, failed: 1 }, { up_to_us: 8000, executions: 1, failed: 0 }], functions: [{ name: 'f', ...times }], workers: [{ name: '', ...times }] };
  const listed = pictureOf([one(0.4), one(4.6, { failed: true }), one(7)]);
  const told = pictureIn(d);
  assert.deepEqual(told.bins, listed.bins);
  assert.deepEqual(told.said.map(([word]) => word), listed.said.map(([word]) => word));
  assert.deepEqual(told.said.map(([, ms]) => ms), [5, 7, 7, 7]);
  assert.deepEqual(told.functions, [{ name: 'f', filter: 'f', n: 3, failed: 1, p50: 5, max: 7, sum: 12 }]);
  assert.deepEqual(told.workers.map((g) => [g.name, g.filter]), [['others', '']]);
  assert.deepEqual(pictureIn({ ...d, buckets: [{ executions: 2, failed: 0 }] }).bins.map((b) => [b.from, b.to, b.n]), [[4, 8, 2]]); // longer than all buckets: as long as the longest
});
