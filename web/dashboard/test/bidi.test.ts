import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unturned } from '../src/shared/model/bidi';
import { cut } from '../src/shell/model/letters';

test('bidirectional control characters are shown, and other text is unchanged', () => {
  assert.equal(unturned('\u202Egnp.exe'), '⟨U+202E⟩gnp.exe');
  assert.equal(unturned('a\u2066b\u061c'), 'a⟨U+2066⟩b⟨U+061C⟩');
  assert.equal(unturned('שלום 👩‍👩‍👧‍👦 plain'), 'שלום 👩‍👩‍👧‍👦 plain');
});

test('text is cut between characters, and an emoji is one character', () => {
  assert.equal(cut('short', 5), 'short');
  assert.equal(cut('a long one', 5), 'a lo…');
  assert.equal(cut('👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 2), '👩‍👩‍👧‍👦…');
  assert.equal(cut('👩‍👩‍👧‍👦👩‍👩‍👧‍👦', 2), '👩‍👩‍👧‍👦👩‍👩‍👧‍👦');
});
