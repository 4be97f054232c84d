import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bare, runs } from '../src/shared/model/ansi';

const ESC = '\u001b';

test('colours become classes, and end where they end', () => {
  assert.deepEqual(runs(`${ESC}[31mred${ESC}[0m plain ${ESC}[1;92mbold green${ESC}[22m green${ESC}[39m.`), [
    { text: 'red', style: 'a-red' },
    { text: ' plain ', style: '' },
    { text: 'bold green', style: 'a-green a-bold' },
    { text: ' green', style: 'a-green' },
    { text: '.', style: '' },
  ]);
  assert.deepEqual(runs(`${ESC}[38;5;1mred${ESC}[38;2;1;2;3mstill${ESC}[48;5;4m${ESC}[mplain`), [
    { text: 'redstill', style: 'a-red' },
    { text: 'plain', style: '' },
  ]);
  assert.deepEqual(runs('nothing special'), [{ text: 'nothing special', style: '' }]);
  assert.deepEqual(runs(''), []);
});

test('background colours become tints', () => {
  assert.deepEqual(runs(`${ESC}[31;43mwarn${ESC}[49m red`), [
    { text: 'warn', style: 'a-red b-yellow' },
    { text: ' red', style: 'a-red' },
  ]);
});

test('all other terminal control sequences are removed', () => {
  for (const sequence of [
    `${ESC}[2J`,
    `${ESC}[1;1H`,
    `${ESC}[?25l`,
    `${ESC}]0;title\u0007`,
    `${ESC}]8;;http://evil${ESC}\\`,
    `${ESC}(B`,
    `${ESC}c`,
    '\u0000',
    '\u0008',
    '\u007f',
    '\u009b31m',
    '\u009d0;x\u009c',
    `${ESC}P1$r${ESC}\\`,
  ])
    assert.equal(bare(`a${sequence}b`), 'ab', JSON.stringify(sequence));
  assert.equal(bare(`a${ESC}`), 'a');
  assert.equal(bare(`a${ESC}[31`), 'a');
  assert.equal(bare(`a${ESC}]0;never ends`), 'a');
  assert.equal(bare('a\tb\nc'), 'a\tb\nc');
});

test('a progress bar shows what it wrote last', () => {
  assert.equal(bare('10%\r50%\r100%'), '100%');
  assert.equal(bare('100%\r'), '100%');
  assert.equal(bare('one\n10%\r20%\ntwo\r\nthree'), 'one\n20%\ntwo\nthree');
});

test('hostile texts cost time in proportion to their length, and few elements', () => {
  const before = process.cpuUsage();
  for (const hostile of [ESC.repeat(200_000), `${ESC}[`.repeat(100_000), `${ESC}[${'1;'.repeat(100_000)}m`, '\r'.repeat(200_000), `${ESC}]${'x'.repeat(200_000)}`]) bare(hostile);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 3_000_000, `${user + system} microseconds`);
  const many = runs(Array.from({ length: 20_000 }, (_, n) => `${ESC}[3${1 + (n % 2)}mx`).join(''));
  assert.ok(many.length <= 500);
  assert.equal(
    many.reduce((n, run) => n + run.text.length, 0),
    20_000,
  );
});
