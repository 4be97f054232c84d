import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bins, groups, percentile, ranOf, type Ran } from '../src/model/job-picture';
import type { ClosureView } from '../src/model/rest/views';

const one = (ms: number, more: Partial<Ran> = {}): Ran => ({ ms, failed: false, function: 'f', called: 'f', worker: 'worker:0', ...more });

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
    { name: 'callable', filter: 'python:3.11', n: 1, failed: 0, p50: 100, p99: 100, sum: 100 },
    { name: 'f', filter: 'f', n: 2, failed: 1, p50: 1, p99: 3, sum: 4 },
  ]);
  assert.deepEqual(groups([one(1), one(1, { worker: 'worker:1' })], 'worker').map((g) => g.name), ['worker:0', 'worker:1']);
});

test('what runs, or never ran, is left out', () => {
  const closure = (state: string, attempts: unknown[], finished_ms = 0) => ({ state, function: 'f', attempts, finished_ms }) as unknown as ClosureView;
  assert.deepEqual(ranOf([closure('RUNNING', [{ worker: 'w', started_ms: 5, ended_ms: 0 }]), closure('CANCELLED', [], 9), closure('SUCCEEDED', [{ worker: 'w', started_ms: 5, ended_ms: 8 }], 9)]), [
    { ms: 3, failed: false, function: 'f', called: 'f', worker: 'w' },
  ]);
  assert.equal(percentile([], 0.5), 0);
  assert.equal(percentile([1, 2, 3, 4], 0.5), 2);
});
