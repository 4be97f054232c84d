import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answered, asked, failed, nextLook, nothing } from '../src/shared/model/look';

const never = () => false;

test('changeable subjects are requested again, and ended ones are not', () => {
  const first = asked(nothing<number>(), '/a', false);
  assert.equal(nextLook(first, 1000, never), 1000);
  const known = answered(first, 7);
  assert.equal(nextLook(known, 1000, never), 1000);
  assert.equal(
    nextLook(known, 1000, (n) => n === 7),
    null,
  );
  assert.equal(nextLook(nothing(), 1000, never), null);
});

test('the last answer outlives failures, and retries slow down', () => {
  let look = answered(asked(nothing<number>(), '/a', false), 7);
  look = failed(look, 'no answer', false);
  assert.deepEqual([look.value, look.problem], [7, 'no answer']);
  assert.equal(
    nextLook(look, 1000, (n) => n === 7),
    1000,
  ); // final, but the later request has failed
  for (const wait of [2000, 4000, 8000, 15_000, 15_000]) assert.equal(nextLook((look = failed(look, 'no answer', false)), 1000, never), wait);
  assert.equal(answered(look, 8).problem, '');
});

test('a deleted subject is not requested again', () => {
  const look = failed(answered(asked(nothing<number>(), '/a', false), 7), 'there is none', true);
  assert.deepEqual([look.value, look.gone], [null, true]);
  assert.equal(nextLook(look, 1000, never), null);
});

test('a list keeps its rows until the new filter is answered; another subject does not', () => {
  const known = answered(asked(nothing<number>(), '/a', false), 7);
  assert.equal(asked(known, '/a', false), known);
  assert.equal(asked(known, '/b', false).value, null);
  const kept = asked(known, '/b', true);
  assert.deepEqual([kept.of, kept.value, kept.stale], ['/b', 7, true]);
  assert.equal(
    nextLook(kept, 1000, () => true),
    1000,
  ); // an old answer does not make the new request final
  assert.equal(answered(kept, 8).stale, false);
  assert.equal(failed(kept, 'no', false).value, null);
  assert.equal(asked(known, '', true).value, null);
});
