// Checks rules that reviewers would otherwise have to remember.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

const root = new URL('../', import.meta.url);
const filesBelow = (folder: string): string[] =>
  readdirSync(new URL(`src/${folder}`, root), { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [folder + entry.name] : filesBelow(`${folder}${entry.name}/`)));
const files = filesBelow('');
const sources = files.map((name) => [name, readFileSync(new URL(`src/${name}`, root), 'utf8')] as const);

test('untrusted strings are rendered only as text', () => {
  for (const [name, text] of sources) {
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, name);
  }
});

test('no source names another host', () => {
  for (const [name, text] of sources) {
    assert.doesNotMatch(text.replaceAll('http://www.w3.org/2000/svg', ''), /https?:\/\//, name);
  }
});

test('no inline style or script in the page', () => {
  const html = readFileSync(new URL('src/shell/index.html', root), 'utf8');
  assert.doesNotMatch(html, /<style|style=|<script(?![^>]*src=)| on\w+=/);
});

test('only chart.tsx uses uPlot', () => {
  for (const [name, text] of sources) if (name !== 'shared/chart.tsx' && !name.endsWith('.css')) assert.doesNotMatch(text, /from 'uplot'/, name);
});

test('the lock file names no registry', () => {
  assert.doesNotMatch(readFileSync(new URL('package-lock.json', root), 'utf8'), /"resolved"/);
});

test('files stay small', () => {
  for (const [name, text] of sources) if (!name.endsWith('.css')) assert.ok(text.split('\n').length <= 400, name);
});

// Returns the names of all classes in the selectors of a style sheet.
function classesOf(css: string): string[] {
  const selectors = css
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/@import[^;]*;/g, '')
    .replace(/\{[^{}]*\}/g, '{}');
  return [...new Set([...selectors.matchAll(/\.([a-z][\w-]*)/gi)].map((found) => found[1]!))];
}

// A class is used if a source names it, or builds it as in `part-${kind}`.
test('every class of a style sheet is used', () => {
  const code = sources
    .filter(([name]) => /\.(tsx?|html)$/.test(name))
    .map(([, text]) => text)
    .join('\n');
  const words = new Set(code.match(/[\w-]+/g));
  const built = [...new Set([...code.matchAll(/([a-z][a-z-]*-)\$\{/g)].map((found) => found[1]!))];
  const unused = sources
    .filter(([name]) => name.endsWith('.css'))
    .flatMap(([name, text]) => classesOf(text).map((of) => [name, of] as const))
    .filter(([, of]) => !of.startsWith('u-') && !words.has(of) && !built.some((prefix) => of.startsWith(prefix)));
  assert.deepEqual(unused, []);
});

test('app.css imports every style sheet', () => {
  const app = readFileSync(new URL('src/shared/style/app.css', root), 'utf8');
  for (const [name] of sources) if (name.endsWith('.css') && !name.endsWith('/app.css')) assert.ok(app.includes(`/${name.replace('shared/style/', '')}'`), name);
});
