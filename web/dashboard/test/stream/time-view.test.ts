import assert from 'node:assert/strict';
import { test } from 'node:test';
import { around, clamped, MAX_SPAN, MIN_SPAN, panned, spanOf, ticks, zoomed } from '../../src/shared/model/time-view';

const now = 1_700_000_000_000;
const view = { from: now - 60_000, to: now };

test('zooming keeps the time under the pointer', () => {
  const at = now - 15_000;
  const next = zoomed(view, 0.5, at, now);
  assert.equal(spanOf(next), 30_000);
  assert.equal((at - next.from) / spanOf(next), 0.75);
});

test('a closure that started in the future is shown around its start', () => {
  assert.deepEqual(around(now, now + 10_000), { from: now - 200, to: now + 10_200 });
  for (const ended of [now, now - 150, 0]) assert.deepEqual(around(now, ended), { from: now - 10, to: now + 10 });
});

test('zooming has limits', () => {
  assert.equal(spanOf(zoomed(view, 1e-9, now, now)), MIN_SPAN);
  assert.equal(spanOf(zoomed(view, 1e9, now, now)), MAX_SPAN);
});

test('panning never moves entirely into the future', () => {
  assert.deepEqual(panned(view, -10_000, now), { from: now - 70_000, to: now - 10_000 });
  const far = panned(view, 1e9, now);
  assert.equal(spanOf(far), 60_000);
  assert.ok(far.from < now);
  assert.ok(spanOf(clamped({ from: 5, to: 1 }, now)) >= MIN_SPAN);
});

test('ticks are at whole steps and do not crowd', () => {
  const marks = ticks(view, 900);
  assert.ok(marks.length >= 5 && marks.length <= 10);
  for (const mark of marks) assert.equal(mark.at % 10_000, 0);
  assert.match(marks[0]!.label, /^\d\d:\d\d:\d\d$/);
  assert.match(ticks({ from: now, to: now + 100 }, 900)[0]!.label, /\.\d\d\d$/);
  assert.match(ticks({ from: now, to: now + 3_600_000 }, 900)[0]!.label, /^\d\d:\d\d$/);
});
