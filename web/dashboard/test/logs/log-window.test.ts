import assert from 'node:assert/strict';
import { test } from 'node:test';
import { above, mayGoBack, mayGoOn, nothingRead, parts, PIECE, WINDOW_MAX, withAbove, withBelow, type LogWindow } from '../../src/explore/model/log-window';

const LOG = 'one\ntwo\nthree\nfour\n';
const piece = (offset: number, n: number) => ({ known: true, offset, data: LOG.slice(offset, offset + n), next_offset: Math.min(LOG.length, offset + n), size: LOG.length, complete: true });

test('a line is shown with the lines before and after it', () => {
  let w = withBelow(nothingRead(8), piece(8, 5));
  assert.deepEqual(parts(w), { before: '', line: 'three', after: '' });
  assert.deepEqual([mayGoBack(w), mayGoOn(w), above(w)], [true, true, [0, 8]]);
  w = withBelow(w, piece(13, 100));
  w = withAbove(w, piece(2, 6));
  assert.deepEqual(parts(w), { before: 'two\n', line: 'three', after: 'four\n' }); // the incomplete "one" is omitted
  w = withAbove(w, piece(0, 2));
  assert.deepEqual(parts(w).before, 'one\ntwo\n');
  assert.deepEqual([mayGoBack(w), mayGoOn(w)], [false, false]);
  assert.deepEqual(above({ ...w, from: 100_000 }), [100_000 - PIECE, PIECE]);
});

test('dropped output is reported and not replaced by other lines', () => {
  const gone = { known: true, offset: 14, data: 'four\n', next_offset: 19, size: 19, complete: true };
  assert.equal(withBelow(nothingRead(8), gone).known, false);
  const w = withBelow(nothingRead(14), piece(14, 5));
  const cut = withAbove(w, { ...gone });
  assert.deepEqual([cut.from, cut.before, mayGoBack(cut)], [0, '', false]);
  assert.equal(withBelow(nothingRead(8), { ...gone, known: false }).known, false);
});

test('the size of a window is limited', () => {
  const full: LogWindow = { from: 5, before: '', after: 'x'.repeat(WINDOW_MAX), to: WINDOW_MAX + 5, size: 2 * WINDOW_MAX, known: true };
  assert.deepEqual([mayGoBack(full), mayGoOn(full)], [false, false]);
});
