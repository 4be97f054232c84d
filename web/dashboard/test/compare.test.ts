import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALLS_MAX, compareJobs, comparePrograms, differs, firstCall, firstStep, functionRows, isSlower, ratioText, SHOWN_MAX, type JobSide, type ProgramSide } from '../src/run/model/compare';
import type { StepCell } from '../src/run/model/steps';
import type { JobDurations } from 'muster-rest';
import type { RankView } from '../src/shared/model/programs';
import type { ClosureView } from '../src/shared/model/views';
import { only, type Part } from './only';

const call = (index: number, us: number, more: Part<ClosureView> = {}) =>
  only<ClosureView>({
    id: `cl_${index}`,
    index,
    function: 'f',
    state: 'SUCCEEDED',
    created_ms: 1,
    finished_ms: 9,
    attempts: [{ attempt: 1, worker: 'worker:0', host: 'vm', started_ms: 1, ended_ms: 9, took_us: us }],
    ...more,
  });
const durations = (functions: Record<string, [n: number, p50: number, p90: number]>) =>
  only<JobDurations>({ functions: Object.entries(functions).map(([name, [executions, p50_us, p90_us]]) => ({ name, executions, p50_us, p90_us })), workers: [{ name: 'worker:0' }] });

test('a duration differs if it is more than twice the other and by 10 ms', () => {
  assert.equal(differs(100_000, 201_000), true);
  assert.equal(differs(201_000, 100_000), true);
  assert.equal(differs(100_000, 200_000), false);
  assert.equal(differs(100, 9000), false);
});

test('functions are sorted by the change of their medians, in both directions', () => {
  const rows = functionRows(
    durations({ a: [1, 10_000, 20_000], b: [1, 10_000, 20_000], c: [1, 80_000, 90_000], gone: [1, 5, 5], tiny: [1, 1, 9] }),
    durations({ a: [1, 15_000, 20_000], b: [2, 40_000, 50_000], c: [1, 10_000, 10_000], made: [3, 7, 7], tiny: [1, 90, 99] }),
  );
  assert.deepEqual(
    rows.map(({ name, ratio }) => [name, ratio]),
    [
      ['c', 0.125],
      ['b', 4],
      ['a', 1.5],
      ['tiny', 90],
      ['gone', null],
      ['made', null],
    ],
  );
  assert.deepEqual(rows.map(isSlower), [false, true, false, false, false, false]);
  assert.deepEqual([ratioText(0.125), ratioText(4), ratioText(12.4), ratioText(0.04), ratioText(null)], ['× 0.1', '× 4.0', '× 12', '× 0.04', '–']);
});

