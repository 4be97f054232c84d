import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endedOf, executedOf, isOver, retryableOf, valueBytes, waitingOf } from '../src/shared/model/counts';
import { duration } from '../src/shared/model/format';

const COUNTS = { succeeded: 33, failed: 7, cancelled: 2 };

test('cancelled closures have ended, and count neither as executed nor as failed', () => {
  assert.deepEqual([endedOf(COUNTS), executedOf(COUNTS), retryableOf(COUNTS)], [42, 40, 9]);
  assert.deepEqual([waitingOf(50, 42, 3), waitingOf(40, 42, 0)], [5, 0], 'never negative');
  assert.deepEqual(
    ['FAILED', 'QUEUED'].map((state) => isOver({ state })),
    [true, false],
  );
});

test('the size of values includes blobs and values on disk', () => {
  assert.equal(valueBytes({ value_bytes: 1, spilled_bytes: 20, blob_bytes: 300 }), 321);
});

test('a duration in whole microseconds is shown as it is after a conversion from milliseconds', () => {
  for (let us = 1; us < 1000; ++us) {
    assert.equal(duration((us / 1000) * 1000), `${us} µs`);
    assert.equal(duration(Math.fround(us / 1000) * 1000), `${us} µs`);
  }
  assert.deepEqual([0, 999.9, 1000, 1999, 10_000, 4_199_999].map(duration), ['< 1 µs', '999 µs', '1.0 ms', '1.9 ms', '10 ms', '4.1 s']);
});
