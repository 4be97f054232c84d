import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
let browser;

before(async () => {
  mkdirSync(shots, { recursive: true });
  browser = await launch();
});
after(() => browser.close());

async function withCluster(workers, body) {
  const cluster = new Cluster();
  try {
    await cluster.serve();
    for (let i = 0; i < workers; ++i) cluster.worker(i, '--slots', '2');
    await body(cluster);
  } finally {
    cluster.end();
  }
}

/** Opens a job and keeps it busy until the page shows that it runs, also if the page is slow. */
async function runUntilShown(cluster, seen, name) {
  const id = await cluster.submitAll(name, [], { open: true });
  await seen.at('job-row', `[data-job="${id}"][data-state="QUEUED"]`).waitFor();
  let total = 0;
  let shown = false;
  const throughput = seen.counts('key-throughput', 1).then(() => (shown = true));
  while (!shown) {
    await cluster.append(id, 'muster.sleep', [20], 50);
    total += 50;
    await Promise.race([throughput, seen.counts('values-ready', total)]);
  }
  return { id, total };
}

/** Returns whether red dominates a colour clearly. */
async function isRed(locator) {
  return locator.evaluate((row) => {
    const seen = [row, ...row.querySelectorAll('*')].flatMap((e) => {
      const style = getComputedStyle(e);
      return [style.color, style.backgroundColor, style.fill];
    });
    return seen.some((text) => {
      const [r, g, b] = (text.match(/\d+(\.\d+)?/g) ?? []).map(Number);
      return text.startsWith('rgb') && r > 150 && r > 2 * g && r > 2 * b;
    });
  });
}

test('a running job is shown live', async () => {
  await withCluster(2, async (cluster) => {
    const seen = await WatchedPage.open(browser, `${cluster.url}/now/charts`);
    await seen.reads('conn-state', /live/i);
    await seen.counts('key-tasks', 2);
    await seen.page.locator('.map-label', { hasText: '2 tasks' }).waitFor();

    const { id, total } = await runUntilShown(cluster, seen, 'watched');
    await cluster.seal(id);
    await seen.at('job-row', `[data-job="${id}"][data-state="SUCCEEDED"]`).waitFor();
    await seen.counts('values-ready', total);
    assert.equal(await seen.at('cluster-map').count(), 1);
    assert.deepEqual(seen.faults, []);
  });
});

test('a killed worker turns red', async () => {
  await withCluster(2, async (cluster) => {
    const seen = await WatchedPage.open(browser, `${cluster.url}/tasks`);
    const row = (state) => seen.at('task-row', `[data-task="worker:1"][data-state="${state}"]`);
    await row('CONNECTED').waitFor();
    assert.equal(await isRed(row('CONNECTED')), false);
    await cluster.killWorker(1);
    await row('ERROR').waitFor();
    assert.equal(await isRed(row('ERROR')), true);
    await seen.at('task-row', '[data-task="worker:0"][data-state="CONNECTED"]').waitFor();

    const overview = await WatchedPage.open(browser, `${cluster.url}/`);
    await overview.reads('attention', /worker:1/);
    assert.deepEqual([...seen.faults, ...overview.faults], []);
  });
});

test('the dashboard reconnects after the server restarts', async () => {
  await withCluster(1, async (cluster) => {
    const seen = await WatchedPage.open(browser, `${cluster.url}/now/charts`);
    await seen.counts('key-tasks', 1);
    seen.serverIsDown = true;
    assert.equal(await cluster.stopServer(), 0, 'an open dashboard must not spoil an orderly stop');
    await seen.reads('conn-state', /reconnecting/i);
    await cluster.serve();
    await seen.reads('conn-state', /live/i);
    seen.serverIsDown = false;
    await seen.counts('key-tasks', 1);
    assert.deepEqual(seen.faults, []);
  });
});

test('durability is shown, and a killed server returns on its ports', async () => {
  const cluster = new Cluster();
  try {
    await cluster.serve('--supervise', '--data-dir', join(cluster.folder, 'data'), '--cluster', 'train:worker=2');
    const seen = await WatchedPage.open(browser, `${cluster.url}/now/charts`);
    await seen.reads('kept', /all changes on disk/);
    await seen.reads('kept', /start 1,/);
    for (const theme of ['light', 'dark']) {
      await seen.at(`theme-${theme}`).click();
      await seen.page.screenshot({ path: join(shots, `kept-${theme}.png`) });
    }
    seen.serverIsDown = true;
    cluster.killSupervised();
    await seen.reads('kept', /start 2,/);
    await seen.reads('conn-state', /live/i);
    seen.serverIsDown = false;
    assert.deepEqual(seen.faults, []);
  } finally {
    cluster.end();
  }
});

test('screenshots are taken in both themes', async () => {
  await withCluster(3, async (cluster) => {
    const seen = await WatchedPage.open(browser, `${cluster.url}/now/charts`);
    await seen.counts('key-tasks', 3);
    await cluster.killWorker(2);
    await runUntilShown(cluster, seen, 'screenshot');
    for (const theme of ['light', 'dark']) {
      await seen.at(`theme-${theme}`).click();
      await seen.page.screenshot({ path: join(shots, `overview-${theme}.png`) });
    }
    assert.deepEqual(seen.faults, []);
  });
});

test('untrusted names are shown as text', async () => {
  await withCluster(1, async (cluster) => {
    const seen = await WatchedPage.open(browser, `${cluster.url}/now/charts`);
    const hostile = '<img src=x onerror=alert(1)>';
    await cluster.submit('muster.noop', [], 1, hostile);
    await seen.reads('job-row', hostile);
    assert.equal(await seen.page.locator('img[src="x"]').count(), 0);
    assert.deepEqual(seen.faults, []);
  });
});
