import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fares, health } from '../src/shared/model/cluster-health';
import type { ClusterRow } from '../src/shared/model/protocol';

const cluster = (more: Partial<ClusterRow>): ClusterRow => ({
  name: 'a',
  main: false,
  address: '',
  tasks: 3,
  has_workers: false,
  state: 'RUNNING',
  generation: 1,
  started: 1,
  barriers: 0,
  keys: 0,
  key_waits: 0,
  agents: { connected: 3, registering: 0, missing: 0, disconnected: 0, late: 0, error: 0 },
  ...more,
});
const said = (more: Partial<ClusterRow>) => {
  const c = cluster(more);
  return health(c, fares(c));
};
const none = cluster({}).agents;

test('the most severe state of a cluster is shown', () => {
  assert.deepEqual(said({}), ['connected', 'well']);
  assert.deepEqual(said({ state: 'FAILED' }), ['error', 'failed']);
  assert.deepEqual(said({ agents: { ...none, connected: 1, late: 1, error: 1 } }), ['error', '1 in error']);
  assert.deepEqual(said({ agents: { ...none, connected: 2, late: 1 } }), ['late', '1 late']);
  assert.deepEqual(said({ agents: { ...none, connected: 1, missing: 1, registering: 1 } }), ['restarting', '2 not connected yet']);
  assert.deepEqual(said({ agents: { ...none, unheard: 3 } }), ['waiting', 'silent since the server restarted']);
  assert.deepEqual(said({ tasks: 0, agents: { ...none, connected: 0 } }), ['waiting', 'empty']);
});

test('agents of a cluster that only closure workers have are not counted', () => {
  const c = cluster({ state: 'WAITING', has_workers: true, agents: { ...none, connected: 0, missing: 3 } });
  assert.deepEqual(fares(c, { connected: 2, late: 0, error: 0, disconnected: 0, total: 2 }), { connected: 2, late: 0, error: 0, coming: 0, unheard: 0, gone: 0, total: 2 });
});
