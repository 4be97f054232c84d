import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bins, groups, percentile, pictureIn, pictureOf, ranOf, streamOf, type DurationsView, type Ran } from '../src/run/model/job-picture';
import { Stream } from '../src/explore/model/stream';
import type { ClosureView } from '../src/shared/model/views';
import { only } from './only';

const one = (us: number, more: Partial<Ran> = {}): Ran => ({ id: 'c', from: 1000, us, failed: false, function: 'f', called: 'f', worker: 'worker:0', ...more });

test('each bin is twice as wide as the previous one, without gaps', () => {
  assert.deepEqual(bins([one(0), one(4), one(17, { failed: true }), one(32)]), [
    { from: 0, to: 4, n: 2, failed: 0 },
    { from: 4, to: 8, n: 0, failed: 0 },
    { from: 8, to: 16, n: 0, failed: 0 },
    { from: 16, to: 32, n: 2, failed: 1 },
  ]);
  assert.deepEqual(bins([]), []);
  assert.deepEqual(
    bins([one(2048)]).map(({ from, to }) => [from, to]),
    [[1024, 2048]],
  );
});

test('a range from microseconds to minutes has at most sixteen bins', () => {
  const wide = bins([one(3), one(40), one(616_000_000, { failed: true })]);
  assert.equal(wide.length, 15);
  assert.deepEqual(wide[0], { from: 0, to: 8, n: 1, failed: 0 });
  assert.deepEqual(wide[2], { from: 32, to: 128, n: 1, failed: 0 });
  assert.equal(wide.at(-1)!.failed, 1);
  assert.ok(wide.every((bin, n) => n === 0 || bin.from === wide[n - 1]!.to));
});

test('two durations have one of them as their median', () => {
  assert.deepEqual(
    pictureOf([one(616_000_000), one(30_100_000)]).said.map(([, us]) => us),
    [30_100_000, 616_000_000, 616_000_000, 616_000_000],
  );
});

test('the largest total time comes first', () => {
  const found = groups([one(1), one(3, { failed: true }), one(100, { function: 'callable', called: 'python:3.11' })], 'function');
  assert.deepEqual(found, [
    { name: 'callable', filter: 'python:3.11', n: 1, failed: 0, p50: 100, max: 100, sum: 100 },
    { name: 'f', filter: 'f', n: 2, failed: 1, p50: 1, max: 3, sum: 4 },
  ]);
  assert.deepEqual(
    groups([one(1), one(1, { worker: 'worker:1' })], 'worker').map((g) => g.name),
    ['worker:0', 'worker:1'],
  );
});

test('running and never started closures are omitted', () => {
  const closure = (state: string, attempts: unknown[], finished_ms = 0) => ({ state, function: 'f', attempts, finished_ms }) as unknown as ClosureView;
  assert.deepEqual(
    ranOf([closure('RUNNING', [{ worker: 'w', started_ms: 5, ended_ms: 0 }]), closure('CANCELLED', [], 9), { ...closure('SUCCEEDED', [{ worker: 'w', started_ms: 5, ended_ms: 8 }], 9), id: 'c1' }]),
    [{ id: 'c1', from: 5, us: 3000, failed: false, function: 'f', called: 'f', worker: 'w' }],
  );
  assert.equal(ranOf([{ ...closure('SUCCEEDED', [{ worker: 'w', started_ms: 5, ended_ms: 6, took_us: 35 }], 9), id: 'c2' }])[0]!.us, 35);
  assert.equal(percentile([], 0.5), 0);
  assert.equal(percentile([1, 2, 3, 4], 0.5), 2);
});

test('a list is drawn like the task stream', () => {
  const stream = new Stream();
  stream.apply(streamOf([one(50_000, { id: 'late', from: 1020, worker: 'worker:1', failed: true }), one(10_000, { id: 'early' })], 'job_1', 'main', 9000), true);
  assert.deepEqual(
    stream.lanes.map((l) => [l.task, l.cluster, l.bars.length]),
    [
      ['worker:0', 'main', 1],
      ['worker:1', 'main', 1],
    ],
  );
  assert.deepEqual(stream.closures, ['early', 'late']);
  assert.deepEqual([...stream.at.end.slice(0, 2)], [1010, 1070]);
  assert.deepEqual([...stream.at.failed.slice(0, 2)], [0, 1]);
  stream.apply(streamOf([], 'job_1', 'main', 9000), true);
  assert.equal(stream.lanes.length, 0);
});

test('totals of the server look like totals of a list', () => {
  const times = { executions: 3, failed: 1, busy_ms: 12, busy_us: 12_345, p50_us: 5000, p90_us: 7000, p99_us: 7000, max_us: 7000 };
  const d = only<DurationsView>({
    ...times,
    buckets: [
      { up_to_us: 448, executions: 1, failed: 0 },
      { up_to_us: 5120, executions: 1, failed: 1 },
      { up_to_us: 7168, executions: 1, failed: 0 },
    ],
    functions: [{ name: 'f', ...times }],
    workers: [{ name: '', ...times }],
  });
  const listed = pictureOf([one(400), one(4600, { failed: true }), one(7000)]);
  const reported = pictureIn(d);
  assert.deepEqual(reported.bins, listed.bins);
  assert.deepEqual(
    reported.said.map(([word]) => word),
    listed.said.map(([word]) => word),
  );
  assert.deepEqual(
    reported.said.map(([, us]) => us),
    [5000, 7000, 7000, 7000],
  );
  assert.deepEqual(reported.functions, [{ name: 'f', filter: 'f', n: 3, failed: 1, p50: 5000, max: 7000, sum: 12_345 }]);
  assert.deepEqual(
    reported.workers.map((g) => [g.name, g.filter]),
    [['others', '']],
  );
  assert.deepEqual(
    pictureIn(only<DurationsView>({ ...d, buckets: [{ executions: 2, failed: 0 }] })).bins.map((b) => [b.from, b.to, b.n]),
    [[4096, 8192, 2]],
    'longer than all buckets: as long as the longest',
  );
});
