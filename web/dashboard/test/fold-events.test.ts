import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf, foldEvents } from '../src/explore/model/fold-events';
import type { EventRow } from '../src/shared/model/protocol';

const event = (number: number, time_ms: number, subject: string, text = 'lost'): EventRow => ({ number, time_ms, severity: 'WARNING', kind: 'worker_lost', cluster: '', subject, text });

test('repeated events are one line with a count and the first time', () => {
  const folded = foldEvents([event(9, 60_000, 'a'), event(8, 40_000, 'a'), event(7, 30_000, 'b'), event(6, 20_000, 'a')]);
  assert.deepEqual(
    folded.map((e) => [e.number, e.subject, e.times, e.first_ms]),
    [
      [9, 'a', 3, 20_000],
      [7, 'b', 1, 30_000],
    ],
  );
});

test('texts that differ only in numbers are repeats', () => {
  assert.equal(foldEvents([event(2, 40_000, '', 'no closure has finished for 40 s'), event(1, 20_000, '', 'no closure has finished for 20.5 s')]).length, 1);
  assert.equal(foldEvents([event(2, 40_000, '', 'a'), event(1, 20_000, '', 'b')]).length, 2);
});

test('a much older repeat is a separate line', () => {
  assert.equal(foldEvents([event(2, 1_000_000, 'a'), event(1, 1, 'a')]).length, 2);
});

test('events of a worker are those that name it in its cluster', () => {
  const about = (number: number, cluster: string, subject: string, text = 'attached'): EventRow => ({ ...event(number, 0, subject, text), cluster });
  const all = [about(1, '', 'worker:1'), about(2, 'train', 'worker:1'), about(3, '', 'worker:11'), about(4, '', 'worker:2', 'my-worker:1 said worker:1 is lost'), about(5, 'default', 'worker:1')];
  assert.deepEqual(
    eventsOf(all, 'worker:1', { name: 'default', main: true }).map((e) => e.number),
    [5, 1],
  );
  assert.deepEqual(
    eventsOf(all, 'worker:1', { name: 'train', main: false }).map((e) => e.number),
    [2],
  );
});
