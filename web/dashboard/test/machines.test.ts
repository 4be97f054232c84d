import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuText, gapOf, gpuText, isSilent, machineThen, memoryText, rateText, sampleAt, sparkPath, type MachineView } from '../src/run/model/machines';
import { only } from './only';

test('unknown measurements are a dash instead of zero', () => {
  const none = { gpus: [] };
  assert.equal(cpuText(none), '–');
  assert.equal(memoryText(none), '–');
  assert.equal(gpuText(none), '–');
  assert.equal(rateText(1, undefined), '–');
  assert.equal(gpuText({ gpus: [{ name: 'x' }] }), '1 there');
});

test('measurements of a machine are formatted', () => {
  const m = {
    cpu: 1.26,
    cpus: 4,
    memory_bytes: 5e9,
    memory_total_bytes: 1e10,
    gpus: [
      { name: 'a', busy: 0.5 },
      { name: 'b', busy: 1 },
    ],
  };
  assert.equal(cpuText(m), '1.3 of 4');
  assert.equal(memoryText(m), '50.0% of 10 GB');
  assert.equal(gpuText(m), '75.0% of 2');
  assert.equal(rateText(2000, 10.4), '2.0 KB / 10 B');
});

test('the line of a measurement has gaps where samples are missing', () => {
  assert.equal(sparkPath([0, 5, 10], [0, 1, 2]), 'M0.0 19.0L50.0 10.0L100.0 1.0');
  assert.equal(sparkPath([0, 5, 10], [4, null, 2], 4), 'M0.0 1.0L100.0 10.0');
  assert.equal(sparkPath([0, 5, 50, 100], [4, 4, 4, 4], 4), 'M0.0 1.0L5.0 1.0M50.0 1.0M100.0 1.0');
  assert.equal(sparkPath([], []), '');
});

test('samples of days are joined across minutes, and ranges without samples stay empty', () => {
  assert.deepEqual([gapOf([0, 5, 10]), gapOf([0, 300, 600]), gapOf([])], [20, 750, 20]);
  assert.equal(sparkPath([0, 300, 600, 3000], [0, 1, 2, 2]), 'M0.0 19.0L10.0 10.0L20.0 1.0M100.0 1.0');
  assert.equal(sparkPath([50, 60], [0, 1], 1, [0, 100]), 'M50.0 19.0L60.0 1.0');
});

test('measurements at a given time are those of the nearest sample', () => {
  const seconds = [100, 105, 110];
  assert.deepEqual(
    [0, 99_000, 102_400, 102_600, 109_000, 125_000, 200_000].map((at) => sampleAt(seconds, at)),
    [-1, 0, 0, 1, 2, 2, -1],
  );
  assert.equal(sampleAt([], 5), -1);
  const one = only<MachineView>({
    kind: 'worker',
    cluster: 'c',
    task: 'worker:0',
    host: 'h',
    seen_ms: 1,
    fresh: true,
    machine: { cpu: 9, cpus: 8, memory_bytes: 1, memory_total_bytes: 100, received_per_s: 7, gpus: [{ name: 'a', busy: 1 }] },
    samples: { seconds, cpu: [1, 2, null], memory_bytes: [10, 20, 30], gpu_busy: [0.25, null, null] },
  });
  assert.deepEqual([cpuText(machineThen(one, 100_000)!), gpuText(machineThen(one, 100_000)!)], ['1.0 of 8', '25.0% of 1']);
  assert.equal(cpuText(machineThen(one, 110_000)!), '–');
  assert.equal(machineThen(one, 0), null);
});

test('a machine is silent if its report is old, but not in a range that has ended', () => {
  const old = { seen_ms: 100_000 };
  assert.ok(isSilent(old, null, 130_000));
  assert.ok(isSilent(old, { from: 0, to: 130_000 }, 130_000));
  assert.ok(!isSilent(old, null, 110_000));
  assert.ok(!isSilent(old, { from: 0, to: 101_000 }, 130_000));
});
