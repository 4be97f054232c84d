import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedOf, boundsOf, fieldOf, isAll, isIn, lengthOf, presetOf, rangeOf, timeOf } from '../src/explore/model/range';
import { setClockZone } from '../src/shared/model/format';

const NOW = Date.UTC(2026, 10, 30, 17, 30, 0);
setClockZone('UTC');

test('a range in the address is a pair of times or a length up to now', () => {
  assert.deepEqual(rangeOf('', ''), { last: 0, from: 0, to: 0 });
  assert.ok(isAll(rangeOf('', '')));
  assert.deepEqual(rangeOf('15m', '7'), { last: 900_000, from: 0, to: 0 });
  assert.deepEqual(boundsOf(rangeOf('15m', ''), NOW), { from: NOW - 900_000, to: 0 });
  assert.deepEqual(rangeOf('5', '7'), { last: 0, from: 5, to: 7 });
  assert.deepEqual(rangeOf('9', '7'), { last: 0, from: 0, to: 7 });
  assert.deepEqual(rangeOf('x', '-1'), { last: 0, from: 0, to: 0 });
  assert.equal(lengthOf('999999d'), 366 * 86_400_000);
  assert.equal(presetOf(3_600_000), '1h');
  assert.equal(presetOf(60_000), '');
});

test('a range selects times and names the parameters of REST', () => {
  const range = rangeOf('5', '7');
  assert.deepEqual(
    [4, 5, 7, 8].map((ms) => isIn(ms, range, NOW)),
    [false, true, true, false],
  );
  assert.deepEqual(askedOf(range, NOW), { from_ms: 5, to_ms: 7 });
  assert.deepEqual(askedOf(rangeOf('', ''), NOW), { from_ms: '', to_ms: '' });
  assert.ok(isIn(NOW - 1, rangeOf('1h', ''), NOW));
});

test('a field accepts a time of the last 24 hours, or a date and a time', () => {
  const at = (day: number, h: number, m: number, s = 0) => Date.UTC(2026, 10, day, h, m, s);
  assert.equal(timeOf('17:05', NOW), at(30, 17, 5));
  assert.equal(timeOf(' 17:05:30 ', NOW), at(30, 17, 5, 30));
  assert.equal(timeOf('18:00', NOW), at(29, 18, 0));
  assert.equal(timeOf('2026-11-27 18:00', NOW), at(27, 18, 0));
  assert.equal(timeOf('2026-11-30T01:02', NOW), at(30, 1, 2));
  for (const text of ['', 'soon', '17', '17:5', '2026-99-99 17:05']) assert.equal(timeOf(text, NOW), null, text);
  assert.equal(fieldOf(at(30, 17, 5), NOW), '17:05:00');
  assert.equal(fieldOf(at(27, 18, 0), NOW), '2026-11-27 18:00:00');
  assert.equal(fieldOf(0, NOW), '');
});
