// Numbers on the dashboard that change with an action or over time; invariant.serial.test.mjs compares all others with REST.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Agent } from './agent.mjs';
import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
let browser;
let server;
const agents = [];

before(async () => {
  mkdirSync(shots, { recursive: true });
  browser = await launch();
  server = new Cluster();
  await server.serve();
  server.worker(0);
});
after(async () => {
  for (const agent of agents) agent.end();
  server?.end();
  await browser?.close();
});

const open = (path) => WatchedPage.open(browser, server.url + path);
const ENDED = ['SUCCEEDED', 'FAILED', 'CANCELLED'];

async function ended(id) {
  await server.get(`/api/v1/jobs/${id}/join?timeout=30s`);
  const job = await server.get(`/api/v1/jobs/${id}`);
  assert.ok(ENDED.includes(job.state), job.state);
  return job;
}

const fail = (message) => ({ function: 'muster.fail', args: [message] });
const sleep = (time) => ({ function: 'muster.sleep', args: [time] });

test('navigation, filter, rows and REST count the same failed jobs', async () => {
  for (const name of ['night-1', 'night-2', 'night-3', 'night-4']) await ended(await server.submitAll(name, [fail('disk is full')]));
  const { jobs, counts } = await server.get('/api/v1/jobs?state=FAILED');
  const failed = counts.jobs.failed + counts.sessions.failed;
  assert.equal(jobs.length, failed);
  const list = await open('/work?state=FAILED');
  await list.at('state-FAILED').filter({ hasText: new RegExp(`^failed ${failed}$`) }).waitFor();
  await list.at('rail-failed').filter({ hasText: new RegExp(`^${failed}$`) }).waitFor();
  await list.at('work-row', '[data-state="FAILED"]').nth(failed - 1).waitFor();
  assert.equal(await list.at('work-row').count(), failed);

  // Grouped by cause: the newest is named, and one button retries all.
  const overview = await open('/');
  const fold = overview.at('attention-item', '[data-kind="jobs-failed"]').filter({ hasText: 'Job night-4 and 3 more jobs failed' });
  await fold.filter({ hasText: 'disk is full' }).waitFor();
  await overview.page.screenshot({ path: join(shots, 'failed-jobs-folded.png') });
  const before = (await server.get('/api/v1/jobs')).jobs;
  await fold.locator('[data-testid="retry-all"]').click();
  // The row does not stay as it is, because the new jobs fail at once, too.
  const made = await server.newJobs(before, 4);
  assert.deepEqual(made.map((job) => job.name).sort(), ['night-1', 'night-2', 'night-3', 'night-4']);
  assert.deepEqual([...list.faults, ...overview.faults], []);
});

test('a new alert is announced politely', async () => {
  const overview = await open('/');
  await overview.reads('conn-state', /live/i);
  await overview.at('verdict').waitFor();
  const region = overview.page.locator('[role="status"]', { hasText: 'New alert' });
  await ended(await server.submitAll('announced', [fail('a cause of its own')]));
  await region.filter({ hasText: 'announced' }).waitFor({ state: 'attached' });
  assert.deepEqual(overview.faults, []);
});

test('rows and histogram show short durations in microseconds', async () => {
  const noops = await ended(await server.submitAll('noops', Array.from({ length: 200 }, () => ({ function: 'muster.noop', args: [] }))));
  const page = await open(`/runs/${noops.id}`);
  const labels = () => page.page.locator('.histogram-at span').allInnerTexts();
  await page.at('histogram').waitFor();
  const shown = await labels();
  assert.ok(shown.length <= 7, `every third bin has a label: ${shown}`);
  assert.equal(new Set(shown).size, shown.length, `${shown}`);
  await page.page.screenshot({ path: join(shots, 'durations-us.png') });
  assert.deepEqual(page.faults, []);
});

test('a barrier page shows arrival times, and the timeline shows awaited tasks', async () => {
  const { address } = await server.declare('train', { worker: 3 });
  for (let task = 0; task < 3; ++task) agents.push(new Agent(address, task));
  await Promise.all(agents.map((agent) => agent.register()));
  const ends = [];
  for (const task of [2, 0]) {
    ends.push(agents[task].barrier('epoch/1', 60_000));
    await server.arrived('train', 'epoch/1', ends.length);
  }
  const page = await open('/agreement?cluster=train');
  await page.at('arrived').nth(1).waitFor();
  const { arrivals, missing } = await server.get('/api/v1/clusters/train/barriers/epoch%2F1');
  const short = (name) => name.replace(/^\/job:(.*)\/task:(\d+)$/, '$1:$2');
  const told = arrivals.map((a) => [short(a.task), a.came_ms]).sort((a, b) => a[1] - b[1]);
  const shown = await page.at('arrived').evaluateAll((all) => all.map((li) => [li.querySelector('code').textContent, Number(li.dataset.came)]));
  assert.deepEqual(shown, told);
  assert.deepEqual(told.map(([name]) => name), ['worker:2', 'worker:0']);
  assert.equal(await page.page.locator('[data-testid="members"] [data-testid="dot"]').count(), 3);
  assert.equal(await page.page.locator('[data-testid="members"] .is-there').count(), 2);
  assert.deepEqual(await page.at('missing').locator('code').allInnerTexts(), missing.map((m) => short(m.task)));
  await page.page.screenshot({ path: join(shots, 'barrier-members.png') });

  const tasks = await open('/fleet?cluster=train');
  await tasks.at('run-timeline', '[data-waits="2"][data-awaited="worker:1"]').waitFor();
  await tasks.at('run-legend').filter({ hasText: 'waiting for the others' }).filter({ hasText: 'the others wait for it' }).waitFor();
  assert.deepEqual(await tasks.page.locator('.run-names span').allInnerTexts(), ['worker:0 · 127.0.0.1', 'worker:1', 'worker:2']);
  await tasks.page.screenshot({ path: join(shots, 'timeline-waits.png') });
  ends.push(agents[1].barrier('epoch/1', 60_000));
  await Promise.all(ends);
  await tasks.at('run-timeline', '[data-waits="0"]').waitFor();
  assert.deepEqual([...page.faults, ...tasks.faults], []);
});

test('going back restores the scroll position', async () => {
  const job = await ended(await server.submitAll('long', Array.from({ length: 60 }, () => ({ function: 'muster.noop', args: [] }))));
  const page = await open('/now/charts');
  await page.at('job-row', `[data-job="${job.id}"]`).waitFor();
  const y = await page.page.evaluate(() => {
    scrollTo(0, document.documentElement.scrollHeight);
    return Math.round(scrollY);
  });
  assert.ok(y > 100, `the page scrolls only by ${y} px`);
  await page.page.waitForFunction((at) => history.state?.y === at, y);
  await page.page.evaluate((id) => document.querySelector(`[data-testid="job-row"][data-job="${id}"] a`).click(), job.id);
  await page.at('job').waitFor();
  assert.equal(await page.page.evaluate(() => scrollY), 0, 'another page begins at its top');
  await page.page.goBack();
  await page.at('job-row').first().waitFor();
  await page.page.waitForFunction((at) => Math.round(scrollY) === at, y);
  assert.deepEqual(page.faults, []);
});
