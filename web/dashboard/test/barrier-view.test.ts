import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitedSince, foldByHost, memberLine, standingLine, type Member } from '../src/agreement/model/barrier-view';

const came = (task: string, at: number): Member => ({ task, came: at });
const all = [came('worker:0', 1000), came('worker:1', 3000), came('worker:2', 0)];

test('a barrier names the missing members, and since when the others wait', () => {
  const missing = [{ task: '/job:worker/task:3', address: '', seen: 0 }];
  assert.equal(standingLine({ arrived: 7, of: 8, missing }, 1000, 43_000), '7 of 8 arrived, worker:3 missing for 42 s');
  assert.equal(standingLine({ arrived: 1, of: 8, missing }, 0, 43_000), '1 of 8 arrived, worker:3 and 6 more missing');
  assert.equal(standingLine({ arrived: 2, of: 9, missing: [] }, 0, 0), '2 of 9 arrived, 7 missing');
  assert.equal(standingLine({ arrived: 8, of: 8, missing: [] }, 5, 9), '8 of 8 arrived');
});

test('a missing member is awaited once half of the members have arrived', () => {
  assert.equal(awaitedSince(all), 3000);
  assert.equal(awaitedSince([came('a', 1), came('b', 0), came('c', 0)]), 0);
  assert.equal(memberLine(all[2]!, 1000, 3000, 5500), 'worker:2 is missing for 2.5 s');
  assert.equal(memberLine(all[2]!, 1000, 0, 5500), 'worker:2 has not arrived');
  assert.match(memberLine(all[0]!, 1000, 0, 0), /^worker:0 arrived at \d\d:\d\d:01, first$/);
  assert.match(memberLine(all[1]!, 1000, 0, 0), /, 2\.0 s after the first$/);
});

test('many members are grouped by host, hosts with missing members first', () => {
  const host = (task: string) => (task === 'worker:2' ? 'b' : 'a');
  assert.deepEqual(foldByHost(all, host), [
    { host: 'b', arrived: 0, of: 1, missing: ['worker:2'] },
    { host: 'a', arrived: 2, of: 2, missing: [] },
  ]);
});
