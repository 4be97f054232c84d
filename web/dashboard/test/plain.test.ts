import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plain, within } from '../src/shared/model/plain';

test('states and times in sentences are formatted as on the page', () => {
  assert.equal(plain('QUEUED for 751 s: no worker has zone=mars.'), 'Queued for 12m 31s: no worker has zone=mars.');
  assert.equal(plain('SUCCEEDED on worker:4 after 0 ms, attempt 1.'), 'Succeeded on worker:4 after less than 1 ms, attempt 1.');
  assert.equal(plain('waits 5 s, FAILED'), 'waits 5 s, FAILED');
  assert.equal(within('BLOCKED for 10 s'), 'blocked for 10 s');
});
