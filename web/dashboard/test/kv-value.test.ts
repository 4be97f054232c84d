import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asHex, asJson, asText, crumbs, looks } from '../src/agreement/model/kv-value';

test('a value is shown in the form that suits it', () => {
  assert.deepEqual(looks('{"a":1}'), ['json', 'text', 'hex']);
  assert.deepEqual(looks('hello'), ['text', 'hex']);
  assert.deepEqual(looks('{broken'), ['text', 'hex']);
  assert.deepEqual(looks('42'), ['text', 'hex']);
  assert.deepEqual(looks(null), ['hex']);
});

test('JSON is indented', () => {
  assert.equal(asJson('[1,{"a":null}]'), '[\n  1,\n  {\n    "a": null\n  }\n]');
});

test('hex shows the offset, the bytes and their printable characters', () => {
  const lines = asHex(new TextEncoder().encode('hello, \0 sixteen+')).split('\n');
  assert.equal(lines[0], '00000000  68 65 6c 6c 6f 2c 20 00 20 73 69 78 74 65 65 6e  hello, . sixteen');
  assert.equal(lines[1], `00000010  ${'2b'.padEnd(47)}  +`);
  assert.equal(asHex(new Uint8Array()), '');
});

test('too long values are cut and marked', () => {
  assert.match(asText('x'.repeat(70_000)), /cut here$/);
  assert.match(asHex(new Uint8Array(70_000)), /cut here$/);
  assert.equal(asText('short'), 'short');
});

test('the folders of a prefix are listed', () => {
  assert.deepEqual(crumbs(''), []);
  assert.deepEqual(crumbs('a/b/'), [
    ['a', 'a/'],
    ['b', 'a/b/'],
  ]);
});
