import assert from 'node:assert/strict';
import { test } from 'node:test';
import { causeText, jobHeadline, programHeadline } from '../src/run/model/headline';
import { rankAttempts } from '../src/run/model/rank-attempts';
import type { AttemptDetail } from '../src/run/model/attempt';
import type { ProgramView, RankView } from '../src/shared/model/programs';
import type { JobView } from '../src/shared/model/views';
import { only, type Part } from './only';

const NOW = 200_000;
const ranks = only<RankView[]>([{ rank: 3, worker: 'worker:1', host: 'vm', task: 'worker:3', state: 'FAILED' }]);
const program = (more: Part<ProgramView>) => only<ProgramView>({ id: 'prog_0000000000000001', name: 'train', restarts: 0, alive: 4, ranks: 4, attempt: 1, ...more });
const job = (more: Part<JobView>) => only<JobView>({ created_ms: 100_000, finished_ms: 0, counts: { total: 0, blocked: 0, queued: 0, running: 0, succeeded: 0, failed: 0, cancelled: 0 }, ...more });

test('a failed program names the rank, its worker and host, and how it ended', () => {
  const failed = (cause: Part<NonNullable<ProgramView['cause']>>) => programHeadline(program({ state: 'FAILED', cause }), ranks, NOW);
  assert.equal(failed({ kind: 'EXIT_STATUS', rank: 3, host: 'vm', exit_status: 1, text: 'x' }), 'Failed: rank 3 on worker:1 (vm) exited with status 1');
  assert.equal(failed({ kind: 'SIGNAL', rank: 3, host: 'vm', signal: 9, text: 'x' }), 'Failed: rank 3 on worker:1 (vm) was killed by signal 9');
  assert.equal(failed({ kind: 'OUT_OF_MEMORY', rank: 3, host: 'vm', text: 'x' }), 'Failed: rank 3 on worker:1 (vm) ran out of memory');
  assert.equal(failed({ kind: 'DEADLINE', text: 'it ran longer than 5 s.' }), 'Failed: it ran longer than 5 s');
  assert.equal(failed({ kind: 'SIGNAL', rank: 3, host: 'another', signal: 9, text: 'x' }), 'Failed: rank 3 on host another was killed by signal 9');
  assert.equal(causeText(only({ kind: 'EXIT_STATUS', rank: 7, host: 'vm', exit_status: 2, text: 'x' }), ranks), 'rank 7 on host vm exited with status 2');
});

test('a hang has its age and cause, and restarts are counted', () => {
  const hang = { text: 'rank 1 is a step behind the others, at hang.py:5; detected after 4.2 s', since_ms: NOW - 120_000 };
  assert.equal(programHeadline(program({ state: 'RUNNING', hang }), [], NOW), 'Hangs for 2m 00s: rank 1 is a step behind the others, at hang.py:5');
  assert.equal(programHeadline(program({ state: 'RUNNING', restarts: 1 }), [], NOW), '4 of 4 ranks running after 1 restart');
});

test('a job says how many calls ended and failed, and why it failed', () => {
  assert.equal(jobHeadline(job({ state: 'RUNNING', counts: { total: 2002, succeeded: 338, failed: 2, running: 4, cancelled: 0 } }), NOW), 'Running: 340 of 2,002 calls ended, 2 failed');
  assert.equal(jobHeadline(job({ state: 'RUNNING', counts: { total: 3, succeeded: 0, failed: 0, running: 0, cancelled: 0 } }), NOW), 'Waiting: 0 of 3 calls ended');
  assert.equal(jobHeadline(job({ state: 'RUNNING', streaming: true, counts: { total: 3, succeeded: 3, failed: 0, running: 0, cancelled: 0 } }), NOW), 'Open: all 3 calls ended');
  assert.equal(jobHeadline(job({ state: 'SUCCEEDED', finished_ms: 130_800, counts: { total: 2, succeeded: 2, failed: 0, cancelled: 0 } }), NOW), 'Succeeded: 2 calls in 30 s');
  const error = { kind: 'USER', type: 'ZeroDivisionError', message: 'division by zero' } as const;
  assert.equal(
    jobHeadline(job({ state: 'FAILED', error, counts: { total: 3, succeeded: 1, failed: 1, cancelled: 1 } }), NOW),
    'Failed: ZeroDivisionError: division by zero (1 of 3 calls failed, 1 cancelled)',
  );
});

test('the attempts of a rank are listed newest first, with the running attempt', () => {
  const ended = (rank: number, exit_status: number, stopped = false) => ({ rank, task: `worker:${rank}`, host: 'vm', started_ms: 1000, ended_ms: 3000, exit_status, stopped });
  const detail = (attempt: number, of: unknown[]) => only<AttemptDetail>({ attempt, begun_ms: 500, ended: of as AttemptDetail['ended'] });
  const details = new Map([
    [1, detail(1, [ended(0, 3), ended(1, 0, true)])],
    [2, detail(2, [])],
  ]);
  const rank = only<RankView>({ rank: 0, host: 'vm2', started_ms: 4000, state: 'RUNNING' });
  assert.deepEqual(
    rankAttempts(details, rank).map(({ attempt, outcome, failed, to }) => [attempt, outcome, failed, to]),
    [
      [2, 'runs', false, 0],
      [1, 'exit 3', true, 3000],
    ],
  );
  assert.equal(rankAttempts(details, only<RankView>({ rank: 1, host: 'vm2', state: 'STARTING' }))[0]!.outcome, 'stopped');
});
