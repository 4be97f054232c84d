import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALREADY, cancelPath, compared, each, notRetried, reportLine } from '../src/work/model/deeds';
import { csvOf, jsonOf } from '../src/work/model/export';
import { facts, kindChoices, menuChoices, ranksOf, stateChoices, timed, type Run } from '../src/work/model/work';
import { normal } from '../src/shared/model/pages';

const run = (more: Partial<Run> = {}): Run => ({
  kind: 'job',
  id: 'job_0000000000000001',
  cluster: '',
  name: 'etl',
  state: 'FAILED',
  created_ms: 1000,
  duration_ms: 5,
  counts: { total: 4, ended: 4, running: 0, succeeded: 3, failed: 1, cancelled: 0 },
  ended_share: 1,
  ...more,
});

test('CSV follows RFC 4180 and has the names of REST', () => {
  const rows = csvOf([run({ name: 'a "b", c\nd', ended_ms: 1005, labels: ['team=ml', 'n=3'] }), run({ submitted_by: 'ann' })]).split('\r\n');
  assert.equal(
    rows[0],
    'kind,id,cluster,name,state,submitted_by,created_ms,ended_ms,duration_ms,counts.total,counts.ended,counts.running,counts.succeeded,counts.failed,counts.cancelled,ended_share,labels',
  );
  assert.equal(rows[1], 'job,job_0000000000000001,,"a ""b"", c\nd",FAILED,,1000,1005,5,4,4,0,3,1,0,1,team=ml; n=3');
  assert.equal(rows[2], 'job,job_0000000000000001,,etl,FAILED,ann,1000,,5,4,4,0,3,1,0,1,');
  assert.equal(rows[3], '');
  assert.match(csvOf([]), /^kind,id,.*\r\n$/);
});

test('a cell of CSV is never a formula', () => {
  for (const name of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1']) assert.ok(csvOf([run({ name })]).includes(`,'${name},`), name);
  assert.ok(csvOf([run({ name: '=cmd|"x"!A1, b' })]).includes(`,"'=cmd|""x""!A1, b",`));
  assert.ok(csvOf([{ n: -1 }]).endsWith(',-1\r\n'), 'numbers are kept');
});

test('JSON is the list of runs', () => assert.deepEqual(JSON.parse(jsonOf([run()])), [run()]));

test('a report counts what was done, skipped and refused', async () => {
  const runs = Array.from({ length: 12 }, (_, n) => run({ id: `job_${n}`, name: `r${n}` }));
  const report = await each(runs, async ({ name }) => {
    if (name === 'r3') throw new Error('not yours');
    return name === 'r5' ? ALREADY : '';
  });
  assert.equal(reportLine(report, 'cancelled'), '10 cancelled, 1 had already ended, 1 refused (r3: not yours)');
  const none = await each(runs, () => Promise.reject(new Error('no')));
  assert.match(reportLine(none, 'cancelled'), /^0 cancelled, 12 refused \(r\d+: no; r\d+: no; r\d+: no; and 9 more\)$/);
});

test('only ended jobs with failures and arguments are retried', () => {
  assert.equal(notRetried(run({ retryable: true })), '');
  assert.match(notRetried(run()), /arguments are no longer stored/);
  assert.match(notRetried(run({ state: 'RUNNING', retryable: true })), /unfinished/);
  assert.match(notRetried(run({ retryable: true, counts: { total: 1, ended: 1, running: 0, succeeded: 0, failed: 0, cancelled: 1 } })), /without failed/);
  assert.match(notRetried(run({ kind: 'program' })), /programs/);
  assert.match(notRetried(run({ kind: 'session' })), /sessions/);
});

test('programs and jobs are cancelled at their own address', () => {
  assert.equal(cancelPath(run({ kind: 'program', id: 'prog_1' })), 'programs/prog_1/cancel');
  assert.equal(cancelPath(run({ kind: 'session', id: 'job_1' })), 'jobs/job_1/cancel');
});

test('the newer run is compared with the older run', () => {
  const [a, b] = [run({ id: 'a', created_ms: 1 }), run({ id: 'b', created_ms: 2 })];
  assert.deepEqual(
    compared(a, b).map(({ id }) => id),
    ['b', 'a'],
  );
});

test('a time span becomes a time', () => {
  assert.equal(timed('/api/v1/work?since=1h&kind=job', 10_000_000), '/api/v1/work?kind=job&since_ms=6400000');
  assert.equal(timed('/api/v1/work?since=1y', 10), '/api/v1/work?');
});

test('facets are counted, and the chosen value stays in its menu', () => {
  const facets = {
    kinds: [{ value: 'job', runs: 1200 }],
    states: [
      { value: 'QUEUED', runs: 1 },
      { value: 'PENDING', runs: 2 },
      { value: 'FAILED', runs: 3 },
    ],
    users: [{ value: '-', runs: 4 }],
    labels: [],
  };
  assert.deepEqual(kindChoices(facets), [
    ['', 'all'],
    ['job', 'jobs', '1,200'],
    ['session', 'sessions'],
    ['program', 'programs'],
  ]);
  assert.deepEqual(stateChoices(facets)[1], ['UNFINISHED', 'unfinished', '3']);
  assert.deepEqual(stateChoices(facets)[3], ['FAILED', 'failed', '3']);
  assert.deepEqual(menuChoices(facets.users, 'ann'), [
    ['-', 'no token (4)'],
    ['ann', 'ann (0)'],
  ]);
});

test('a row contains what the lists of one kind contained', () => {
  const session = run({ kind: 'session', state: 'RUNNING', values: 3, value_bytes: 61_000_000, client: 'ipv4:10.0.0.7:5', submitted_by: 'ann' });
  assert.deepEqual(facts(session, '', 0), ['session', 'ann', '3 values, 61 MB', '10.0.0.7:5']);
  assert.deepEqual(facts(session, 'session', 0), ['ann']);
  const program = run({ kind: 'program', state: 'RUNNING', counts: { total: 4, ended: 0, running: 3 }, attempt: 2, restarts: 1, labels: ['team=ml'] });
  assert.deepEqual(facts(program, '', 0), ['program', '3 of 4 ranks', '1 restart', 'team=ml']);
  assert.equal(ranksOf(run({ kind: 'program', state: 'PENDING', attempt: 0, wanted_ranks: { min: 2, max: 4 } })), '2 to 4');
});

test('addresses of the lists of one kind become filters', () => {
  const to = (pathname: string, search = '') => Object.values(normal({ pathname, search })).join('');
  assert.equal(to('/programs', '?state=FAILED'), '/work?state=FAILED&kind=program');
  assert.equal(to('/sessions', '?cluster=a'), '/work?cluster=a&kind=session');
  assert.equal(to('/jobs', '?streaming=true'), '/work?kind=session');
  assert.equal(to('/work', '?streaming=false&q=a'), '/work?q=a&kind=job');
  assert.equal(to('/work', '?kind=job'), '/work?kind=job');
});
