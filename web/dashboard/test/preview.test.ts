import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blobIn } from '../src/model/rest/preview';

test('a value that names a blob is told from one that looks like it', () => {
  const name = 'ab'.repeat(32);
  const of = (text: string, encoding: 'json' | 'bytes' = 'json') => blobIn({ status: 'READY', bytes: 12_000_009, encoding, text });
  assert.equal(of(`{"$blob":"${name}","bytes":12000009}`), name);
  assert.equal(of(`{"$blob":"${name.slice(1)}","bytes":1}`), '');
  assert.equal(of(`["$blob","${name}"]`), '');
  assert.equal(of(`{"$blob":"${name}"}`, 'bytes'), '');
  assert.equal(blobIn({ status: 'NOT_READY', bytes: 0 }), '');
});
