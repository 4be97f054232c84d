import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

const HOSTILE = '<img src=x onerror=alert(1)> \u202Egnp.exe';
const axe = readFileSync(createRequire(join(process.env.MUSTER_DASHBOARD, 'package.json')).resolve('axe-core/axe.min.js'), 'utf8');
let cluster;
let failed;

const { open, visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
  cluster.worker(0);
  cluster.worker(1);
  await cluster.declare('train', { worker: 2 });
  await cluster.put('train', 'config/rate', '0.1');
  await cluster.submit('muster.noop', [], 2, HOSTILE);
  failed = await cluster.submit('muster.fail', ['no'], 1, 'nightly');
});

async function find(seen, text) {
  await seen.page.keyboard.press('Control+k');
  await seen.at('palette').waitFor();
  await seen.page.keyboard.type(text);
}

test('the palette opens jobs, workers, keys, pages and actions from any page', async () => {
  const seen = await visitor('/explore/events?cluster=train');
  await find(seen, 'config/');
  await seen.at('palette-row', '[data-kind="key"]').waitFor();
  await seen.page.keyboard.press('Enter');
  await seen.page.waitForURL(/\/agreement\/keys\?.*key=config/);
  await seen.page.goto(`${cluster.url}/kv`);
  await seen.reads('conn-state', /live/i);
  await find(seen, 'nightly');
  await seen.at('palette-row', '[data-kind="job"]').waitFor();
  await seen.page.keyboard.press('Enter');
  await seen.page.waitForURL(new RegExp(`/runs/${failed}`));
  await find(seen, 'worker:1');
  await seen.at('palette-row', '[data-kind="worker"]').waitFor();
  await seen.page.keyboard.press('Enter');
  await seen.page.waitForURL(/\/fleet\/worker/);
  await find(seen, 'task stream');
  await seen.page.keyboard.press('Enter');
  await seen.page.waitForURL(/\/stream/);
  await find(seen, 'pause');
  await seen.page.keyboard.press('Enter');
  await seen.reads('conn-state', /paused/i);
});

test('Esc closes the palette, hostile names are text, and axe finds no problem', async () => {
  const seen = await visitor('/work');
  await find(seen, 'img src');
  await seen.at('palette-row', '[data-kind="job"]').filter({ hasText: '<img src=x' }).waitFor();
  assert.equal(await seen.page.locator('img[src="x"]').count(), 0);
  await seen.page.evaluate(axe);
  const { violations } = await seen.page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(violations.map((v) => `${v.id} ${v.nodes[0].html}`), []);
  await seen.page.keyboard.press('Escape');
  await seen.at('palette').waitFor({ state: 'detached' });
  assert.equal(new URL(seen.page.url()).pathname, '/work');
});

test('the chosen cluster is kept across pages', async () => {
  const seen = await visitor('/');
  await seen.at('cluster-choice', '[data-cluster="train"]').click();
  await seen.page.waitForURL(/cluster=train/);
  for (const [entry, tab] of [['Agreement', 'Key-values'], ['Fleet'], ['Now']]) {
    await seen.navigate(entry, tab);
    await seen.at('cluster-switch', '[data-cluster="train"]').waitFor();
  }
  await seen.at('cluster-choice', '[data-cluster=""]').click();
  await seen.page.waitForURL((url) => !url.searchParams.has('cluster'));
});

test('dismissed alerts stay hidden after a reload and can be shown again', async () => {
  const seen = await visitor('/');
  const item = seen.at('attention-item', '[data-kind="job-failed"]');
  await item.waitFor();
  await item.locator('[data-testid=seen]').click();
  await item.waitFor({ state: 'detached' });
  await seen.page.reload();
  await seen.at('show-seen').click();
  await item.locator('[data-testid=seen]').click();
  await seen.at('show-seen').waitFor({ state: 'detached' });
  await item.locator('[data-testid=attention-deed]').click();
  await seen.page.waitForURL(/\/runs/);
});

test('alerts can be retried and explained in place', async () => {
  await cluster.submit('muster.fail', ['a cause of its own'], 1, 'again');
  const waits = await cluster.submitAll('waits', [{ function: 'muster.noop', options: { labels: { zone: 'mars' } } }]);
  const seen = await visitor('/');
  await seen.reads('verdict', /2 jobs failed/);
  const item = seen.at('attention-item', '[data-kind="job-failed"]').filter({ hasText: 'again' });
  await item.locator('[data-testid=retry-job]').click();
  await item.locator('[data-testid=retried]').waitFor();
  const stuck = seen.at('attention-item', '[data-kind="wish-unmet"]');
  await stuck.locator('[data-testid=deed-explain]').click();
  await stuck.locator('[data-testid=explained]').filter({ hasText: 'zone=mars' }).waitFor();
  await seen.at('cluster-row', '[data-cluster="train"]').waitFor();
  await seen.at('cluster-row', '[data-health="connected"]').filter({ hasText: '2 closure workers' }).waitFor();
  await cluster.cancel(waits);
});

