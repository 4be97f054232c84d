// Hosts, workers and slots on the page Fleet: which worker is slow, which one holds the most.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { ValueHolder } from './agent.mjs';
import { Cluster } from './cluster.mjs';
import { onStage } from './stage.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
const SLOW = /2\.\d × slower than the median since \d\d:\d\d/;
let cluster;
let holders = [];

const { visitor } = onStage(async (started) => {
  mkdirSync(shots, { recursive: true });
  cluster = started;
  await cluster.serve();
  for (const index of [0, 1, 2]) cluster.worker(index, '--slots', '2', '--label', `zone=z${index}`);
  // The same function takes twice as long on worker:2.
  const naps = (zone, ms, n) => Array.from({ length: n }, () => ({ function: 'muster.sleep', args: [ms], options: { labels: { zone } } }));
  await Promise.all([naps('z0', 100, 6), naps('z1', 100, 6), naps('z2', 230, 6)].map(async (closures, n) => ended(await cluster.submitAll(`naps ${n}`, closures))));
  // A longer function that only worker:1 runs does not make it slow.
  await cluster.submitAll('long', [{ function: 'muster.sleep', args: [600_000], options: { labels: { zone: 'z1' } } }]);
  holders = [new ValueHolder(cluster.grpc, 'worker:0', 2_000_000), new ValueHolder(cluster.grpc, 'worker:1', 61_000_000)];
});
after(() => holders.forEach((holder) => holder.end()));

async function ended(id) {
  while (!(await cluster.get(`/api/v1/jobs/${id}`)).finished_ms);
}

function counted() {
  let clicks = 0;
  return { click: async (at) => (await at.click(), ++clicks), clicks: () => clicks };
}

test('the slowest worker and since when it is slow are found with one click', async () => {
  const seen = await visitor('/now');
  const { click, clicks } = counted();
  await click(seen.page.locator('.rail a', { hasText: 'Fleet' }));
  await seen.at('fleet-slowest', '[data-task="worker:2"]').waitFor();
  assert.match(await seen.at('fleet-slowest').textContent(), SLOW);
  assert.equal(clicks(), 1);
  const row = seen.at('task-row', '[data-task="worker:2"][data-slow]');
  assert.match(await row.textContent(), SLOW);
  assert.equal(await seen.at('task-row', '[data-slow]').count(), 1, 'the other workers are not slow');
  const { hosts } = await cluster.get('/api/v1/hosts?task=worker:2');
  const since = hosts[0].workers[0].slow_since_ms;
  assert.ok(since <= Date.now() && since > Date.now() - 600_000 && since % 60_000 === 0);
  await click(seen.at('fleet-slowest').locator('a'));
  await seen.reads('slowness', SLOW);
  await seen.at('slowness-chart').waitFor();
  await seen.at('slow').waitFor();
  await seen.page.screenshot({ path: join(shots, 'worker-slow.png'), fullPage: true });
});

test('the worker that holds the most values is found with one click, and by sorting', async () => {
  const seen = await visitor('/now');
  const { click, clicks } = counted();
  await click(seen.page.locator('.rail a', { hasText: 'Fleet' }));
  await seen.at('fleet-holder', '[data-task="worker:1"]').filter({ hasText: '61 MB' }).waitFor();
  await click(seen.at('sort-values'));
  await seen.page.waitForURL(/sort=values&order=desc/);
  await seen.page.waitForFunction(() => document.querySelector('[data-testid="task-row"]')?.dataset.task === 'worker:1');
  assert.equal(clicks(), 2);
  const sizes = await seen.at('value-bytes').allTextContents();
  assert.deepEqual(sizes, ['61 MB', '2.0 MB', '0 B']);
  assert.match(await seen.at('host-row').first().textContent(), /63 MB/);
  await seen.page.screenshot({ path: join(shots, 'fleet.png') });
});

test('a worker opens to its slots and its process', async () => {
  const seen = await visitor('/fleet');
  const row = seen.at('task-row', '[data-task="worker:1"]');
  await row.getByRole('button').focus();
  await seen.page.keyboard.press('Enter');
  await seen.at('slot').filter({ hasText: /slot 1 muster\.sleep #0 for .*, since \d\d:\d\d:\d\d/ }).waitFor();
  await seen.reads('slots-free', /1 slot free/);
  assert.match(await seen.at('process').textContent(), /process \d+/);
  await seen.page.waitForURL(/open=worker(:|%3A)1/);
  await seen.page.keyboard.press('Enter');
  await seen.at('slots').waitFor({ state: 'detached' });
});

test('workers are filtered by state and text', async () => {
  const seen = await visitor('/fleet');
  await seen.at('show-slow').click();
  await seen.at('task-row', '[data-task="worker:0"]').waitFor({ state: 'detached' });
  assert.equal(await seen.at('task-row').getAttribute('data-task'), 'worker:2');
  await seen.page.locator('.find input').fill('worker:1');
  await seen.page.getByText('No worker matches').waitFor();
  await seen.at('show-all').click();
  await seen.at('task-row', '[data-task="worker:1"]').waitFor();
});

test('a phone shows the same figures without sideways scrolling', async () => {
  const seen = await visitor('/fleet', { viewport: { width: 390, height: 844 } });
  const row = seen.at('task-row', '[data-task="worker:2"]');
  await row.filter({ hasText: SLOW }).waitFor();
  assert.ok(await seen.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  const cut = await row.evaluate((tr) => [...tr.querySelectorAll('td')].filter((td) => td.scrollWidth > td.clientWidth + 1).length);
  assert.equal(cut, 0, 'no cell is cut');
  assert.ok((await row.boundingBox()).width <= 390);
  await seen.page.screenshot({ path: join(shots, 'fleet-phone.png') });
});
