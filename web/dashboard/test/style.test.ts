import { strict as assert } from 'node:assert';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

const src = fileURLToPath(new URL('../src/', import.meta.url));
const all = (end: RegExp): [name: string, text: string][] =>
  (readdirSync(src, { recursive: true }) as string[]).filter((name) => end.test(name)).map((name) => [name, readFileSync(join(src, name), 'utf8')]);
const sheets = all(/\.css$/).map(([name, text]): [string, string] => [name, text.replace(/\/\*[\s\S]*?\*\//g, '')]);
const code = all(/\.(tsx?|html)$/)
  .map(([, text]) => text)
  .join('\n');
const selectors = (text: string): string => text.replace(/\{[^{}]*\}/g, '{}');
const words = new Set(code.match(/[a-zA-Z][\w-]*/g));

test('each class of the style sheets is used', () => {
  // Classes such as `part-failed` are made from a beginning and a state.
  const begun = [...new Set([...code.matchAll(/[\s"'`]([a-z][\w-]*-)\$\{/g)].map((found) => found[1]!))];
  const used = (name: string) => words.has(name) || name.startsWith('u-') || begun.some((start) => name.startsWith(start)); // u-: elements of uPlot
  for (const [sheet, text] of sheets) for (const [, name] of selectors(text).matchAll(/\.([a-zA-Z][\w-]*)/g)) assert.ok(used(name!), `${sheet}: .${name}`);
});

test('each id of the style sheets is used', () => {
  for (const [sheet, text] of sheets) for (const [, name] of selectors(text).matchAll(/#([a-zA-Z][\w-]*)/g)) assert.ok(new RegExp(`["'\`]${name}["'\`]`).test(code), `${sheet}: #${name}`);
});

test('no rule is empty, and each variable has a value', () => {
  const known = new Set(sheets.flatMap(([, text]) => [...text.matchAll(/(--[\w-]+):/g)].map((found) => found[1]!)));
  for (const name of code.match(/--[a-z][\w-]*/g) ?? []) known.add(name); // set by a component
  for (const [sheet, text] of sheets) {
    assert.doesNotMatch(text, /\{\s*\}/, sheet);
    for (const [, name] of text.matchAll(/var\((--[\w-]+)\)/g)) assert.ok(known.has(name!), `${sheet}: ${name}`);
  }
});

test('no text is smaller than 13 px', () => {
  for (const [sheet, text] of sheets) for (const [, size] of text.matchAll(/font-size: ([\d.]+)px/g)) assert.ok(Number(size) >= 13, `${sheet}: ${size} px`);
});

// Preact keeps the tree in which such an element was drawn first in memory. Functions return a new element each time.
test('no element is made when a file is loaded', () => {
  const element = /^(?:export )?const \w+(?:: [^=]+)? = <[a-zA-Z]|^ {2}['\w-]+: <[a-zA-Z]/m;
  assert.match('const turn = <path />;', element);
  assert.match('const all = {\n  late: <path />,\n};', element);
  for (const [name, text] of all(/\.tsx$/)) assert.doesNotMatch(text, element, name);
});
