import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cpuText, gpuText, memoryText, rateText, sparkPath } from '../src/model/machines';

test('what is not known is a dash, not zero', () => {
  const none = { gpus: [] };
  assert.equal(cpuText(none), '–');
  assert.equal(memoryText(none), '–');
  assert.equal(gpuText(none), '–');
  assert.equal(rateText(1, undefined), '–');
  assert.equal(gpuText({ gpus: [{ name: 'x' }] }), '1 there');
});

test('figures of a machine', () => {
  const m = { cpu: 1.26, cpus: 4, memory_bytes: 5e9, memory_total_bytes: 1e10, gpus: [{ name: 'a', busy: 0.5 }, { name: 'b', busy: 1 }] };
  assert.equal(cpuText(m), '1.3 of 4');
  assert.equal(memoryText(m), '50.0% of 10 GB');
  assert.equal(gpuText(m), '75% of 2');
  assert.equal(rateText(2000, 10.4), '2.0 KB / 10 B');
});

test('the line of a figure breaks where it was not told', () => {
  assert.equal(sparkPath([0, 5, 10], [0, 1, 2]), 'M0.0 19.0L50.0 10.0L100.0 1.0');
  assert.equal(sparkPath([0, 5, 10], [4, null, 2], 4), 'M0.0 1.0L100.0 10.0');
  assert.equal(sparkPath([0, 50, 100], [4, 4, 4], 4), 'M0.0 1.0M50.0 1.0M100.0 1.0');
  assert.equal(sparkPath([], []), '');
});