test('a palette command runs after confirmation', async () => {
  const seen = await visitor('/explore/events');
  await find(seen, 'cordon worker:1');
  await seen.at('palette-row', '[data-kind="action"]').filter({ hasText: 'Cordon worker:1' }).waitFor();
  await seen.page.keyboard.press('Enter');
  await seen.at('question-yes').click();
  await seen.at('question').waitFor({ state: 'detached' });
  await find(seen, 'uncordon worker:1');
  await seen.at('palette-row', '[data-kind="action"]').filter({ hasText: 'Uncordon worker:1' }).waitFor();
  await seen.page.keyboard.press('Enter');
  await seen.page.evaluate(axe);
  const { violations } = await seen.page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(violations.map((v) => v.id), []);
  await seen.at('question-yes').click();
  await seen.at('question').waitFor({ state: 'detached' });
  await find(seen, 'retry nightly');
  await seen.at('palette-row', '[data-kind="action"]').filter({ hasText: 'Retry nightly' }).waitFor();
  await seen.page.keyboard.press('Escape');
});

test('the palette finds hosts and the closures of the open job', async () => {
  const seen = await visitor(`/runs/${failed}`);
  await find(seen, 'muster.fail');
  await seen.at('palette-row', '[data-kind="closure"]').filter({ hasText: 'muster.fail #0' }).waitFor();
  await seen.page.keyboard.press('Escape');
  await seen.at('palette').waitFor({ state: 'detached' });
  await find(seen, hostname().slice(0, 6));
  await seen.at('palette-row', '[data-kind="host"]').click();
  await seen.page.waitForURL(/\/fleet\?q=/);
});

test('an empty page links to clusters with content', async () => {
  const seen = await visitor('/agreement/keys');
  await seen.at('elsewhere').locator('button', { hasText: 'train (1)' }).click();
  await seen.at('folder').waitFor();
});

test('a saved filter is found in the palette and on its page', async () => {
  const seen = await visitor('/work?state=FAILED');
  await seen.at('save-filter').click();
  await seen.page.keyboard.press('Enter');
  await seen.at('save-filter').filter({ hasText: 'Remove view' }).waitFor();
  await seen.page.goto(`${cluster.url}/events`);
  await seen.reads('conn-state', /live/i);
  await find(seen, 'saved failed');
  await seen.at('palette-row', '[data-kind="saved filter"]').waitFor();
  await seen.page.keyboard.press('Enter');
  await seen.page.waitForURL(/\/work\?state=FAILED/);
  await seen.at('clear-filters').click();
  await seen.at('saved-here').locator('a').click();
  await seen.page.waitForURL(/\/work\?state=FAILED/);
});

test('times show their zone, and the choice of UTC is kept', async () => {
  const seen = await visitor('/work');
  await seen.at('zone-UTC').click();
  await seen.page.reload();
  const time = seen.page.locator('[data-testid=work-row] time').first();
  await time.waitFor();
  assert.match(await time.getAttribute('title'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
});

test('an attempt links to its time in the task stream', async () => {
  const { closures } = await cluster.get(`/api/v1/jobs/${failed}/closures`);
  const seen = await visitor(`/closures/${closures[0].id}`);
  await seen.at('in-stream').click();
  await seen.page.waitForURL(/\/stream\?.*from=\d+&to=\d+/);
});

test('bidirectional control characters are shown as code points', async () => {
  const seen = await visitor('/work');
  await seen.at('work-row').filter({ hasText: '⟨U+202E⟩gnp.exe' }).waitFor();
});

test('a phone layout has one bar, a menu, and names next to values', async () => {
  const seen = await open('/fleet', { viewport: { width: 390, height: 844 } });
  await seen.reads('conn-state', /live/i);
  const bar = await seen.page.locator('.rail').boundingBox();
  assert.ok(bar.height < 60, `${bar.height}`);
  await seen.at('task-row').first().waitFor();
  assert.match(await seen.at('task-row').first().locator('[data-title]').first().evaluate((cell) => getComputedStyle(cell, '::before').content), /Running/);
  await seen.at('menu').click();
  await seen.navigate('Work');
  await seen.page.waitForURL(/\/work\b/);
  assert.equal(await seen.page.locator('.rail a', { hasText: 'Work' }).isVisible(), false, 'the menu has closed');
});
