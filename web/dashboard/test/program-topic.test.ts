import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayBeProgram, type ProgramTopic } from '../src/run/model/program-protocol';
import { parse, type TopicMessage } from '../src/shared/model/protocol';
import { fitting, lateFor } from '../src/shared/model/programs';
import { Store } from '../src/shared/model/store';

const topic: ProgramTopic = 'program:prog_0000000000000001';
const rank = (n: number, more = {}) => ({ rank: n, task: `worker:${n}`, state: 'RUNNING', worker: 'worker:0', host: 'a', address: '', ...more });
const message = (t: 'snap' | 'd', seq: number, rows: object, gone: string[] = []): TopicMessage => parse(JSON.stringify({ t, topic, seq, now: 1, from: seq - 1, rows, gone, more: 0 })) as TopicMessage;
const whole = { program: { id: 'prog_0000000000000001', name: 'train', state: 'RUNNING' }, attempts: { attempts: [{ attempt: 1 }] }, barriers: { barriers: [] }, 0: rank(0), 10: rank(10), 9: rank(9) };

test('deltas of ranks keep unchanged ranks as the same objects', () => {
  const store = new Store();
  assert.equal(store.apply(message('snap', 5, whole)), 'applied');
  const seen = store.program(topic)!;
  assert.equal(seen.program!.name, 'train');
  assert.deepEqual(
    seen.ranks().map((r) => r.rank),
    [0, 9, 10],
  );
  const nine = seen.ranks()[1];
  assert.equal(store.apply(message('d', 6, { 10: rank(10, { last_line: '\u001b[31mstep 3' }), barriers: { barriers: [{ id: 'step', arrived: 2, of: 3, started: 1 }] } })), 'applied');
  assert.equal(seen.ranks()[1], nine);
  assert.equal(seen.ranks()[2]!.last_line, 'step 3', 'no codes of terminals');
  assert.equal(seen.barriers[0]!.id, 'step');
  assert.equal(seen.attempts.length, 1);
  store.apply(message('d', 7, {}, ['10']));
  assert.deepEqual(
    seen.ranks().map((r) => r.rank),
    [0, 9],
  );
});

test('an unknown or deleted program is null', () => {
  const store = new Store();
  store.apply(message('snap', 1, {}));
  assert.equal(store.program(topic)!.program, null);
  store.apply(message('d', 2, whole));
  assert.ok(store.program(topic)!.program);
  store.apply(message('d', 3, {}, ['program', 'attempts', 'barriers', '0', '9', '10']));
  assert.equal(store.program(topic)!.program, null);
  assert.equal(store.program(topic)!.ranks().length, 0);
  store.keepWatched(['programs']);
  assert.equal(store.program(topic), undefined);
  assert.equal(store.seq(topic), null);
  for (const id of ['', 'prog_1', 'prog_000000000000000G']) assert.ok(!mayBeProgram(id), id);
  assert.ok(mayBeProgram('prog_0000000000000001'));
});

test('programs are filtered by cluster, state and words, newest first', () => {
  const store = new Store();
  const row = (n: number, more = {}) => ({
    id: `prog_000000000000000${n}`,
    cluster: '',
    name: `run ${n}`,
    state: 'RUNNING',
    attempt: 1,
    restarts: 0,
    max_restarts: 0,
    ranks: 1,
    started: 1,
    alive: 1,
    created_ms: n,
    tasks: {},
    ...more,
  });
  const rows = { a: row(1), b: row(2, { state: 'FAILED', name: 'Train' }), c: row(3, { cluster: 'other' }) };
  store.apply(parse(JSON.stringify({ t: 'snap', topic: 'programs', seq: 1, now: 1, rows, gone: [], more: 0 })) as TopicMessage);
  const ids = (state: string, text: string, cluster = '') =>
    fitting(store.programs.all(), cluster, state, text)
      .map((p) => p.id.slice(-1))
      .join('');
  assert.equal(ids('', ''), '21');
  assert.equal(ids('FAILED', ''), '2');
  assert.equal(ids('', 'TRAIN'), '2');
  assert.equal(ids('', '0001'), '1');
  assert.equal(ids('', '', 'other'), '3');
});

test('an ended rank is not late', () => {
  const late = { agent: { state: 'LATE', late_for: 'step' } };
  assert.equal(lateFor(rank(1, late) as never), 'step');
  assert.equal(lateFor(rank(1, { ...late, ended_ms: 4 }) as never), '');
  assert.equal(lateFor(rank(1) as never), '');
});
