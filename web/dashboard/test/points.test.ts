import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../src/shared/model/history';
import { extremes, fromSamples, joined, live, notable, spanOf, type SamplesBody } from '../src/now/model/points';
import { only } from './only';

test('samples become columns, and a gap breaks the line', () => {
  const points = fromSamples(only<SamplesBody>({ step_ms: 1000, t: [1000, 2000, 9000], queued: [1, 2, 3] }));
  assert.deepEqual(points.seconds, [1, 2, 3, 9]);
  assert.deepEqual(points.columns.queued, [1, 2, null, 3]);
  assert.equal(points.columns.wait_p50_ms, undefined);
});

test('live points are copied from the ring', () => {
  const history = new History();
  history.append({ step_ms: 1000, t: [1000], queued: [4], running: [1], finished: [2], failed: [0], hb_p99: [9] });
  const points = live(history);
  history.clear();
  assert.deepEqual(points.columns.queued, [4]);
});

test('older points precede live ones, with a gap where samples are missing', () => {
  const recent = { seconds: [10, 11], columns: { queued: [1, 2] } };
  const before = (seconds: number[]) => ({ seconds, columns: { queued: seconds.map((at) => at * 10), wait_p50_ms: seconds } });
  assert.deepEqual(joined(before([8, 9, 10, 11]), recent), { seconds: [8, 9, 10, 11], columns: { queued: [80, 90, 1, 2] } });
  assert.deepEqual(joined(before([3, 4]), recent), { seconds: [3, 4, 5, 10, 11], columns: { queued: [30, 40, null, 1, 2] } });
  assert.deepEqual(joined(null, recent), recent);
  assert.deepEqual(joined(before([12]), recent), recent);
  assert.deepEqual(joined(before([3]), { seconds: [], columns: { queued: [] } }), { seconds: [3], columns: { queued: [30] } });
});

test('failures are drawn from one percent on', () => {
  assert.deepEqual(notable([1], [1000]), [null]);
  assert.deepEqual(notable([10], [1000]), [10]);
  assert.deepEqual(notable([0], [0]), [null]);
});

test('an invalid span falls back to the default', () => {
  assert.equal(spanOf('1h'), '1h');
  assert.equal(spanOf('9y'), '5m');
  assert.deepEqual(extremes([3, null, 7, 2]), { last: 2, most: 7 });
});
