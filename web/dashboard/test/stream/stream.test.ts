import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hueNumbers } from '../../src/shared/model/function-hue';
import { Stream } from '../../src/explore/model/stream';
import { hitAt, nextHit, sums } from '../../src/explore/model/stream-look';
import type { StreamBody } from '../../src/explore/model/stream-protocol';
import { emptyPalette, fillPixels, packed } from '../../src/explore/model/stream-pixels';
import { BAD_FAILED, eachRun, fillRow, hueOf, kindOf } from '../../src/explore/model/stream-runs';
import { only, type Part } from '../only';

type Row = [lane: number, startMs: number, ms: number, state?: number, count?: number];

function body(rows: Row[], more: Part<StreamBody> = {}): StreamBody {
  return only<StreamBody>({
    now_ms: 10_000,
    base_ms: 1000,
    since_ms: 0,
    next: rows.length,
    more: false,
    lanes: [
      { lane: 7, task: 'worker:10', cluster: '', slots: 4 },
      { lane: 3, task: 'worker:2', cluster: '', slots: 4 },
    ],
    functions: ['f', 'g'],
    bars: {
      lane: rows.map((r) => r[0]),
      start_us: rows.map((r) => (r[1] - 1000) * 1000),
      duration_us: rows.map((r) => r[2] * 1000),
      function: rows.map((_, n) => n % 2),
      state: rows.map((r) => r[3] ?? 0),
      count: rows.map((r) => r[4] ?? 1),
      closure: rows.map((_, n) => `cl_${n}`),
    },
    running: { lane: [], start_us: [], function: [], closure: [] },
    ...more,
  });
}

function filled(rows: Row[], more: Part<StreamBody> = {}): Stream {
  const stream = new Stream();
  stream.apply(body(rows, more), true);
  return stream;
}

function runsOf(stream: Stream, lane: number, row: number, view: { from: number; to: number }, width: number): string[] {
  const codes = new Uint8Array(width);
  fillRow(stream, stream.lanes[lane]!, row, view, stream.now, Uint8Array.of(0, 1), codes);
  const runs: string[] = [];
  eachRun(codes, (code, from, to) => runs.push(`${kindOf(code)}${hueOf(code)} ${from}-${to}`));
  return runs;
}

test('lanes are sorted by index, and bars have their lane and start', () => {
  const stream = filled([
    [7, 2000, 500],
    [3, 1500, 2000],
  ]);
  assert.deepEqual(
    stream.lanes.map((l) => l.task),
    ['worker:2', 'worker:10'],
  );
  assert.equal(stream.laneOf(0).task, 'worker:10');
  assert.equal(stream.at.start[0], 2000);
  assert.equal(stream.at.end[1], 3500);
});

test('overlapping closures have separate rows', () => {
  const stream = filled([
    [3, 1000, 100],
    [3, 1050, 100],
    [3, 1160, 50],
  ]);
  assert.equal(stream.lanes[0]!.rows, 2);
  assert.deepEqual([...stream.at.row.subarray(0, 3)], [0, 1, 1]);
});

test('a worker has at most as many rows as slots', () => {
  const two = { lanes: [{ lane: 3, task: 'worker:2', cluster: '', slots: 2 }] };
  // A short bar is next to a long bar that ends later. The long bar gets the row that was free.
  const tight = filled(
    [
      [3, 1000, 100],
      [3, 1002, 110],
      [3, 1113, 20],
      [3, 1100, 60],
    ],
    two,
  );
  assert.equal(tight.lanes[0]!.rows, 2);
  assert.deepEqual([...tight.at.row.subarray(0, 4)], [0, 1, 1, 0]);
  // Three bars seem to overlap, because messages arrived late.
  const late = filled(
    [
      [3, 1000, 100],
      [3, 1000, 120],
      [3, 1050, 100],
    ],
    two,
  );
  assert.equal(late.lanes[0]!.rows, 2);
  assert.equal(late.at.row[2], 0, 'over the one that ended first');
  const sums = filled(
    [
      [3, 1000, 100],
      [3, 1000, 120],
      [3, 1050, 90, 0, 7],
    ],
    two,
  );
  assert.equal(sums.lanes[0]!.rows, 3, 'sums last for as long as any of theirs');
});

