import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Agent } from './agent.mjs';
import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1440, height: 900 };
let browser;

before(async () => {
  mkdirSync(shots, { recursive: true });
  browser = await launch();
});
after(() => browser.close());

async function withServer(flags, body) {
  const server = new Cluster();
  const agents = [];
  try {
    await server.serve(...flags.map((flag) => flag.replace('FOLDER', server.folder)));
    await body(server, agents);
  } finally {
    for (const agent of agents) agent.end();
    server.end();
  }
}

async function shoot(seen, name) {
  for (const theme of ['light', 'dark']) {
    await seen.at(`theme-${theme}`).click();
    await seen.page.screenshot({ path: join(shots, `${name}-${theme}.png`) });
  }
  await seen.page.setViewportSize(PHONE);
  await seen.page.screenshot({ path: join(shots, `${name}-phone.png`) });
  await seen.page.setViewportSize(DESK);
}

test('agents that were silent since a restart are not shown as connected', async () => {
  await withServer(['--data-dir', 'FOLDER/data'], async (server, agents) => {
    const { address } = await server.declare('train', { worker: 3 });
    for (let task = 0; task < 3; ++task) agents.push(new Agent(address, task));
    await Promise.all(agents.map((agent) => agent.register()));
    const seen = await WatchedPage.open(browser, `${server.url}/now/charts`);
    await seen.reads('key-tasks', /3 of 3/);
    seen.serverIsDown = true;
    await server.killServer();
    await server.serve('--data-dir', join(server.folder, 'data'));
    await seen.reads('key-tasks', /0 of 3.*3 silent since the server restarted/);
    seen.serverIsDown = false;
    await seen.reads('map-legend', /Connected 0.*Silent since the server restarted 3/);
    const now = await WatchedPage.open(browser, `${server.url}/now`);
    await now.at('cluster-row', '[data-cluster="train"]').filter({ hasText: '0 of 3 connected' }).waitFor();
    assert.deepEqual(now.faults, []);
    await seen.at('agent-problems-row', '[data-task="worker:1"][data-state="unheard"]').waitFor();
    await shoot(seen, 'agents-unheard');

    const again = await server.get('/api/v1/clusters/train');
    const back = new Agent(again.address, 0);
    agents.push(back);
    back.service = agents[0].service;
    const waits = back.barrier('any', 60_000);
    waits.catch(() => {}); // pending until the server ends
    await seen.reads('key-tasks', /1 of 3.*2 silent since the server restarted/);
    await seen.at('agent-problems-row', '[data-task="worker:0"]').waitFor({ state: 'detached' });
    assert.deepEqual(seen.faults, []);
  });
});

test('all views count failed tasks alike, and their last heartbeat stays fixed', async () => {
  await withServer([], async (server, agents) => {
    const { address } = await server.declare('train', { worker: 3 }, { heartbeat_timeout: '1s' });
    for (let task = 0; task < 3; ++task) agents.push(new Agent(address, task));
    await Promise.all(agents.map((agent) => agent.register()));
    server.worker(0);
    const overview = await WatchedPage.open(browser, `${server.url}/now/charts`);
    await overview.reads('key-tasks', /1 of 4.*3 error/); // without heartbeats
    await overview.reads('map-legend', /Connected 1.*Error 3.*Disconnected 0/);
    await overview.at('agent-problems-row').nth(2).waitFor();
    await overview.page.locator('.rail .is-bad', { hasText: '3' }).waitFor();
    await shoot(overview, 'agents-in-error');

    const seen = await WatchedPage.open(browser, `${server.url}/tasks?cluster=train&agent=worker:1`);
    await seen.at('agent-detail').locator('.reason').waitFor();
    const shown = () => seen.at('agent-seen').innerText();
    const before = await shown();
    // Older than a column of ages can show.
    await seen.at('agents-row', '[data-task="worker:1"]').filter({ hasText: /[4-9]\.\d s|\d\d s/ }).waitFor();
    assert.equal(await shown(), before);
    await seen.page.reload();
    await seen.at('agent-detail').locator('.reason').waitFor();
    assert.equal(await shown(), before);
    assert.deepEqual([...overview.faults, ...seen.faults], []);
  });
});

test('a waiting job is not shown as running and can be cancelled', async () => {
  await withServer([], async (server) => {
    const job = await server.submitAll('waits', [{ function: 'muster.echo', args: [1] }]);
    const seen = await WatchedPage.open(browser, `${server.url}/jobs`);
    await seen.page.locator('[data-testid="work-row"] [data-doing="Queued"]').waitFor();
    await shoot(seen, 'job-waits');
    const overview = await WatchedPage.open(browser, `${server.url}/now/charts`);
    await overview.page.locator('[data-testid="job-row"] [data-doing="Queued"]').waitFor();
    await server.cancel(job);
    for (const row of ['job-row', 'function-row']) await overview.at(row).filter({ hasText: '1 of 1 ended' }).filter({ hasText: '1 cancelled' }).waitFor();
    assert.deepEqual([...seen.faults, ...overview.faults], []);
  });
});

test('a value that is a blob has the size of the blob and downloads it', async () => {
  await withServer([], async (server) => {
    server.worker(0);
    const large = Buffer.alloc(1_500_000, 7);
    const name = await server.putBlob(large);
    const job = await server.submitAll('values', [
      { function: 'muster.echo', args: [{ $blob: name, bytes: large.length }], display_name: 'load.shard' },
      { function: 'muster.echo', args: ['x'.repeat(20_000)], display_name: 'load.text' },
    ]);
    const seen = await WatchedPage.open(browser, `${server.url}/values`);
    await seen.at('holder').filter({ hasText: '1.5 MB as blobs' }).waitFor();
    await seen.at('sort-size').click();
    // The first click sorts by size, descending.
    await seen.at('values-row').first().filter({ hasText: '1.5 MB' }).waitFor();
    await shoot(seen, 'values-blob');
    await seen.at('values-row').first().click({ position: { x: 6, y: 15 } });
    await seen.page.locator('#value', { hasText: '1.5 MB' }).waitFor();
    const [download] = await Promise.all([seen.page.waitForEvent('download'), seen.at('download').click()]);
    assert.equal(statSync(await download.path()).size, large.length);
    await shoot(seen, 'value-blob');

    const overview = await WatchedPage.open(browser, `${server.url}/now/charts`);
    await overview.at('function-row', '[data-function="load.shard"]').filter({ hasText: '1 of 1' }).waitFor();
    assert.equal(await overview.at('function-row').count(), 2, 'by their names, and nothing that was never called');
    await overview.page.locator(`[data-testid="job-row"][data-job="${job}"] [data-doing="Succeeded"]`).waitFor();
    assert.deepEqual([...seen.faults, ...overview.faults], []);
  });
});