test('the first call that differs is found in the order of submission', () => {
  const before = [call(0, 1000), call(1, 50_000), call(2, 1000)];
  assert.equal(firstCall(before, before), null);
  assert.deepEqual(firstCall(before, [call(2, 900_000), call(1, 120_000), call(0, 1000)]), { call: 'cl_1', text: 'Call #1 (f) took 120 ms, and 50 ms before.' });
  assert.match(firstCall(before, [call(0, 1000, { state: 'FAILED' })])!.text, /^Call #0 \(f\) failed, and succeeded before\.$/);
  assert.match(firstCall([call(0, 1, { args: [1] })], [call(0, 1, { args: [2] })])!.text, /other arguments: \[2\], before: \[1\]/);
  assert.match(firstCall(before, [call(0, 1000, { function: 'g' })])!.text, /calls g, and called f before/);
  assert.equal(firstCall(before, [call(7, 1)]), null); // has no counterpart
});

const side = (more: Part<JobSide['job']>, calls: ClosureView[], of: JobDurations | null = durations({ f: [1, 100, 100] })): JobSide => ({
  job: only<JobSide['job']>({
    id: 'job_1',
    state: 'SUCCEEDED',
    cluster: 'default',
    on_error: 'continue',
    retried: 0,
    created_ms: 1000,
    finished_ms: 2500,
    counts: { total: calls.length, failed: 0 },
    ...more,
  }),
  durations: of,
  calls,
});

test('jobs are compared by result and by submission, without equal entries of the submission', () => {
  const old = side({ metadata: { lr: 0.1, note: 'x' } }, [call(0, 1000, { callable: 'a'.repeat(64) })]);
  const now = side({ state: 'FAILED', metadata: { lr: 0.2, note: 'x' }, counts: { total: 1, failed: 1 } }, [call(0, 1000, { callable: 'b'.repeat(64) })]);
  const c = compareJobs(old, now, 9999);
  assert.deepEqual(
    c.submission.map(({ name, before, after }) => [name, before, after]),
    [
      ['code hash of f', 'aaaaaaaaaaaa', 'bbbbbbbbbbbb'],
      ['metadata lr', '0.1', '0.2'],
    ],
  );
  const fact = (name: string) => c.facts.find((r) => r.name === name)!;
  assert.deepEqual([fact('State').before, fact('State').after, fact('State').changed], ['succeeded', 'failed', true]);
  assert.deepEqual([fact('Duration').before, fact('Duration').changed], ['1.5 s', false]);
  assert.equal(fact('Hosts').after, 'vm');
  assert.equal(c.compared, '1 call');
});

test('limits: rows of functions, and calls that are compared one by one', () => {
  const many = durations(Object.fromEntries(Array.from({ length: SHOWN_MAX + 5 }, (_, n) => [`f${n}`, [1, n + 1, n + 1] as [number, number, number]])));
  const c = compareJobs(
    side(
      { counts: { total: 5000 } },
      Array.from({ length: CALLS_MAX }, (_, n) => call(n, 1)),
      many,
    ),
    side({ counts: { total: 5000 } }, [], many),
    0,
  );
  assert.deepEqual([c.functions.length, c.functionsLeftOut], [SHOWN_MAX, 5]);
  assert.equal(c.compared, 'the first 1,000 calls of 5,000');
});

const cell = (rank: number, step: number, longest: number) => only<StepCell>({ rank, step, longest, median: longest });
const run = (more: Part<ProgramSide['p']>, cells: StepCell[]): ProgramSide => ({
  p: only<ProgramSide['p']>({
    id: 'prog_1',
    state: 'SUCCEEDED',
    cluster: 'default',
    created_ms: 0,
    finished_ms: 1000,
    ranks: 2,
    tasks: { worker: { min: 2, max: 2 } },
    command: ['train'],
    max_restarts: 0,
    on_hang: 'tell',
    hang_after_ms: 1000,
    ...more,
  }),
  attempts: [],
  ranks: only<RankView[]>([{ rank: 0, worker: 'worker:0', host: 'vm' }]),
  cells,
});

test('programs are compared by step, with the slowest rank of each', () => {
  const before = [cell(0, 1, 100), cell(1, 1, 110), cell(0, 2, 100), cell(0, -1, 5000)];
  assert.equal(firstStep(before, before), null);
  assert.equal(firstStep(before, [cell(0, 1, 100), cell(1, 1, 100), cell(0, 2, 100), cell(1, 2, 350)])!.text, 'Step 2 took 350 ms, and 100 ms before.');
  const c = comparePrograms(
    run({ env: ['A'] }, before),
    run({ env: ['A', 'B'], command: ['train', '--lr', '0.2'], state: 'FAILED', cause: { kind: 'EXIT_STATUS', text: 'rank 1: exit status 3' } }, before),
    0,
  );
  assert.deepEqual(
    c.submission.map(({ name, before: was, after }) => [name, was, after]),
    [
      ['command', 'train', 'train --lr 0.2'],
      ['environment (names only)', 'A', 'A, B'],
    ],
  );
  assert.equal(c.divergence!.text, 'The program failed, and succeeded before: rank 1: exit status 3.');
  assert.equal(c.compared, '2 steps');
});
