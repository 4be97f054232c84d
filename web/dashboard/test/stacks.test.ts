import assert from 'node:assert/strict';
import { test } from 'node:test';

import { whoStands, whyNotWhole } from '../src/model/rest/stacks';

test('names the first of a group and counts the rest', () => {
  const ranks = Array.from({ length: 12 }, (_, rank) => ({ rank, task: rank === 1 ? '' : `worker:${rank}` }));
  assert.equal(whoStands({ state: 'TAKEN', ranks: ranks.slice(0, 2) }), 'rank 0, rank 1');
  assert.match(whoStands({ state: 'TAKEN', ranks }), /rank 7 and 4 others$/);
});

test('says why a stack is not whole, also of a state that is newer', () => {
  assert.equal(whyNotWhole('TAKEN') + whyNotWhole('NATIVE'), '');
  assert.match(whyNotWhole('STOPPED'), /stopped by a signal/);
  assert.equal(whyNotWhole('NEWER'), 'NEWER');
});
