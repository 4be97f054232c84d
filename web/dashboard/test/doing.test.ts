import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doing } from '../src/shared/model/doing';

test('a job runs while something of it runs', () => {
  assert.equal(doing({ state: 'RUNNING' }, 2, 5), 'Running');
  assert.equal(doing({ state: 'RUNNING' }, 0, 5), 'Waiting');
  assert.equal(doing({ state: 'RUNNING' }, 0, 0), 'Idle', 'a session that was given nothing');
  assert.equal(doing({ state: 'RUNNING', stopping: true }, 2, 5), 'Stopping');
});

test('a job without started closures is queued', () => {
  assert.equal(doing({ state: 'QUEUED' }, 0, 5), 'Queued');
  assert.equal(doing({ state: 'QUEUED' }, 0, 0), 'Idle', 'an open job that was given nothing');
  assert.equal(doing({ state: 'QUEUED', stopping: true }, 0, 5), 'Stopping');
});

test('an ended job shows its final state', () => {
  assert.equal(doing({ state: 'SUCCEEDED' }, 0, 0), 'Succeeded');
  assert.equal(doing({ state: 'FAILED', stopping: true }, 0, 3), 'Failed');
  assert.equal(doing({ state: 'CANCELLED' }, 0, 3), 'Cancelled');
});
