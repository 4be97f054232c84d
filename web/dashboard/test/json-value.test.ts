import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inline, nodeOf, type Branch } from '../src/shared/model/json-value';

test('bytes, pickles, blobs and values are labelled by kind', () => {
  assert.deepEqual(nodeOf({ $pickle: 'AAAA'.repeat(230) }), { kind: 'bytes', text: 'pickle, 690 B' });
  assert.deepEqual(nodeOf({ $bytes: 'aGk=' }), { kind: 'bytes', text: 'bytes, 2 B' });
  const sha = 'ab'.repeat(32);
  assert.deepEqual(nodeOf({ $blob: sha, bytes: 12_000_009 }), { kind: 'blob', text: 'blob, 12 MB', id: sha });
  assert.deepEqual(nodeOf({ $remote_value: 'rv_0000000000000001' }), { kind: 'value', text: 'rv_0000000000000001', id: 'rv_0000000000000001' });
  assert.equal(nodeOf({ $blob: '../../etc' }).kind, 'object');
});

test('printed text keeps its lines', () => {
  assert.equal(nodeOf('a\nb').kind, 'lines');
  assert.equal(nodeOf('\u001b[31mred').kind, 'lines');
  assert.equal(nodeOf('a').kind, 'text');
});

test('long lists are cut, and short ones are on one line', () => {
  const long = nodeOf(Array.from({ length: 250 }, (_, n) => n)) as Branch;
  assert.equal(long.children.length, 100);
  assert.equal(long.more, 150);
  assert.equal(inline(long), null);
  assert.equal(inline(nodeOf([3, 3, 64]) as Branch), '[3, 3, 64]');
  assert.equal(inline(nodeOf([{ a: 1 }]) as Branch), null);
});
