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

async function withAgents(count, body) {
  const server = new Cluster();
  const agents = [];
  try {
    await server.serve();
    const { address } = await server.declare('train', { worker: count });
    for (let task = 0; task < count; ++task) agents.push(new Agent(address, task));
    await Promise.all(agents.map((agent) => agent.register()));
    await body(server, agents);
  } finally {
    for (const agent of agents) agent.end();
    server.end();
  }
}

test('a server with only agents shows its tasks', async () => {
  await withAgents(3, async (server) => {
    const seen = await WatchedPage.open(browser, `${server.url}/now/charts`);
    await seen.counts('key-tasks', 3);
    await seen.reads('key-tasks', /of 3/);
    const now = await WatchedPage.open(browser, `${server.url}/now`);
    await now.at('cluster-row', '[data-cluster="train"][data-state="RUNNING"]').waitFor();
    assert.deepEqual(now.faults, []);
    await seen.reads('map-legend', /Connected 3/);
    assert.equal(await seen.at('empty').count(), 0, 'no message that no task has joined');
    await seen.at('cluster-map').focus();
    await seen.page.keyboard.press('ArrowRight');
    await seen.page.getByRole('tooltip').filter({ hasText: 'worker:0' }).waitFor();
    await seen.at('cluster-choice', '[data-cluster="default"]').click();
    await seen.page.waitForURL(/cluster=default/);
    await seen.reads('map-legend', /Connected 0/);
    await seen.page.goBack();
    await seen.reads('map-legend', /Connected 3/);
    await seen.page.screenshot({ path: join(shots, 'overview-agents.png') });
    assert.deepEqual(seen.faults, []);
  });
});

test('a task that always arrives last is named', async () => {
  await withAgents(3, async (server, agents) => {
    for (let step = 0; step < 5; ++step) {
      const first = [agents[0], agents[1]].map((agent) => agent.barrier(`step/${step}`, 60_000));
      await server.arrived('train', `step/${step}`, 2);
      await Promise.all([...first, agents[2].barrier(`step/${step}`, 60_000)]);
    }
    const seen = await WatchedPage.open(browser, `${server.url}/stragglers?cluster=train`);
    await seen.reads('verdict', /worker.*2.* arrived last at 5 of the last 5 barriers/);
    await seen.page.waitForFunction(() => document.querySelectorAll('[data-testid="late-barriers-row"]').length === 5);
    assert.match(await seen.at('late-tasks-row').first().textContent(), /^worker:2/);
    await seen.page.screenshot({ path: join(shots, 'stragglers.png') });
    assert.deepEqual(seen.faults, []);
  });
});

test('a cluster of agents has a timeline of runs, agents, barriers and failures', async () => {
  await withAgents(3, async (server, agents) => {
    for (let step = 0; step < 3; ++step) await Promise.all(agents.map((agent) => agent.barrier(`step/${step}`, 60_000)));
    const seen = await WatchedPage.open(browser, `${server.url}/tasks?cluster=train`);
    const timeline = seen.at('run-timeline');
    await timeline.waitFor();
    await seen.page.waitForFunction(() => Number(document.querySelector('[data-testid="run-timeline"]').dataset.barriers) >= 3);
    await timeline.focus();
    await seen.page.keyboard.press('ArrowDown');
    await seen.reads('run-at', /worker:1.* run 1, running/);
    const failed = await fetch(`${server.url}/api/v1/clusters/train/fail`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ message: 'the storage is gone' }) });
    assert.equal(failed.status, 200, await failed.text());
    await seen.page.waitForFunction(() => Number(document.querySelector('[data-testid="run-timeline"]').dataset.marks) > 0);
    await seen.at('run-happened').click();
    await seen.reads('run-happened', /the storage is gone/);
    await seen.page.screenshot({ path: join(shots, 'agents-timeline.png'), fullPage: true });
    assert.deepEqual(seen.faults, []);
  });
});

test('a barrier is cancelled after a confirmation', async () => {
  await withAgents(3, async (server, agents) => {
    const ended = agents[0].barrier('stuck', 60_000).then(
      () => 'passed',
      () => 'failed',
    );
    const seen = await WatchedPage.open(browser, `${server.url}/barriers?cluster=train`);
    await seen.at('barrier-cancel').click();
    await seen.at('question').waitFor();
    await seen.page.keyboard.press('Escape');
    await seen.at('question').waitFor({ state: 'detached' });
    await seen.at('barrier', '[data-barrier="stuck"]').waitFor();
    await seen.at('barrier-cancel').click();
    await seen.at('question-yes').click();
    await seen.at('ended-row', '[data-barrier="stuck"][data-state="FAILED"]').waitFor();
    assert.equal(await ended, 'failed');
    assert.deepEqual(seen.faults, []);
  });
});