test('an answer adds bars, and a fresh one replaces them', () => {
  const stream = filled([[3, 1000, 100]]);
  stream.apply(body([[3, 2000, 100]]), false);
  assert.equal(stream.size, 2);
  stream.apply(body([[3, 3000, 100]]), true);
  assert.equal(stream.size, 1);
  assert.equal(stream.lanes[0]!.bars.length, 1);
});

test('the oldest bars are dropped beyond the capacity', () => {
  const stream = new Stream();
  const many: Row[] = Array.from({ length: 50_000 }, (_, n) => [n % 2 ? 3 : 7, 1000 + n, 0.5]);
  for (let n = 0; n < 4; ++n) stream.apply(body(many), false);
  assert.ok(stream.size <= Stream.capacity);
  assert.equal(stream.lanes[0]!.bars.length + stream.lanes[1]!.bars.length, stream.size);
  for (const lane of stream.lanes) for (const bar of lane.bars) assert.equal(stream.laneOf(bar), lane);
});

test('runs: bars have gaps, sums are lighter, and running bars extend to now', () => {
  const running = { lane: [3], start_us: [8_000_000], function: [1], closure: ['cl_9'] };
  const stream = filled(
    [
      [3, 1000, 1000],
      [3, 3000, 2000, 0, 40],
    ],
    { running },
  );
  assert.deepEqual(runsOf(stream, 0, 0, { from: 0, to: 10_000 }, 100), ['bar0 10-19', 'sum1 30-49', 'running1 90-99']);
});

test('runs: thousands of bars are limited to pixels and still show a failure', () => {
  const many: Row[] = Array.from({ length: 20_000 }, (_, n) => [3, 1000 + n * 0.1, 0.1, n === 7777 ? 1 : 0]);
  const stream = filled(many);
  const runs = runsOf(stream, 0, 0, { from: 1000, to: 3000 }, 50);
  assert.ok(runs.length <= 50);
  assert.ok(runs.some((run) => run.startsWith('failed')));
  assert.equal(kindOf(BAD_FAILED), 'failed');
});

test('runs: failed, lost and cancelled differ, and nothing outside the view is drawn', () => {
  const stream = filled([
    [3, 1000, 500, 1],
    [3, 2000, 500, 2],
    [3, 3000, 500, 3],
    [3, 20_000, 10],
  ]);
  assert.deepEqual(
    runsOf(stream, 0, 0, { from: 0, to: 10_000 }, 100).map((r) => r.split(' ')[0]),
    ['failed-1', 'cancelled-1', 'lost-1'],
  );
});

test('the pointer finds failed bars first, then running ones, then sums', () => {
  const running = { lane: [3], start_us: [8_000_000], function: [1], closure: ['cl_9'] };
  const minutes = { lane: [3], start_ms: [-120_000], count: [40], failed: [1], busy_ms: [30_000], function: [0] };
  const stream = filled(
    [
      [3, 1000, 500],
      [3, 1500.2, 3, 1],
    ],
    { running, minutes },
  );
  const lane = stream.lanes[0]!;
  const hit = hitAt(stream, lane, 0, 1500, 5, 10_000);
  assert.ok(hit?.kind === 'bar' && stream.at.state[hit.bar] === 1);
  assert.equal(hitAt(stream, lane, 0, 9500, 5, 10_000)?.kind, 'running');
  assert.equal(hitAt(stream, lane, 0, -100_000, 5, 10_000)?.kind, 'minute');
  assert.equal(hitAt(stream, lane, 0, 5000, 5, 10_000), null);
  assert.equal(nextHit(stream, lane, 1000, true, 10_000)?.start, 1500.2);
  assert.equal(nextHit(stream, lane, 1500.2, false, 10_000)?.start, 1000);
  assert.equal(nextHit(stream, lane, 2000, true, 10_000)?.kind, 'running');
});

