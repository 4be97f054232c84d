import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lateNote, verdict, type Stragglers } from '../src/agreement/model/straggler-protocol';

// Each element of `who` is "TASK HOST TIMES-LAST".
function found(who: readonly string[], barriers: number): Stragglers {
  const lasts = who.map((text) => text.split(' ')).map(([task = '', host = '', last]) => [task, host, Number(last)] as const);
  const hosts = [...new Set(lasts.map(([, host]) => host))];
  return {
    generation: 1,
    barriers: Array.from({ length: barriers }, (_, n) => ({ id: `b${n}`, counter: 0, ended_ms: 0, participants: 4, last: '', host: '', late_ms: 0, spread_ms: 0 })),
    tasks: lasts.map(([task, host, last]) => ({ task, host, last, barriers, late_mean_ms: 1, late_max_ms: 2 })),
    hosts: hosts.map((host) => ({ host, tasks: 2, last: lasts.filter(([, h]) => h === host).reduce((sum, [, , n]) => sum + n, 0), late_mean_ms: 1, late_max_ms: 2 })),
  };
}

test('one task is always last', () => {
  assert.equal(verdict(found(['worker:3 n1 9', 'worker:0 n2 1'], 10)), 'worker:3 on n1 arrived last at 9 of the last 10 barriers.');
});

test('the list mentions that tasks are omitted', () => {
  const all = found(['worker:3 n1 2', 'worker:1 n1 1'], 3);
  assert.equal(lateNote(all), '2 of 4 tasks were late at least once, that is, after the median arrival. All other tasks were always on time');
  assert.equal(lateNote({ ...all, tasks: Array(100).fill(all.tasks[0]) }), 'the 100 latest tasks; late means after the median arrival');
});

test('the host is named if two of its tasks alternate', () => {
  assert.equal(verdict(found(['worker:3 n1 4', 'worker:2 n1 4', 'worker:0 n2 2'], 10)), 'A task on n1 arrived last at 8 of the last 10 barriers.');
});

test('no verdict is given without an outlier or enough data', () => {
  assert.equal(verdict(found(['worker:3 n1 5', 'worker:0 n2 5'], 10)), '');
  assert.equal(verdict(found(['worker:3 n1 2'], 2)), '');
});
