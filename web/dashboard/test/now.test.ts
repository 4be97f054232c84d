import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedIn, failedRuns, runningRuns, waitingFor } from '../src/now/model/figures';
import { causeOf, deedOfFold, folds, more } from '../src/now/model/folds';
import { marksAt, marksOf } from '../src/now/model/marks';
import type { SamplesBody } from '../src/now/model/points';
import type { AttentionRow, EventRow, Job } from '../src/shared/model/protocol';

const alert = (rule: string, title: string, detail = '', more: Partial<AttentionRow> = {}): AttentionRow => ({
  rule,
  severity: 'error',
  title,
  detail,
  since_ms: 1,
  count: 1,
  link: `/jobs/${title.replaceAll(' ', '-')}`,
  ...more,
});

test('alerts with the same cause share a row that names the newest', () => {
  const all = folds([
    alert('job-failed', 'Job a failed', 'disk full', { since_ms: 1, link: '/jobs/job_a', command: 'muster retry job_a' }),
    alert('job-failed', 'Job b failed', 'disk full', { since_ms: 9, link: '/jobs/job_b', command: 'muster retry job_b' }),
    alert('jobs-failed', 'Job c and 2 more jobs failed', 'disk full; c, d and e', { since_ms: 5, count: 3, command: 'muster retry job_c job_d job_e' }),
    alert('job-failed', 'Job f failed', 'other'),
    alert('worker-late', 'worker:1 is late', 'no heartbeat'),
    alert('agents-late', 'worker:1 of cluster a is late', 'no heartbeat'),
  ]);
  assert.deepEqual(
    all.map(({ rows }) => rows[0]!.title),
    ['Job b failed', 'Job f failed', 'worker:1 is late', 'worker:1 of cluster a is late'],
  );
  assert.equal(more(all[0]!), 4);
  assert.deepEqual(deedOfFold(all[0]!), { does: 'retry-all', id: 'job_b job_c job_d job_e job_a', job: '' });
  assert.equal(deedOfFold(all[2]!), null);
});

test('closures and programs that want the same resource have the same cause', () => {
  assert.equal(causeOf(alert('wish-unmet', '3 closures queued for gpu=4, which no connected worker has', 'no worker has gpu=4')), 'wants gpu');
  assert.equal(causeOf(alert('program-waits', 'Program p is waiting', 'needs gpu=8 on each rank')), 'wants gpu');
  assert.equal(causeOf(alert('program-waits', 'Program p=1 is waiting', 'no worker that runs programs is connected')), '');
  const both = folds([alert('wish-unmet', '3 closures queued for gpu=4, which no connected worker has'), alert('program-waits', 'Program p is waiting', 'needs gpu=8')]);
  assert.equal(both.length, 1);
});

test('the client is not part of the cause of a failed session', () => {
  assert.equal(causeOf(alert('session-failed', 'Session s failed', 'client: ann@vm; no column')), 'no column');
});

test('the waiting closures have one reason', () => {
  const some = { queued: 30, blocked: 10, slots: 4, running: 4 };
  assert.equal(waitingFor([], { queued: 0, blocked: 0, slots: 4, running: 4 }), 'nothing waits');
  assert.equal(waitingFor([], some), 'all 4 slots are busy');
  assert.equal(waitingFor([], { ...some, slots: 1, running: 1 }), 'the only slot is busy');
  assert.equal(waitingFor([], { ...some, running: 3 }), 'about to start');
  assert.equal(waitingFor([], { ...some, blocked: 40 }), '40 wait for inputs');
  assert.equal(waitingFor([], { ...some, queued: 0 }), 'they wait for inputs');
  const gpu = alert('wish-unmet', '34 closures queued for gpu=4, which no connected worker has', '', { count: 34 });
  assert.equal(waitingFor([gpu], some), '34: no worker has gpu=4');
  assert.equal(waitingFor([{ ...gpu, title: '40 closures queued for gpu=4, but the workers that meet this need accept no closures', count: 40 }], some), 'workers with gpu=4 accept no closures');
  assert.equal(waitingFor([alert('no-worker', '40 closures queued, but no worker is connected', '', { count: 40 })], some), 'no worker is connected');
  assert.equal(waitingFor([alert('no-function', '40 closures of a.b queued, but no worker provides it', '', { count: 40 })], some), 'no worker provides a.b');
});

test('failures of the last hour are counted from the samples and the alerts', () => {
  assert.equal(failedIn({ step_ms: 10_000, failed: [0, 0.3, 0.1, 0] } as unknown as SamplesBody), 4);
  assert.equal(failedRuns([alert('job-failed', 'a'), alert('jobs-failed', 'b', '', { count: 3 }), alert('session-failed', 's'), alert('worker-lost', 'w')]), '4 jobs, 1 session');
  assert.equal(failedRuns([]), '');
});

test('running programs are counted with their ranks', () => {
  assert.equal(runningRuns(0, []), 'nothing runs');
  assert.equal(
    runningRuns(2, [
      { state: 'RUNNING', alive: 4 },
      { state: 'FAILED', alive: 0 },
    ]),
    '2 jobs, 1 program of 4 ranks',
  );
});

test('the timeline marks starts, failures and restarts', () => {
  const event = (kind: string, time_ms: number): EventRow => ({ kind, time_ms, text: kind }) as EventRow;
  const marks = marksOf(
    [event('server_started', 30), event('job_failed', 50), event('audit', 51), event('worker_lost', 5)],
    [{ id: 'job_1', name: 'a', created_ms: 40 } as Job],
    [{ id: 'prog_1', name: 'p', created_ms: 45 }],
    10,
  );
  assert.deepEqual(
    marks.map(({ kind, text }) => `${kind} ${text}`),
    ['start job a started', 'start program p started', 'failure job_failed', 'restart server_started'],
  );
  assert.deepEqual(
    marksAt(marks, 46, 5).map(({ text }) => text),
    ['program p started', 'job_failed'],
  );
});
