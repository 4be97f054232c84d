import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, bytes, count, outOf, percent, plural, short, some, span, tick, TIME_STEPS, timeTick, momentAt, setClockZone } from '../src/shared/model/format';

const table = (name: string, of: (n: number) => string, cases: [number, string][]) =>
  test(name, () => {
    for (const [n, text] of cases) assert.equal(of(n), text, String(n));
  });

table('count', count, [
  [0, '0'],
  [999, '999'],
  [1234, '1,234'],
  [8_390_000, '8,390,000'],
  [NaN, '–'],
  [Infinity, '–'],
]);
table('short', short, [
  [0, '0'],
  [0.4, '0.4'],
  [7, '7'],
  [9954, '9,954'],
  [9999.4, '9,999'],
  [9999.6, '10.0 k'],
  [12_432, '12.4 k'],
  [999_949, '999.9 k'],
  [999_950, '1.00 M'],
  [2_420_000, '2.42 M'],
  [999_995_000, '1.00 G'],
  [-1500, '−1,500'],
  [NaN, '–'],
]);
table('tick', tick, [
  [0, '0'],
  [0.25, '0.25'],
  [500, '500'],
  [20_000, '20k'],
  [1_500_000, '1.5M'],
  [2e9, '2G'],
]);
table('age', age, [
  [-5, '< 1 ms'],
  [262, '262 ms'],
  [999.9, '999 ms'],
  [1000, '1.0 s'],
  [4199, '4.1 s'],
  [9999, '9.9 s'],
  [10_000, '10 s'],
  [59_999, '59 s'],
  [60_000, '1m 00s'],
  [725_000, '12m 05s'],
  [3_599_999, '59m 59s'],
  [11_100_000, '3h 05m'],
  [86_400_000, '1d 0h'],
  [93_600_000, '1d 2h'],
  [Infinity, '–'],
]);
table('span', span, [
  [250, '250 ms'],
  [5000, '5 s'],
  [12_500, '12.5 s'],
  [90_000, '1m 30s'],
]);
table('bytes', bytes, [
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1.0 KB'],
  [48_230, '48 KB'],
  [999_600, '1.0 MB'],
  [3.4e9, '3.4 GB'],
  [5e15, '5000 TB'],
]);

test('percent shows 100 only when complete', () => {
  assert.equal(percent(970, 1000), '97.0%');
  assert.equal(percent(9999, 10_000), '99.9%');
  assert.equal(percent(10, 10), '100.0%');
  assert.equal(percent(0, 0), '–');
});

test('counts and lists are written as words', () => {
  assert.equal(plural(1, 'task'), '1 task');
  assert.equal(plural(1200, 'task'), '1,200 tasks');
  assert.equal(some([]), '');
  assert.equal(some(['a']), 'a');
  assert.equal(some(['a', 'b', 'c']), 'a, b and c');
  assert.equal(some(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 more');
  assert.equal(some(['a', 'b', 'c'], 3, 1003), 'a, b, c and 1,000 more');
});

test('incomplete counts are not rounded to the total', () => {
  assert.equal(outOf(49_999, 50_000), '49,999 of 50,000');
  assert.equal(outOf(50_000, 50_000), '50.0 k of 50.0 k');
  assert.equal(outOf(1200, 98_000), '1,200 of 98.0 k');
});

table('timeTick', timeTick, [
  [0, '0'],
  [5, '5 ms'],
  [500, '500 ms'],
  [2000, '2 s'],
  [30_000, '30 s'],
  [306_000, '5.1 min'],
  [1_020_000, '17 min'],
  [7_200_000, '2 h'],
]);

test('steps of a time axis are whole in their unit', () => {
  for (const step of TIME_STEPS) for (const n of [1, 3]) assert.match(timeTick(step * n), /^\d+(\.5)? (ms|s|min|h)$/, String(step * n));
  assert.deepEqual(
    [...TIME_STEPS].sort((a, b) => a - b),
    TIME_STEPS,
  );
});

test('a clock time means its most recent occurrence', () => {
  setClockZone('UTC');
  const now = Date.UTC(2026, 10, 27, 8, 0, 0);
  assert.equal(momentAt('07:30', now), Date.UTC(2026, 10, 27, 7, 30));
  assert.equal(momentAt('08:00:01', now), Date.UTC(2026, 10, 26, 8, 0, 1));
  assert.equal(momentAt('soon', now), null);
  setClockZone('local');
});
