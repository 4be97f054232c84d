import assert from 'node:assert/strict';
import { test } from 'node:test';
import { refusalLine, retryEach } from '../src/shared/model/retry';

test('a job that cannot be retried does not stop the others and is named with the reason', async () => {
  const asked: string[] = [];
  const seen: string[] = [];
  const result = await retryEach(
    ['job_1', 'job_2', 'job_3'],
    async (id) => {
      asked.push(id);
      if (id === 'job_2') throw new Error('its arguments are no longer kept');
    },
    (id) => seen.push(id),
  );
  assert.deepEqual(asked, ['job_1', 'job_2', 'job_3']);
  assert.deepEqual(result.made, ['job_1', 'job_3']);
  assert.deepEqual(seen, ['job_1', 'job_3']);
  assert.equal(refusalLine(result), '1 of 3 jobs were not retried. job_2: its arguments are no longer kept');
});
