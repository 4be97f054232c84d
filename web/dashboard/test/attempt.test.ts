import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seenText, type AttemptDetail } from '../src/run/model/attempt';
import { whoStands } from '../src/run/model/stacks';

const none: AttemptDetail = { attempt: 1, end: 'FAILED', ranks: 2, hosts: 1, begun_ms: 1000, events: [], barriers: [], latecomers: [], stacks: [], ended: [] };

test('an attempt without observations has an empty text', () => {
  assert.equal(seenText(none), '');
});

test('stacks are grouped by ranks and followed by last lines', () => {
  const text = seenText({
    ...none,
    events: [{ at_ms: 3000, kind: 'WORKER_LOST', about: 'worker:1', text: 'gone' }],
    stacks: [
      { state: 'TAKEN', stack: 'a\nb\n', ranks: [{ rank: 0, task: 'worker:0' }] },
      { state: 'STOPPED', ranks: [{ rank: 1, task: 'worker:1' }] },
    ],
    ended: [{ rank: 0, task: 'worker:0', host: 'h', ended_ms: 2000, exit_status: 0, signal: 9, stopped: true, stdout: ['x'] }],
    ranks_left_out: 3,
  });
  assert.match(text, /WORKER_LOST worker:1: gone/);
  assert.match(text, / {2}rank 0\n {4}a\n {4}b\n {2}rank 1: STOPPED/);
  assert.match(text, /signal 9, stopped\n {4}stdout: x/);
  assert.match(text, /3 more ranks are not shown\.$/);
});

test('a few of many ranks are named', () => {
  const ranks = Array.from({ length: 20 }, (_, rank) => ({ rank, task: `worker:${rank}` }));
  assert.match(whoStands({ state: 'TAKEN', ranks }), /rank 7 and 12 others$/);
});
