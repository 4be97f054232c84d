import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boxesIn, pixelOf } from '../../src/run/model/boxes';
import { layoutOf, CHART, AXIS } from '../../src/run/model/layout';
import { bucketsFor, curveOf, joinedSteps, metAt, NO_STEPS, stepAt, stepRows, took, type TimelineBody } from '../../src/run/model/steps';
import { runTimeline, steady } from '../../src/run/model/timeline';

const few: TimelineBody = {
  from_ms: 1000,
  until_ms: 2000,
  usual_us: 100_000,
  slow_us: 200_000,
  steps: { rank: [0, 1, 0], step: [7, 7, 8], end_us: [100_000, 300_000, 500_000], took_us: [100_000, 300_000, 40_000], count: [1, 1, 4], longest_us: [100_000, 300_000, 20_000] },
  barriers: [{ attempt: 1, id: 'step_7', counter: 0, began_ms: 1100, ended_ms: 1300, participants: 2, ranks: [0, 1], came_us: [0, 200_000] }],
};

test('single steps are cells, and several short steps share one', () => {
  const s = joinedSteps(NO_STEPS, few);
  assert.deepEqual([s.usual, s.until, s.met.length], [100, 2000, 1]);
  assert.deepEqual(
    s.cells.map((c) => [c.rank, c.step, c.from, c.to, c.n, c.median, c.longest, c.slow]),
    [
      [0, 7, 1000, 1100, 1, 100, 100, false],
      [1, 7, 1000, 1300, 1, 300, 300, true],
      [0, -1, 1460, 1500, 4, 10, 20, false],
    ],
  );
  assert.equal(stepAt(s, 1, 1200), 'step 7 took 300 ms, slow');
  assert.equal(stepAt(s, 0, 1480), '4 steps, median 10 ms, longest 20 ms');
  assert.equal(stepAt(s, 0, 1200), '');
  assert.equal(metAt(s.met, 1, 1250, 1), 'arrived at barrier step_7 200 ms after the first; all arrived after 200 ms');
  assert.equal(metAt(s.met, 0, 1250, 1), 'arrived at barrier step_7 first; all arrived after 200 ms');
  assert.equal(metAt(s.met, 0, 2250, 1) + metAt(s.met, 9, 1250, 1), '');
});

const many: TimelineBody = {
  from_ms: 2000,
  until_ms: 4000,
  bucket_us: 1_000_000,
  usual_us: 50_000,
  slow_us: 100_000,
  lanes: [
    { rank: 3, bucket: [0], steps: [10], p50_us: [500], max_us: [900] },
    { rank: 4, bucket: [0, 1], steps: [10, 2], p50_us: [600, 700_000], max_us: [2500, 800_000] },
  ],
  barriers: [],
};

test('summed intervals are cells where a step ended, and answers are joined', () => {
  const s = joinedSteps(joinedSteps(NO_STEPS, few), many);
  assert.deepEqual(
    s.cells.slice(3).map((c) => [c.rank, c.from, c.to, c.n, c.median, c.longest, c.slow]),
    [
      [3, 2000, 3000, 10, 0.5, 0.9, false],
      [4, 2000, 3000, 10, 0.6, 2.5, false],
      [4, 3000, 4000, 2, 700, 800, true],
    ],
  );
  assert.deepEqual([s.usual, s.until], [100, 4000]);
  assert.deepEqual(stepRows(s.cells, { from: 2000, to: 4000 }), [
    { rank: 4, n: 12, median: 700, longest: 800, slow: 1 },
    { rank: 3, n: 10, median: 0.5, longest: 0.9, slow: 0 },
  ]);
  assert.deepEqual(
    stepRows(s.cells, { from: 1450, to: 1600 }).map((r) => r.rank),
    [0],
  );
});

test('the curve has the median and maximum over ranks, with gaps without steps', () => {
  const { cells } = joinedSteps(NO_STEPS, many);
  assert.deepEqual(curveOf(cells, { from: 2000, to: 4000 }, 2), { median: [0.6, 700], longest: [2.5, 800], top: 800 });
  assert.deepEqual(curveOf(cells, { from: 0, to: 4000 }, 4).median, [null, null, 0.6, 700]);
  assert.equal(curveOf([], { from: 0, to: 1 }, 3).top, 0.001);
  const lots = Array.from({ length: 1000 }, (_, rank) => ({ rank, step: 1, from: 0, to: 10, n: 1, median: rank, longest: rank, slow: false }));
  assert.deepEqual(curveOf(lots, { from: 0, to: 10 }, 1), { median: [496], longest: [999], top: 999 }); // every 16th rank
});

test('the request size is limited for any number of ranks', () => {
  assert.deepEqual([1, 64, 100, 1000, 100_000].map(bucketsFor), [300, 300, 240, 40, 40]);
  assert.deepEqual([0.0125, 3.21, 35, 61_000].map(took), ['12 µs', '3.2 ms', '35 ms', '1m 01s']);
});

test('the step chart is below the lanes in the same canvas', () => {
  const t = runTimeline([{ attempt: 1, end: 'NONE', ranks: 4, hosts: 1, begun_ms: 1 }], [], 5);
  const plain = layoutOf(t, []);
  const charted = layoutOf(t, [], true);
  assert.equal(plain.chart, -1);
  assert.equal(charted.height - plain.height, CHART + 4);
  assert.equal(charted.chart + CHART + AXIS, charted.height);
  assert.equal(charted.names.at(-1)!.text, 'step time');
});

test('boxes cover at least one pixel and none outside the image', () => {
  const image = new Uint32Array(10 * 4);
  const box = boxesIn(image, 10, 4, { from: 1000, to: 2000 }, 2);
  box(1200, 1400, 0, 1, 7); // two rows high, with two pixels each
  box(1900, 5000, 1, 0.1, 8);
  box(1900, 1901, 9, 1, 9);
  box(100, 900, 0, 2, 9);
  const rows = [0, 1, 2, 3].map((n) => [...image.slice(10 * n, 10 * n + 10)].join(''));
  assert.deepEqual(rows, ['0077000000', '0077000000', '0000000008', '0000000000']);
  assert.equal(pixelOf('rgb(1, 2, 3)', 1), 0xff030201);
  assert.equal(pixelOf('rgb(255, 0, 0)', 0.5) >>> 24, 128);
});

test('time of a running attempt advances in steps of a pixel or 250 ms', () => {
  assert.equal(steady(100_123, 100_000, 1000), 100_000);
  const hour = [0, 1000, 2000].map((more) => steady(3_600_000 + more, 0, 1000));
  assert.equal(hour[0], hour[1]); // a pixel is 3.6 s
  for (const now of [1, 7_777, 3_600_000, 86_400_000]) assert.ok(now - steady(now, 0, 1000) <= Math.max(250, now / 1000));
  const many = [0, 1000, 4000, 5000].map((more) => steady(100_000 + more, 0, 1000, 10_000));
  assert.deepEqual(many, [100_000, 100_000, 100_000, 105_000], 'a timeline of 10,000 lanes is computed every 5 s');
});
