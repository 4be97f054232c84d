import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Agent } from './agent.mjs';
import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
let browser;

before(async () => {
  mkdirSync(shots, { recursive: true });
  browser = await launch();
});
after(() => browser.close());

/** Starts a server with a declared cluster of three registered tasks. */
async function withAgents(body) {
  const server = new Cluster();
  const agents = [];
  try {
    await server.serve();
    const { address } = await server.declare('train', { worker: 3 });
    for (let task = 0; task < 3; ++task) agents.push(new Agent(address, task));
    await Promise.all(agents.map((agent) => agent.register()));
    await body(server, agents);
  } finally {
    for (const agent of agents) agent.end();
    server.end();
  }
}

async function picture(seen, name) {
  for (const theme of ['light', 'dark']) {
    await seen.at(`theme-${theme}`).click();
    await seen.page.screenshot({ path: join(shots, `${name}-${theme}.png`) });
  }
}

test('a barrier shows missing tasks, and then that it has passed', async () => {
  await withAgents(async (server, agents) => {
    const seen = await WatchedPage.open(browser, `${server.url}/barriers?cluster=train`);
    const arrived = [agents[0].barrier('epoch/1', 60_000)];
    const row = seen.at('barrier', '[data-barrier="epoch/1"]');
    await row.waitFor();
    assert.match(await row.textContent(), /1 of 3 arrived, worker:1 and worker:2 missing/);
    await seen.reads('missing', /worker:1/);
    await seen.reads('missing', /worker:2/);
    arrived.push(agents[2].barrier('epoch/1', 60_000));
    await seen.reads('barrier', /2 of 3 arrived, worker:1 missing/);
    assert.equal(await seen.at('missing').count(), 1);
    await picture(seen, 'barriers');
    arrived.push(agents[1].barrier('epoch/1', 60_000));
    await Promise.all(arrived);
    await seen.at('ended-row', '[data-barrier="epoch/1"][data-state="PASSED"]').waitFor();
    await row.waitFor({ state: 'detached' });
    assert.deepEqual(seen.faults, []);
  });
});

test('agents are listed with the barrier or key that they wait for', async () => {
  await withAgents(async (server, agents) => {
    const seen = await WatchedPage.open(browser, `${server.url}/tasks?cluster=train`);
    const row = (task) => seen.at('agents-row', `[data-task="worker:${task}"]`);
    await row(0).waitFor();
    assert.equal(await seen.at('agents-row').count(), 3);
    const waiting = agents[1].barrier('step', 60_000).catch(() => {});
    await row(1).filter({ hasText: 'waiting for barrier step' }).waitFor();
    await picture(seen, 'agents');
    await seen.navigate('Explore', 'Events');
    await seen.at('events-row').first().waitFor();
    await picture(seen, 'events');
    assert.match(seen.page.url(), /\/explore\/events\?cluster=train$/);
    await seen.page.goBack();
    await seen.page.goBack();
    await row(0).waitFor();
    assert.deepEqual(seen.faults, []);
    for (const agent of agents) agent.end();
    await waiting;
  });
});

test('a key written over REST is shown', async () => {
  await withAgents(async (server) => {
    const seen = await WatchedPage.open(browser, `${server.url}/kv?cluster=train`);
    const hostile = '<img src=x onerror=alert(1)>';
    await server.put('train', 'config/mesh', '{"shape":[2,4]}');
    await server.put('train', hostile, hostile);
    await seen.at('key', `[data-key="${hostile}"]`).click();
    await seen.reads('value', hostile);
    assert.equal(await seen.page.locator('img[src="x"]').count(), 0);
    await seen.at('folder', '[data-prefix="config/"]').click();
    await seen.at('key', '[data-key="config/mesh"]').click();
    await seen.reads('value', /shape: \[/);
    await picture(seen, 'kv');
    await seen.at('look-hex').click();
    await seen.reads('value', /^00000000 {2}7b 22/);
    assert.deepEqual(seen.faults, []);
  });
});
