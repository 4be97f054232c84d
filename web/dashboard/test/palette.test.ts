import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bestOf, named, type Found } from '../src/shell/model/palette';

const one = (kind: string, title: string, detail = ''): Found => ({ kind, title, detail, href: '/' });

test('every word must match, ignoring case, and prefixes rank first', () => {
  const all = [one('worker', 'aworker:1', 'node-1'), one('worker', 'worker:1', 'node-1'), one('worker', 'worker:2', 'node-2'), one('page', 'Jobs')];
  assert.deepEqual(
    bestOf(all, 'WORKER node-1').map((f) => f.title),
    ['worker:1', 'aworker:1'],
  );
  assert.deepEqual(bestOf(all, 'nothing'), []);
});

test('many results of one kind leave room for the best of other kinds', () => {
  const many = Array.from({ length: 10_000 }, (_, n) => one('worker', `x job ${n}`));
  const found = bestOf([...many, one('worker', 'job'), one('job', 'the job')], 'job');
  assert.equal(found.length, 7);
  assert.equal(found[0]!.title, 'job');
  assert.ok(found.some((f) => f.kind === 'job'));
});

test('kinds of ids are recognised', () => {
  assert.deepEqual(named(' job_00000000000000aB '), { kind: 'job', id: 'job_00000000000000ab' });
  assert.deepEqual(named('cl_0000000000000001'), { kind: 'closure', id: 'cl_0000000000000001' });
  assert.equal(named('cl_1'), null);
});
