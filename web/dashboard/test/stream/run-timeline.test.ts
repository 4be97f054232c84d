import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptView, RankView } from '../../src/model/rest/programs';
import { lookAt, runTimeline, zoomed } from '../../src/model/run-timeline';

const attempts: AttemptView[] = [
  { attempt: 1, end: 'FAILED', ranks: 2, hosts: 2, begun_ms: 1000, ended_ms: 2000, cause: { kind: 'EXIT', rank: 1, text: 'rank 1 exited with 3' } },
  { attempt: 2, end: 'NONE', ranks: 2, hosts: 2, begun_ms: 2500 },
];
const rank = (n: number, host: string): RankView => ({ rank: n, task: `worker:${n}`, state: 'RUNNING', worker: `worker:${n}`, host, address: 'h:1', started_ms: 2600, step: 7 });

test('a failed attempt, the gap after it and the restart are spans, a gap and a mark', () => {
  const t = runTimeline(attempts, [rank(0, 'b'), rank(1, 'a')], 4000);
  assert.deepEqual(t.lanes.map((l) => l.text), ['rank 1 on a', 'rank 0 on b']);
  assert.deepEqual(t.spans.map((s) => [s.lane, s.attempt, s.from, s.to, s.colour]), [[1, 1, 1000, 2000, 'waiting'], [0, 1, 1000, 2000, 'error'], [1, 2, 2600, 4000, 'running'], [0, 2, 2600, 4000, 'running']]);
  assert.deepEqual(t.gaps, [{ from: 2000, to: 2500, text: 'restart: rank 1 exited with 3' }]);
  assert.deepEqual(t.marks, [{ lane: 0, at: 2000, text: 'rank 1 exited with 3' }]);
  assert.equal(lookAt(t, 0, 3000, 1), 'rank 1 on a · attempt 2, running, step 7');
  assert.match(lookAt(t, 1, 2200, 1), /restart: rank 1 exited/);
});

test('a zoom stays within the run and is never shorter than 10 ms', () => {
  const whole = { from: 0, to: 1000 };
  assert.deepEqual(zoomed(whole, 0.25, 0.75, whole), { from: 250, to: 750 });
  assert.deepEqual(zoomed(whole, -0.5, 1.5, whole), whole);
  assert.deepEqual(zoomed(whole, 0.999, 1, whole), { from: 990, to: 1000 });
});

test('without attempts there are no lanes', () => assert.equal(runTimeline([], [], 5).lanes.length, 0));
