import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureLine, nameOf, ran, remark, stateFilters, waited, whereOf } from '../src/shared/model/closures';
import { closureCommands, jobCommands, quoted, splitTask, workerCommands } from '../src/shared/model/commands';
import { pieces } from '../src/shared/model/links';
import { previewText, type Preview } from '../src/shared/model/preview';
import { cancelText, pace, rateOf, sampled } from '../src/run/model/rate';
import type { ClosureView, Counts, Failure, JobView } from '../src/shared/model/views';
import { only, type Part } from './only';

const closure = (more: Part<ClosureView> = {}) =>
  only<ClosureView>({
    id: 'cl_0000000100000001',
    job: 'job_0000000000000001',
    index: 1,
    function: 'f',
    state: 'QUEUED',
    created_ms: 1000,
    finished_ms: 0,
    attempts: [],
    ...more,
  });
const counts = (more: Partial<Counts> = {}): Counts => ({ total: 0, blocked: 0, queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0, ...more });
const attempt = (n: number, started_ms: number, ended_ms: number) => ({ attempt: n, worker: `worker:${n}`, started_ms, ended_ms });

test('times of a closure: waiting ends with the first attempt, running is the last one', () => {
  assert.deepEqual(waited(closure()), { from: 1000, to: 0 });
  assert.deepEqual(ran(closure()), { from: 0, to: 0 });
  const twice = closure({ state: 'RUNNING', attempts: [attempt(1, 2000, 3000), attempt(2, 4000, 0)] });
  assert.deepEqual(
    [waited(twice), ran(twice)],
    [
      { from: 1000, to: 2000 },
      { from: 4000, to: 0 },
    ],
  );
  assert.equal(whereOf(twice), 'worker:2');
  assert.equal(whereOf(closure({ sent_to: 'worker:9' })), 'worker:9');
  const stopped = closure({ state: 'CANCELLED', finished_ms: 1500 });
  assert.deepEqual(waited(stopped), { from: 1000, to: 1500 });
});

test('a closure is named after its callable if known', () => {
  assert.equal(nameOf(closure()), 'f');
  assert.equal(nameOf(closure({ function: 'python:3.11', display_name: 'train.step' })), 'train.step');
});

test('a row shows the most severe state', () => {
  const failed = (of: Part<Failure>) => failureLine(only<Failure>(of));
  assert.equal(remark(closure({ error: { kind: 'USER', type: 'ValueError', message: '\nno such column\nat line 3' } })), 'ValueError: no such column');
  assert.equal(failed({ kind: 'USER', type: 'ValueError', message: 'ValueError: no' }), 'ValueError: no');
  assert.equal(failed({ kind: 'WORKER_LOST', message: '' }), 'WORKER_LOST');
  assert.equal(failed({ kind: 'USER', type: 'muster.fail', message: 'Traceback (most recent call last):\n  File "a.py"\n\u001b[31mKeyError\u001b[0m: price\n' }), 'muster.fail: KeyError: price');
  assert.equal(remark(closure({ sent_to: 'worker:3' })), 'prefetched to worker:3, waiting for a free slot there');
  assert.equal(remark(closure({ state: 'BLOCKED', inputs_missing: 2 })), 'waiting for 2 inputs');
  assert.equal(remark(closure({ state: 'RUNNING', cancel_requested: true })), 'asked to stop');
  assert.equal(remark(closure({ state: 'RUNNING', progress: { fraction: 0.5, text: 'epoch 3', attempt: 1, time_ms: 0 } })), '50.0% epoch 3');
  assert.equal(remark(closure()), '');
});

test('state filters are the non-empty ones and the chosen one', () => {
  const words = (c: Counts, now = '') => stateFilters(c, now).map(([, word, n]) => `${word} ${n}`);
  assert.deepEqual(words(counts({ total: 5, succeeded: 4, failed: 1 })), ['all 5', 'succeeded 4', 'failed 1']);
  assert.deepEqual(words(counts(), 'FAILED'), ['all 0', 'failed 0']);
  assert.deepEqual(words(counts({ total: 3, blocked: 1, running: 2 })), ['all 3', 'unfinished 3', 'blocked 1', 'running 2']);
  assert.deepEqual(words(counts({ total: 3, failed: 1, cancelled: 2 }), 'ENDED_BADLY').at(-1), 'failed or cancelled 3');
});

