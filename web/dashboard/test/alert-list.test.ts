import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterOf, joinAddress, mostUrgentFirst, nameOfItem, typed, urgencyOf, verdict } from '../src/model/alert-list';
import type { AttentionRow, ClusterRow } from '../src/model/protocol';

const row = (title: string, severity: 'error' | 'warning', since_ms: number, rule = 'worker-lost'): AttentionRow => ({ rule, severity, title, detail: '', since_ms, count: 1, link: '/' });
const titles = (rows: readonly AttentionRow[]) => rows.map((r) => r.title).join('');

test('what goes on before what is stuck before what is over', () => {
  assert.equal(titles(mostUrgentFirst([row('a', 'error', 9, 'job-failed'), row('b', 'warning', 1, 'barrier-stuck'), row('c', 'warning', 1, 'agents-late')])), 'cba');
  for (const rule of ['job-failed', 'jobs-failed', 'session-failed', 'run-failed', 'closure-alone']) assert.equal(urgencyOf({ rule }), 'past', rule);
  for (const rule of ['no-worker', 'no-function', 'gang-unmet', 'wishes-unmet', 'barrier-stuck', 'agents-missing', 'nothing-finishes']) assert.equal(urgencyOf({ rule }), 'stuck', rule);
  for (const rule of ['worker-lost', 'agents-late', 'disk-fails', 'closures-full', 'of a later server']) assert.equal(urgencyOf({ rule }), 'live', rule);
});

test('of one kind errors first, the newest of them first', () => {
  assert.equal(titles(mostUrgentFirst([row('a', 'warning', 9), row('b', 'error', 3), row('c', 'error', 9)])), 'cba');
});

test('trouble that begins anew is another item', () => {
  assert.notEqual(nameOfItem(row('a', 'error', 1)), nameOfItem(row('a', 'error', 2)));
});

test('the cluster of an item is that of its link', () => {
  assert.equal(clusterOf({ ...row('a', 'error', 1), link: '/tasks?cluster=a%20b&q=1' }), 'a b');
  assert.equal(clusterOf(row('a', 'error', 1)), '');
});

test('the verdict in one line', () => {
  assert.equal(verdict([], 'calm'), 'calm');
  assert.equal(verdict(['a', 'b', 'c'].map((t) => row(t, 'error', 1)), 'calm'), 'a; b; and 1 more');
});

test('commands name this server', () => {
  assert.equal(typed('muster worker --server HOST:8476 --label a=HOST', 'head-1'), 'muster worker --server head-1:8476 --label a=HOST');
  assert.equal(typed('muster retry job_1', 'head-1'), 'muster retry job_1');
  const main = { main: true, address: '0.0.0.0:9001' } as ClusterRow;
  assert.equal(joinAddress([main], 'head-1'), 'head-1:9001');
  assert.equal(joinAddress([], ''), 'localhost:8476');
});