test('the table: worker, function, closures, busy time inside the view', () => {
  const stream = filled([
    [3, 1000, 1000],
    [3, 2000, 100, 1],
    [7, 1500, 1000, 0, 50],
  ]);
  const rows = sums(stream, stream.lanes, { from: 1500, to: 2050 }, stream.now);
  const texts = rows.map((r) => `${r.lane.task} ${stream.functions[r.function]} ${r.count} ${r.failed} ${Math.round(r.busy)}`);
  assert.deepEqual(texts, ['worker:10 f 50 0 550', 'worker:2 f 1 0 500', 'worker:2 g 1 1 50']);
});

test('twelve functions have a colour of their own, the thirteenth the first again', () => {
  const hues = hueNumbers('abcdefghijklm'.split('').map((name) => ({ name })));
  assert.deepEqual([...hues.values()], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0]);
});

test('pixels: bars fill the height of their lane, and failed bars are drawn later', () => {
  const stream = filled([
    [3, 1000, 1000],
    [3, 3000, 1000, 1],
    [7, 1000, 1000],
  ]);
  const width = 100;
  const pixels = new Uint32Array(width * 20);
  const palette = emptyPalette();
  palette.bars.fill(9);
  palette.line = 5;
  const picture = { stream, lanes: stream.lanes, hues: Uint8Array.of(0, 1), view: { from: 0, to: 10_000 }, now: 10_000, width, height: 20, laneHeight: 10, top: 0, scale: 1 };
  const { bad, runs } = fillPixels(pixels, picture, [50], palette);
  assert.equal(runs, 3);
  assert.deepEqual(
    bad.map(({ code, x, y, w, h }) => [code, x, y, w, h]),
    [[BAD_FAILED, 30, 3, 10, 4]],
  );
  const column = (x: number) => Array.from({ length: 20 }, (_, y) => pixels[y * width + x]).join('');
  assert.equal(column(12), '00099990050009999005');
  assert.equal(column(35), '00000000050000000005');
  assert.equal(column(50), '55555555555555555555');
  assert.equal(packed('rgb(1, 2, 3)', 1).toString(16), 'ff030201');
});

test('a sum has the busy time and the failures of its closures', () => {
  const one = body([[3, 1000, 100, 1, 40]]);
  const stream = new Stream();
  stream.apply({ ...one, bars: { ...one.bars, busy_us: [60_000], failed: [3] } }, true);
  const [row] = sums(stream, stream.lanes, { from: 1050, to: 2000 }, stream.now);
  assert.deepEqual([row!.count, row!.failed, Math.round(row!.busy)], [40, 3, 30]);
});

test('running closures are known for past ranges and for lanes without bars', () => {
  const stream = filled([[3, 1000, 100]]);
  stream.takeRunning(body([], { lanes: [{ lane: 9, task: 'worker:11', cluster: '', slots: 4 }], running: { lane: [9], start_us: [500_000], function: [5], closure: ['cl_7'] } }));
  assert.deepEqual(
    stream.lanes.map((lane) => [lane.task, lane.running.length]),
    [
      ['worker:2', 0],
      ['worker:10', 0],
      ['worker:11', 1],
    ],
  );
  assert.equal(stream.functions[stream.lanes[2]!.running[0]!.function], 'several functions');
  assert.equal(stream.size, 1);
});

test('bars and running closures have a job; sums and older servers have none', () => {
  const columns = body([
    [3, 1000, 100],
    [3, 2000, 50, 0, 40],
  ]);
  const running = { lane: [7], start_us: [0], function: [0], closure: ['cl_9'], job: [2] };
  const stream = new Stream();
  stream.apply({ ...columns, jobs: ['job_1', '', 'job_2'], bars: { ...columns.bars, job: [0, 1] }, running }, true);
  assert.deepEqual(stream.jobs, ['job_1', '']);
  assert.equal(stream.lanes[1]!.running[0]!.job, 'job_2');
  assert.deepEqual(filled([[3, 1000, 100]]).jobs, ['']);
});
