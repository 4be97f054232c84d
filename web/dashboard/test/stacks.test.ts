import assert from 'node:assert/strict';
import { test } from 'node:test';

import { whoStands, whyNotWhole } from '../src/run/model/stacks';

test('the first rank of a group is named and the rest are counted', () => {
  const ranks = Array.from({ length: 12 }, (_, rank) => ({ rank, task: rank === 1 ? '' : `worker:${rank}` }));
  assert.equal(whoStands({ state: 'TAKEN', ranks: ranks.slice(0, 2) }), 'rank 0, rank 1');
  assert.match(whoStands({ state: 'TAKEN', ranks }), /rank 7 and 4 others$/);
});

test('the reason for an incomplete stack is shown, also for unknown states', () => {
  assert.equal(whyNotWhole('TAKEN') + whyNotWhole('NATIVE'), '');
  assert.match(whyNotWhole('STOPPED'), /stopped by a signal/);
  assert.equal(whyNotWhole('NEWER'), 'NEWER');
});
