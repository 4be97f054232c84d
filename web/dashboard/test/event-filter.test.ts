import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fits, histogram, joined, kindsOf } from '../src/explore/model/event-filter';
import { rangeOf } from '../src/explore/model/range';
import type { EventRow } from '../src/shared/model/protocol';

const event = (number: number, time_ms: number, more: Partial<EventRow> = {}): EventRow => ({
  number,
  time_ms,
  severity: 'INFO',
  kind: 'k',
  cluster: '',
  subject: 's',
  text: `at ${time_ms}`,
  ...more,
});

test('events from disk and memory are listed once, newest first', () => {
  const all = joined([event(0, 1), event(0, 2)], [event(7, 2), event(8, 3)]);
  assert.deepEqual(
    all.map((e) => [e.number, e.time_ms]),
    [
      [8, 3],
      [7, 2],
      [0, 1],
    ],
  );
});

test('events with the same content are counted separately, also if only one is in memory', () => {
  assert.equal(joined([event(0, 1), event(0, 1)], []).length, 2);
  assert.deepEqual(
    joined([event(0, 1), event(0, 1), event(0, 2)], [event(7, 1)]).map((e) => e.number),
    [0, 7, 0],
  );
  assert.equal(joined([event(0, 1)], [event(7, 1), event(8, 1)]).length, 2);
});

test('events are filtered by severity, kind, text and time', () => {
  const any = { severity: 'all', kind: '', text: '', range: rangeOf('', ''), now: 100 } as const;
  assert.ok(fits(event(1, 5), any));
  assert.ok(!fits(event(1, 5), { ...any, severity: 'warnings' }));
  assert.ok(fits(event(1, 5, { severity: 'WARNING' }), { ...any, severity: 'warnings' }));
  assert.ok(!fits(event(1, 5, { severity: 'WARNING' }), { ...any, severity: 'errors' }));
  assert.ok(!fits(event(1, 5), { ...any, kind: 'other' }));
  assert.ok(!fits(event(1, 5), { ...any, range: rangeOf('6', '') }));
  assert.ok(fits(event(1, 5, { subject: 'Worker:1' }), { ...any, text: 'worker:1' }));
  assert.deepEqual(kindsOf([event(1, 1, { kind: 'b' }), event(2, 1, { kind: 'a' })], 'c'), ['a', 'b', 'c']);
});

test('a histogram counts each event once, including those at its edges', () => {
  const steps = histogram([event(1, 0), event(2, 99, { severity: 'ERROR' }), event(3, 100, { severity: 'ERROR' })], 0, 100, 4);
  assert.deepEqual(
    steps.map((s) => [s.info, s.error]),
    [
      [1, 0],
      [0, 0],
      [0, 0],
      [0, 2],
    ],
  );
});
