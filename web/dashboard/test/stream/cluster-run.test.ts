import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BarrierView } from '../../src/agreement/model/barrier-view';
import type { AgentRow, EventRow } from '../../src/shared/model/protocol';
import { clusterRun, type RunView } from '../../src/run/model/cluster-run';
import { lookAt, runTimeline, summary } from '../../src/run/model/timeline';
import { only } from '../only';

const agent = (index: number, more: Partial<AgentRow> = {}): AgentRow => ({
  cluster: 'train',
  job: 'worker',
  index,
  incarnation: '1',
  address: `h${index}:7`,
  registered: 2600,
  seen: 0,
  devices: 0,
  state: 'CONNECTED',
  waits: [],
  ...more,
});
const runs = only<RunView[]>([
  { number: 1, state: 'FAILED', started_ms: 1000, ended_ms: 2000, cause: { task: '/job:worker/task:1', message: 'out of memory' } },
  { number: 2, state: 'RUNNING', started_ms: 2500, ended_ms: 0 },
]);
const event = (number: number, time_ms: number, kind: string, subject: string, text: string): EventRow => ({ number, time_ms, severity: 'ERROR', kind, cluster: 'train', subject, text });

test('runs map to attempts, agents to ranks, and the failed agent is known', () => {
  const { attempts, ranks, seen } = clusterRun(runs, [agent(0), agent(1, { late_for: 'step', late_since: 3500 })], [], []);
  const t = runTimeline(attempts, ranks, 4000, seen);
  assert.deepEqual(
    t.lanes.map((l) => l.text),
    ['worker:0 on h0', 'worker:1 on h1'],
  );
  assert.deepEqual(
    t.spans.map((s) => [s.lane, s.attempt, s.from, s.to, s.colour]),
    [
      [0, 1, 1000, 2000, 'waiting'],
      [1, 1, 1000, 2000, 'running'],
      [1, 1, 2000, 2000, 'error'],
      [0, 2, 2600, 4000, 'running'],
      [1, 2, 2600, 4000, 'running'],
    ],
  );
  assert.deepEqual(t.gaps, [{ from: 2000, to: 2500, text: 'restart: worker:1: out of memory' }]);
  assert.equal(lookAt(t, 0, 3000, 1), 'worker:0 on h0 · run 2, running');
  assert.deepEqual(
    t.marks.filter((m) => m.kind === 'late').map((m) => [m.lane, m.at]),
    [[1, 3500]],
  );
  assert.equal(summary(t, attempts.length, 'run'), '2 agents, 2 runs, 1 restart, 2 marks');
});

test('a dead agent ends at its last heartbeat, and its error is a mark', () => {
  const { attempts, ranks, seen } = clusterRun(
    runs,
    [agent(0, { state: 'ERROR', seen: 3000 }), agent(1)],
    [{ id: 'b', counter: 1, ended_ms: 2900, participants: 2, last: '/job:worker/task:1', host: 'h1', late_ms: 800, spread_ms: 900 }],
    [event(1, 1500, 'TASK_ERROR', '/job:worker/task:0', 'of the run before'), event(2, 3000, 'TASK_ERROR', '/job:worker/task:0', 'no heartbeat'), event(3, 3100, 'JOB_ENDED', '', 'something else')],
  );
  const t = runTimeline(attempts, ranks, 4000, seen);
  assert.deepEqual(
    t.spans.filter((s) => s.attempt === 2).map((s) => [s.lane, s.to, s.colour]),
    [
      [0, 3000, 'running'],
      [0, 4000, 'error'],
      [1, 4000, 'running'],
    ],
    'red begins where it failed',
  );
  assert.deepEqual(
    t.marks.filter((m) => m.at > 2500).map((m) => [m.lane, m.kind, m.text]),
    [[0, 'failed', 'worker:0: failed: no heartbeat']],
  );
  assert.deepEqual(
    t.barriers.map((b) => [b.lane, b.late]),
    [[1, true]],
  );
});

test('a casualty ends with its run, and an agent that left at its departure', () => {
  const over = only<RunView[]>([{ number: 1, state: 'FAILED', started_ms: 1000, ended_ms: 9000, cause: { message: 'the storage is gone' } }]);
  const { attempts, ranks, seen } = clusterRun(
    over,
    [agent(0, { state: 'ERROR', casualty: true, registered: 1100, seen: 1200 }), agent(1, { state: 'DISCONNECTED', registered: 1100, seen: 1300 })],
    [],
    [event(1, 5000, 'TASK_LEFT', '/job:worker/task:1', '')],
  );
  const t = runTimeline(attempts, ranks, 9500, seen);
  assert.deepEqual(
    t.spans.map((s) => [s.lane, s.from, s.to]),
    [
      [0, 1100, 9000],
      [0, 9000, 9000],
      [1, 1100, 5000],
    ],
  );
});

test('a cluster whose run has not started has no timeline', () => {
  const { attempts, ranks, seen } = clusterRun(only<RunView[]>([{ number: 1, state: 'WAITING', started_ms: 0, ended_ms: 0 }]), [agent(0)], [], []);
  assert.equal(runTimeline(attempts, ranks, 4000, seen).lanes.length, 0);
});

test('members wait from their arrival, and a missing one is awaited once half have arrived', () => {
  const { attempts, ranks, seen } = clusterRun(
    runs,
    [0, 1, 2, 3].map((n) => agent(n)),
    [],
    [],
  );
  const task = (n: number) => `/job:worker/task:${n}`;
  const step = only<BarrierView>({
    id: 'step',
    counter: 1,
    state: 'RUNNING',
    participants: 4,
    started_ms: 3000,
    arrivals: [
      { task: task(2), came_ms: 3010 },
      { task: task(0), came_ms: 3000 },
      { task: task(1), came_ms: 3400 },
    ],
    missing: [{ task: task(3) }],
  });
  const at = (now: number, meeting = step) => runTimeline(attempts, ranks, now, { ...seen, meetings: [meeting] });
  assert.deepEqual(
    at(4000).waits.map((w) => [w.lane, w.from, w.awaited]),
    [
      [0, 3000, false],
      [2, 3010, false],
      [1, 3400, false],
      [3, 3010, true],
    ],
  );
  assert.match(lookAt(at(4000), 3, 3900, 1), /late for barrier step/);
  assert.match(lookAt(at(4000), 0, 3900, 1), /waits at barrier step/);
  assert.equal(at(3300).waits.filter((w) => w.awaited).length, 0, 'a moment is not late');
  const few = only<BarrierView>({ ...step, arrivals: step.arrivals!.slice(0, 1), missing: [1, 2, 3].map((n) => ({ task: task(n) })) });
  assert.equal(at(4000, few).waits.filter((w) => w.awaited).length, 0, 'fewer than half were there');
});