test('the rate covers the last 30 s and is unknown at first', () => {
  assert.equal(rateOf([], 0), null);
  assert.equal(rateOf([{ at: 1000, done: 5 }], 0), null);
  assert.equal(rateOf([{ at: 10_000, done: 50 }], 0), 5);
  let samples = sampled([], { at: 100_000, done: 0 });
  for (let s = 1; s <= 60; ++s) samples = sampled(samples, { at: 100_000 + s * 1000, done: s * 10 });
  assert.equal(samples.length, 31);
  assert.equal(rateOf(samples, 0), 10);
  assert.deepEqual(sampled(samples, { at: 1, done: 999 }), samples); // simulates a clock that was set back
  assert.equal(sampled(samples, { at: 170_000, done: 0 }).length, 1); // simulates a server restart
  assert.equal(pace(counts({ total: 1000, succeeded: 400 }), 10), '10 a second · about 1m 00s left');
  assert.equal(pace(counts({ total: 1000, succeeded: 400 }), 0.05), '3 a minute · about 3h 20m left');
  assert.equal(pace(counts({ total: 1000 }), 0), 'no closure has finished recently');
  assert.equal(pace(counts({ total: 10, succeeded: 10 }), 10), '');
  assert.equal(pace(counts({ total: 10 }), null), '');
});

test('names in a sentence are separated from its text', () => {
  const text = 'waits for rv_0000000100000001 on worker:1 at 10.0.0.1:8 and worker:12, job_0000000000000001.';
  assert.deepEqual(
    pieces(text, ['worker:1', 'worker:1', ''])
      .map((p) => (p.kind === 'text' ? p.text : `<${p.kind} ${p.text}>`))
      .join(''),
    'waits for <closure rv_0000000100000001> on <task worker:1> at 10.0.0.1:8 and worker:12, <job job_0000000000000001>.',
  );
  assert.deepEqual(pieces('<b>cl_1</b>'), [{ text: '<b>cl_1</b>', kind: 'text' }]);
  assert.deepEqual(pieces(''), []);
});

test('lines for a terminal are safe to paste', () => {
  assert.equal(quoted('job_1'), 'job_1');
  assert.equal(quoted("a b'; rm -rf /"), `'a b'\\''; rm -rf /'`);
  const job = only<JobView>({ id: 'job_1', name: '', state: 'RUNNING', counts: counts(), created_ms: 0, finished_ms: 0 });
  const words = (lines: [string, string][]) => lines.map(([what]) => what);
  assert.ok(words(jobCommands(job, 'http://h:1')).includes('cancel'));
  assert.ok(words(jobCommands({ ...job, state: 'FAILED', counts: counts({ failed: 1 }) }, 'http://h:1')).includes('retry'));
  assert.ok(!words(closureCommands(closure({ state: 'FAILED' }), 'http://h:1')).includes('cancel'));
  assert.deepEqual(splitTask('a:b:3'), ['a:b', '3']);
  assert.match(workerCommands('worker:3', 'train', false, 'http://h:1')[3]![1], /^muster drain worker:3 --cluster train --url http:\/\/h:1$/);
});

test('the beginning of a value is shown', () => {
  const begin = (of: Part<Preview>) => previewText(only<Preview>(of));
  assert.equal(begin({ status: 'READY', bytes: 7, encoding: 'json', text: '{"a":1}' }).text, '{\n  "a": 1\n}');
  assert.deepEqual(begin({ status: 'READY', bytes: 9000, encoding: 'json', text: '[1,2', truncated: true }), { text: '[1,2', note: '', truncated: true, shown: 4 });
  assert.equal(begin({ status: 'READY', bytes: 3, encoding: 'bytes', text: '41ff42' }).text, `00000000  ${'41 ff 42'.padEnd(47)}  A.B`);
  assert.match(begin({ status: 'READY', bytes: 2e6, place: 'disk' }).note, /2.0 MB on disk/);
  assert.equal(begin({ status: 'READY', bytes: 0, error: { message: 'boom' } }).note, 'boom');
});

test('the effect of cancelling is described', () => {
  assert.equal(cancelText(counts({ queued: 2, running: 1 })), '2 waiting closures will never run; 1 running closure will be asked to stop.');
  assert.equal(cancelText(counts({ running: 3 })), '3 running closures will be asked to stop.');
  assert.equal(cancelText(counts()), 'It accepts no more closures.');
});
