// The shared components in the states of the gallery: names and states as a screen reader gets them, keys, and limits.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { launch, WatchedPage } from './page.mjs';

let browser;
let gallery;
before(async () => {
  browser = await launch();
  const { startGallery } = await import(pathToFileURL(join(process.env.MUSTER_DASHBOARD, 'dev/gallery.mjs')));
  gallery = await startGallery();
});
after(async () => {
  await browser?.close();
  await gallery?.close();
});

/** Opens the gallery and returns its page. `panel` is one of its panels. */
async function open(options) {
  const seen = await WatchedPage.open(browser, gallery.url, options);
  await seen.page.waitForSelector('#many .is-row');
  seen.panel = (id) => seen.page.locator(`#${id}`);
  return seen;
}
const close = async (seen) => {
  assert.deepEqual(seen.faults, []);
  await seen.page.context().close();
};
const disabled = (locator) => locator.evaluate((e) => e.disabled);

test('each state has a word and a shape, and shapes of different states differ', async () => {
  const seen = await open();
  const chips = await seen.panel('states').locator('.chip').evaluateAll((all) => all.map((chip) => ({ word: chip.textContent.trim(), drawing: chip.querySelector('svg').innerHTML, hidden: chip.querySelector('svg').getAttribute('aria-hidden') })));
  assert.ok(chips.length >= 30, `${chips.length} chips`);
  for (const { word, hidden } of chips) assert.deepEqual([/^[A-Z][a-z]/.test(word), hidden], [true, 'true'], word);
  const drawing = (word) => chips.find((chip) => chip.word === word).drawing;
  assert.equal(new Set(['Succeeded', 'Running', 'Failed', 'Cancelled', 'Waiting'].map(drawing)).size, 5);
  await close(seen);
});

test('segments are a named group of pressed and unpressed buttons', async () => {
  const seen = await open();
  const group = seen.page.getByRole('group', { name: 'State' });
  assert.deepEqual(await group.getByRole('button').allTextContents(), ['All 12', 'Failed 2', 'Running']);
  assert.equal(await group.getByRole('button', { pressed: true }).textContent(), 'Failed 2');
  await close(seen);
});

test('an action asks first, shows the refusal of the server, and gives the focus back', async () => {
  const seen = await open();
  const button = seen.at('gallery-refused');
  assert.equal(await button.getAttribute('aria-haspopup'), 'dialog');
  await button.click();
  const dialog = seen.page.getByRole('dialog', { name: 'Delete this job?' });
  await dialog.waitFor();
  assert.equal(await seen.page.evaluate(() => document.activeElement.textContent), 'Go back'); // not the dangerous answer
  await dialog.getByRole('button', { name: 'Delete the job' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'The job has not ended.' }).waitFor();
  await seen.page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await seen.page.evaluate(() => document.activeElement.textContent), 'Delete');
  await close(seen);
});

test('a disabled action says why', async () => {
  const seen = await open();
  const button = seen.at('gallery-disabled');
  assert.equal(await disabled(button), true);
  assert.equal(await button.getAttribute('title'), 'Nothing failed.');
  assert.equal(await disabled(seen.at('gallery-action')), false);
  await close(seen);
});

test('copy buttons are named by their content, and confirm the copy', async () => {
  const seen = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
  const copy = seen.panel('controls').getByRole('button', { name: 'Copy muster jobs' });
  await copy.click();
  await seen.panel('controls').locator('[aria-live=polite]').filter({ hasText: 'Copied' }).waitFor();
  assert.equal(await seen.page.evaluate(() => navigator.clipboard.readText()), 'muster jobs');
  await seen.panel('names').getByText('Commands').click();
  await seen.panel('names').getByRole('button', { name: 'Copy the command: Show this job' }).waitFor();
  await seen.page.keyboard.press('Escape');
  assert.equal(await seen.panel('names').locator('details').first().evaluate((e) => e.open), false);
  await close(seen);
});

test('bars show a failure among a million and are hidden from screen readers', async () => {
  const seen = await open();
  const bars = seen.panel('progress').locator('.bar');
  assert.equal(await bars.count(), 4);
  assert.deepEqual(await bars.evaluateAll((all) => all.map((bar) => bar.getAttribute('aria-hidden'))), ['true', 'true', 'true', 'true']);
  assert.ok((await bars.nth(3).locator('.part-failed').boundingBox()).width >= 3);
  assert.equal(await bars.nth(0).locator('i').count(), 0);
  await close(seen);
});

