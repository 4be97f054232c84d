import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttemptView, RankView } from '../../src/shared/model/programs';
import { laneAt, layoutOf, machineAt, STRIP } from '../../src/run/model/layout';
import { lookAt, pinched, runTimeline, zoomed } from '../../src/run/model/timeline';
import { outagesIn, outagesOf } from '../../src/run/model/outages';
import type { AttemptDetail } from '../../src/run/model/attempt';
import type { MachineView } from '../../src/run/model/machines';
import { only } from '../only';

const attempts: AttemptView[] = [
  { attempt: 1, end: 'FAILED', ranks: 2, hosts: 2, begun_ms: 1000, ended_ms: 2000, cause: { kind: 'EXIT_STATUS', rank: 1, text: 'rank 1 exited with 3' } },
  { attempt: 2, end: 'NONE', ranks: 2, hosts: 2, begun_ms: 2500 },
];
const rank = (n: number, host: string): RankView => ({ rank: n, task: `worker:${n}`, state: 'RUNNING', worker: `worker:${n}`, host, address: 'h:1', started_ms: 2600, step: 7 });

test('a failed attempt, the gap after it and the restart are spans, a gap and a mark', () => {
  const t = runTimeline(attempts, [rank(0, 'b'), rank(1, 'a')], 4000);
  assert.deepEqual(
    t.lanes.map((l) => l.text),
    ['rank 1 on a', 'rank 0 on b'],
  );
  assert.deepEqual(
    t.spans.map((s) => [s.lane, s.attempt, s.from, s.to, s.colour]),
    [
      [1, 1, 1000, 2000, 'waiting'],
      [0, 1, 1000, 2000, 'running'],
      [0, 1, 2000, 2000, 'error'],
      [1, 2, 2600, 4000, 'running'],
      [0, 2, 2600, 4000, 'running'],
    ],
  );
  assert.deepEqual(t.gaps, [{ from: 2000, to: 2500, text: 'restart: rank 1 exited with 3' }]);
  assert.deepEqual(t.marks, [{ lane: 0, at: 2000, kind: 'failed', text: 'rank 1 exited with 3' }]);
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

const detail = only<AttemptDetail>({
  ...attempts[0]!,
  events: [
    { at_ms: 1200, kind: 'WORKER_LOST', about: 'worker:0', text: 'out of sight' },
    { at_ms: 1900, kind: 'TASK_FAILED', about: '/job:worker/task:1', text: 'broke' },
  ],
  barriers: [
    { id: 'step_2', ended_ms: 1800, participants: 2, last: '/job:worker/task:0', host: 'b', late_ms: 700 },
    { id: 'step_1', ended_ms: 1100, participants: 2, last: 'worker:1', host: 'a', late_ms: 20 },
  ],
  latecomers: [],
  stacks: [],
  ended: [
    { rank: 1, task: 'worker:1', host: 'a', ended_ms: 1700, exit_status: 3 },
    { rank: 0, task: 'worker:0', host: 'b', ended_ms: 1950, exit_status: 0, signal: 15, stopped: true },
  ],
});

test('attempt details add times of ranks, event marks and barrier lines', () => {
  const t = runTimeline(attempts, [rank(0, 'b'), rank(1, 'a')], 4000, { details: new Map([[1, detail]]) });
  assert.deepEqual(
    t.spans.filter((s) => s.attempt === 1).map((s) => [s.lane, s.to, s.colour]),
    [
      [1, 1950, 'waiting'],
      [0, 1700, 'running'],
      [0, 2000, 'error'],
    ],
  );
  assert.deepEqual(
    t.marks.map((m) => [m.lane, m.at, m.kind]),
    [
      [1, 1200, 'event'],
      [0, 1900, 'failed'],
      [0, 2000, 'failed'],
    ],
  );
  assert.deepEqual(
    t.barriers.map((b) => [b.lane, b.from, b.to, b.late]),
    [
      [0, 1080, 1100, false],
      [1, 1100, 1800, true],
    ],
  );
  assert.match(lookAt(t, 1, 1500, 1), /barrier step_2: worker:0 arrived last of 2, 700 ms after the median arrival/);
});

test('stops and alerts are marks over all lanes', () => {
  const stopped: AttemptView[] = [{ attempt: 1, end: 'CANCELLED', ranks: 1, hosts: 1, begun_ms: 1000, ended_ms: 2000 }];
  const alert = { rule: 'program-hangs', severity: 'error' as const, title: 'Program x hangs', detail: '', since_ms: 1500, count: 1, link: '/programs/x' };
  assert.deepEqual(runTimeline(stopped, [], 3000, { alerts: [alert] }).marks, [
    { lane: -1, at: 1500, kind: 'alert', text: 'Program x hangs' },
    { lane: -1, at: 2000, kind: 'stop', text: 'attempt 1 was stopped' },
  ]);
});

test('pinch zooming keeps both points under the fingers', () => {
  const whole = { from: 0, to: 1000 };
  assert.deepEqual(pinched(whole, [0.25, 0.75], [0, 1], whole), { from: 250, to: 750 });
  assert.deepEqual(pinched({ from: 250, to: 750 }, [0, 1], [0.25, 0.75], whole), whole);
  assert.deepEqual(pinched(whole, [0.4, 0.6], [0.5, 0.5], whole), whole);
});

test('a thousand lanes have the height of a few', () => {
  const lanes = Array.from({ length: 1000 }, (_, rank) => ({ rank, host: `h${rank >> 2}`, worker: '', name: '', text: '' }));
  const layout = layoutOf({ lanes, from: 0, to: 1 }, []);
  assert.ok(layout.height < 410, String(layout.height));
  assert.equal(laneAt(layout, layout.tops[700]! + 0.1), 700);
  assert.ok(layout.names.length < 32);
});

test('a host with machine data has a strip above its lanes', () => {
  const t = runTimeline(attempts, [rank(0, 'b'), rank(1, 'a')], 4000);
  const machine = only<MachineView>({
    kind: 'worker',
    cluster: 'c',
    task: 'worker:0',
    host: 'b',
    seen_ms: 1,
    fresh: true,
    machine: { cpus: 8, memory_total_bytes: 100, gpus: [] },
    samples: { seconds: [1, 3], cpu: [2, 4], memory_bytes: [50, null], gpu_busy: [null, null] },
  });
  const layout = layoutOf(t, [machine]);
  assert.deepEqual(
    layout.strips.map(({ host, top }) => [host, top]),
    [['b', 32]],
  );
  assert.deepEqual(layout.tops, [0, 32 + STRIP]);
  assert.deepEqual(
    [0, 27, 40, 32 + STRIP, 999].map((y) => laneAt(layout, y)),
    [0, 0, 1, 1, 1],
  );
  assert.equal(machineAt(layout, 'b', 1200), '2.0 of 8 cores, memory 50.0% of 100 B');
  assert.equal(machineAt(layout, 'b', 3200), '4.0 of 8 cores');
  assert.equal(machineAt(layout, 'a', 1200), '');
  assert.equal(layoutOf(t, [{ ...machine, task: 'worker:9', host: 'b:41000' }]).strips.length, 1); // another worker on the host reports the machine
  assert.equal(layoutOf(runTimeline(attempts, [rank(0, 'b')], 4000), [{ ...machine, samples: { ...machine.samples!, seconds: [100, 200] } }]).strips.length, 0);
});

test('a restart of the server is a labelled gap in the lanes', () => {
  const event = (kind: string, text: string) => only<Parameters<typeof outagesOf>[0][number]>({ kind, text, time_ms: 100_000 });
  const [outage] = outagesOf([event('worker_attached', 'attached'), event('server_started', 'the server was restarted; the previous process last wrote its history 4 s ago')]);
  assert.deepEqual(outage, { from: 96_000, to: 100_000, text: 'server restart: nothing was recorded for 4.0 s' });
  assert.equal(outagesOf([event('server_started', 'last wrote its history 3 min ago')])[0]!.from, -80_000);
  assert.deepEqual(outagesOf([event('server_started', 'started')]), [{ from: 100_000, to: 100_000, text: 'server restart' }]);
  assert.deepEqual(outagesIn([outage!], { from: 98_000, to: 108_000 }), [{ left: 0, width: 0.2, text: outage!.text }]);
  assert.deepEqual(outagesIn([outage!], { from: 101_000, to: 108_000 }), []);
  const t = runTimeline(attempts, [rank(0, 'b'), rank(1, 'a')], 120_000, { outages: [outage!] });
  assert.match(lookAt(t, 0, 97_000, 1), /server restart/);
  assert.doesNotMatch(lookAt(t, 0, 90_000, 1), /server restart/);
});

test('while a program hangs, its cause is red and the other ranks wait, since nothing moved', () => {
  const hang = { text: 'rank 1 is a step behind', rank: 1, since_ms: 3000, found_ms: 3500, waits: 1, evidence: 'STEP' } as const;
  const t = runTimeline(attempts, [rank(0, 'b'), rank(1, 'a')], 4000, { hang });
  assert.deepEqual(
    t.waits.map(({ lane, from, to, awaited }) => [t.lanes[lane]!.name, from, to, awaited]),
    [
      ['rank 0', 3000, 4000, false],
      ['rank 1', 3000, 4000, true],
    ],
  );
  assert.match(lookAt(t, 0, 3500, 1), /hangs: rank 1 is a step behind/);
  const { rank: _, ...nobody } = hang;
  assert.deepEqual(runTimeline(attempts, [rank(0, 'b')], 4000, { hang: nobody }).waits, []);
});
