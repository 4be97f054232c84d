import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blobIn, typeText, whereItLies, type Preview } from '../src/shared/model/preview';
import { only } from './only';

test('a value that names a blob is distinguished from similar values', () => {
  const name = 'ab'.repeat(32);
  const of = (text: string, encoding: 'json' | 'bytes' = 'json') => blobIn(only<Preview>({ status: 'READY', bytes: 12_000_009, encoding, text }));
  assert.equal(of(`{"$blob":"${name}","bytes":12000009}`), name);
  assert.equal(of(`{"$blob":"${name.slice(1)}","bytes":1}`), '');
  assert.equal(of(`["$blob","${name}"]`), '');
  assert.equal(of(`{"$blob":"${name}"}`, 'bytes'), '');
  assert.equal(blobIn(only<Preview>({ status: 'NOT_READY', bytes: 0 })), '');
});

test('the location of a large value is described', () => {
  const blob = only<Preview>({ status: 'READY', bytes: 5e6 });
  assert.equal(whereItLies({ ...blob, at_server: true }), 'as a blob');
  assert.equal(whereItLies({ ...blob, at_server: false, holder: 'worker:0' }), 'in the memory of worker:0');
  assert.equal(whereItLies({ ...blob, at_server: true, holder: 'worker:0' }), 'in the memory of worker:0, with a copy on the server');
  assert.equal(whereItLies({ ...blob, at_server: false, holder: 'worker:0', holders: ['worker:0', 'worker:2'] }), 'in the memory of worker:0, worker:2');
  assert.equal(whereItLies({ ...blob, at_server: false, holders: [] }), 'but the server does not have its bytes');
  assert.equal(whereItLies({ ...blob, at_server: false }), 'but the server does not have its bytes');
});

test('the type and shape of a value', () => {
  const of = (text: string, more: Partial<Preview> = {}) => typeText(only<Preview>({ status: 'READY', bytes: 9, encoding: 'json', text, ...more }));
  assert.deepEqual(
    ['null', 'true', '4.5', '"abc"', '[1, 2]', '[[1, 2], [3, 4], [5, 6]]', '[[1], [2, 3]]', '{"a": 1}', `{"$blob":"${'ab'.repeat(32)}"}`].map((text) => of(text)),
    ['null', 'boolean', 'number', 'text of 3 characters', 'list of 2', 'list of 3 × 2', 'list of 2', 'object with 1 member', 'bytes, stored separately'],
  );
  assert.equal(of('[1, 2, 3', { truncated: true }), 'list');
  assert.equal(of('00ff', { encoding: 'bytes' }), 'bytes');
  assert.equal(typeText(only<Preview>({ status: 'READY', bytes: 0 })), '');
  assert.equal(of('80', { encoding: 'bytes', description: 'ndarray(2 int8) [1, -2]' }), 'ndarray(2 int8) [1, -2]');
});