test('a list is a named grid whose rows are selected with keys', async () => {
  const seen = await open();
  const grid = seen.page.getByRole('grid', { name: 'List', exact: true });
  assert.equal(await grid.getAttribute('aria-rowcount'), '4');
  assert.deepEqual(await grid.getByRole('columnheader').allTextContents(), ['State ↕', 'Size ↓', 'Text']);
  assert.equal(await grid.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort'), 'descending');
  await grid.locator('[aria-selected=true]').filter({ hasText: 'epoch 3 of 10' }).waitFor();
  await grid.focus();
  await seen.page.keyboard.press('ArrowUp');
  await grid.locator('[aria-selected=true]').filter({ hasText: 'ValueError' }).waitFor();
  assert.equal(await grid.getAttribute('aria-activedescendant'), await grid.locator('[aria-selected=true]').getAttribute('id'));
  await seen.page.keyboard.press('Escape');
  assert.equal(await grid.locator('[aria-selected=true]').count(), 0);
  await grid.getByRole('gridcell', { name: 'ValueError' }).hover(); // a cut text has a title
  assert.match(await grid.getByRole('gridcell', { name: 'ValueError' }).getAttribute('title'), /does not fit into one line/);
  await close(seen);
});

test('a list that loads is busy, and an empty list says how to fill it', async () => {
  const seen = await open();
  assert.equal(await seen.page.getByRole('grid', { name: 'List that loads' }).getAttribute('aria-busy'), 'true');
  assert.match(await seen.page.getByRole('grid', { name: 'Empty list' }).textContent(), /No closures\. Submit one with: muster submit/);
  await close(seen);
});

test('a list of 5,000 rows renders only the visible rows', async () => {
  const seen = await open();
  const grid = seen.page.getByRole('grid', { name: 'Long list' });
  assert.equal(await grid.getAttribute('aria-rowcount'), '5001');
  assert.ok((await grid.locator('.is-row').count()) < 60);
  await grid.evaluate((e) => (e.scrollTop = e.scrollHeight));
  await grid.getByText('row 4999', { exact: true }).waitFor();
  await close(seen);
});

test('on a phone, rows are as high as their text and nothing is wider than the screen', async () => {
  const seen = await open({ viewport: { width: 390, height: 844 } });
  const cell = seen.page.getByRole('grid', { name: 'List', exact: true }).getByRole('gridcell', { name: 'ValueError' });
  assert.equal(await cell.evaluate((e) => e.scrollHeight <= e.clientHeight + 1 && e.scrollWidth <= e.clientWidth + 1), true);
  assert.equal(await seen.page.evaluate(() => document.documentElement.scrollWidth), 390);
  await close(seen);
});

test('a value is a named tree; of a long list only the first entries are shown', async () => {
  const seen = await open();
  const small = seen.page.getByRole('group', { name: 'Value', exact: true });
  assert.match(await small.textContent(), /list: \[1, 2\.5, null, true\].*empty: \{\}/);
  const large = seen.page.getByRole('group', { name: 'Large value' });
  assert.match(await large.textContent(), /and [\d,]+ more/);
  const entries = await large.locator('li').count();
  assert.ok(entries < 1100, `${entries} entries`);
  await close(seen);
});

test('markup in names is text; missing times are dashes; a problem is an alert', async () => {
  const seen = await open();
  const names = seen.panel('names');
  assert.equal(await names.locator('img').count(), 0);
  assert.match(await names.getByRole('alert').textContent(), /^no job is named <img src=x/);
  assert.equal(await names.getByRole('alert').count(), 1); // none for an empty problem
  assert.deepEqual(await names.locator('p').first().locator('> span').allTextContents(), ['–', '–', '2.5 s']);
  assert.equal(await names.getByRole('link', { name: 'worker:3' }).getAttribute('href'), '/fleet/worker%3A3');
  assert.equal(await names.getByRole('link', { name: 'job …0005' }).getAttribute('title'), 'job_0000000000000005');
  assert.equal(await names.locator('.teach').textContent(), `muster worker --server 127.0.0.1:8476\nmuster jobs --url ${gallery.url}`);
  await close(seen);
});

test('facts without a value are left out, and the search field has a name', async () => {
  const seen = await open();
  assert.deepEqual(await seen.panel('texts').locator('dt').allTextContents(), ['Fact', 'Code', 'Barrier']);
  await seen.page.getByRole('searchbox', { name: 'Find a component' }).fill('grid');
  await seen.page.keyboard.press('Escape');
  assert.equal(await seen.page.getByRole('searchbox', { name: 'Find a component' }).inputValue(), '');
  await close(seen);
});
