import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinAddress, typed, worstFirst } from '../src/model/attention-list';
import type { AttentionRow, ClusterRow } from '../src/model/protocol';

const row = (title: string, severity: 'error' | 'warning', since_ms: number): AttentionRow => ({ rule: 'r', severity, title, detail: '', since_ms, count: 1, link: '/' });

test('errors first, the oldest of them first', () => {
  const rows = [row('a', 'warning', 1), row('b', 'error', 9), row('c', 'error', 3)];
  assert.deepEqual(worstFirst(rows).map((r) => r.title), ['c', 'b', 'a']);
});

test('commands name this server', () => {
  assert.equal(typed('muster worker --server HOST:8476 --label a=HOST', 'head-1'), 'muster worker --server head-1:8476 --label a=HOST');
  assert.equal(typed('muster retry job_1', 'head-1'), 'muster retry job_1');
  const main = { main: true, address: '0.0.0.0:9001' } as ClusterRow;
  assert.equal(joinAddress([main], 'head-1'), 'head-1:9001');
  assert.equal(joinAddress([], ''), 'localhost:8476');
});
