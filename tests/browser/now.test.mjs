// The first page under several faults at the same time: it fits the screen, and each cause and each
// number is one click away from its details.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { Agent } from './agent.mjs';
import { onStage } from './stage.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
const DESK = { viewport: { width: 1440, height: 900 } };
const PHONE = { viewport: { width: 390, height: 844 } };
let cluster;
const agents = [];

const fail = (message) => ({ function: 'muster.fail', args: [message] });
const wants = (resources, more = {}) => ({ function: 'muster.noop', options: { resources, ...more } });

const { open, visitor } = onStage(async (made) => {
  cluster = made;
  mkdirSync(shots, { recursive: true });
  await cluster.serve();
  for (const index of [0, 1, 2]) cluster.worker(index, '--slots', '2');
  const { address } = await cluster.declare('train', { worker: 3 }, { stuck_after: '1s' });
  await cluster.declare('batch', { worker: 2 });
  agents.push(...[0, 1, 2].map((task) => new Agent(address, task)));
  await Promise.all(agents.map((agent) => agent.register()));
  agents[0].barrier('checkpoint', 900_000).catch(() => {});
  // Two jobs fail one after the other with the same error, and one with another error.
  for (const [name, message] of [['etl-1', 'disk is full'], ['etl-2', 'disk is full'], ['report', 'no such column: price']]) {
    const id = await cluster.submitAll(name, [fail(message), fail(message)], { on_error: 'continue' });
    await cluster.get(`/api/v1/jobs/${id}/join`);
  }
  await cluster.submitAll('hungry', Array.from({ length: 34 }, () => wants({ gpu: 4 })));
  await cluster.submitAll('nowhere', [{ function: 'no.such', args: [] }]);
  await cluster.submitAll('gang', Array.from({ length: 20 }, () => ({ function: 'muster.noop', options: { gang: 'g' } })));
  await cluster.submitAll('long', Array.from({ length: 4 }, () => ({ function: 'muster.sleep', args: [600_000] })));
  await cluster.program({ name: 'huge', command: ['true'], tasks: { worker: { min: 1, max: 1, resources: { gpu: 8 } } } });
  await cluster.killWorker(2);
});
after(() => {
  for (const agent of agents) agent.end();
});

/** Opens the first page, and waits until all faults are shown. */
async function faulty(options) {
  const seen = await visitor('/now', options);
  await seen.reads('verdict', /3 jobs failed/);
  await seen.reads('verdict', /55 closures cannot start/);
  await seen.reads('verdict', /lost|error/);
  await seen.reads('now-failed', /6 closures/);
  return seen;
}

const bottom = (seen) => seen.page.evaluate(() => Math.ceil(Math.max(...[...document.querySelectorAll('main .panel')].map((e) => e.getBoundingClientRect().bottom + scrollY))));

test('everything fits one screen of a desk and two of a phone', async () => {
  for (const [name, options, most] of [['desk', DESK, 900], ['phone', PHONE, 2 * 844]]) {
    const seen = await faulty(options);
    assert.ok((await seen.at('attention-item').count()) >= 3);
    await seen.at('cluster-row').first().waitFor();
    for (const theme of ['light', 'dark']) {
      await seen.page.emulateMedia({ colorScheme: theme });
      await seen.page.waitForTimeout(300);
      await seen.page.screenshot({ path: join(shots, `now-${name}-${theme}.png`), fullPage: true });
    }
    const height = await bottom(seen);
    assert.ok(height <= most, `${name}: ${height} px are more than ${most}`);
    assert.equal(await seen.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${name} scrolls sideways`);
  }
});

test('each phrase of the verdict is one click away from the objects that it counts', async () => {
  for (const [phrase, address, shown] of [
    ['3 jobs failed', /\/work\?.*state=FAILED/, (seen) => seen.page.locator('main', { hasText: 'etl-2' })],
    ['55 closures cannot start', /\/queue/, (seen) => seen.page.locator('main', { hasText: 'gpu=4' })],
    [/worker:2 is lost|worker lost/, /\/fleet\/worker:2/, (seen) => seen.page.locator('main', { hasText: 'worker:2' })],
  ]) {
    const seen = await faulty(DESK);
    await seen.at('verdict').locator('a', { hasText: phrase }).click();
    await seen.page.waitForURL(address);
    await shown(seen).first().waitFor();
  }
});

test('each number is true and leads to its list', async () => {
  const seen = await faulty(DESK);
  await seen.reads('now-running', /4 closures/);
  // 34 want gpu=4, 20 are a gang, and one needs a function that no worker has.
  await seen.reads('now-waiting', /55 closures/);
  await seen.reads('now-waiting', /34: no worker has gpu=4/);
  await seen.reads('now-failed', /3 jobs/);
  for (const [id, address] of [['now-running', /\/work\?state=UNFINISHED/], ['now-waiting', /\/queue$/], ['now-failed', /\/work\?state=FAILED/]]) {
    await seen.at(id).click();
    await seen.page.waitForURL(address);
    await seen.page.goBack();
  }
});

test('alerts with one cause share a row, which names the newest and retries all', async () => {
  const seen = await faulty(DESK);
  await seen.at('alerts-more').click();
  const fold = seen.at('attention-item', '[data-kind="job-failed"]').filter({ hasText: 'disk is full' });
  await fold.filter({ hasText: 'Job etl-2 failed' }).filter({ hasText: 'and 1 more with this cause' }).waitFor();
  assert.equal(await fold.count(), 1);
  await fold.locator('[data-testid=fold-more]').click();
  await fold.locator('.fold a', { hasText: 'Job etl-1 failed' }).waitFor();
  const before = (await cluster.get('/api/v1/jobs')).jobs;
  await fold.locator('[data-testid=retry-all]').click();
  const made = await cluster.newJobs(before, 2);
  assert.deepEqual(made.map((job) => job.name).sort(), ['etl-1', 'etl-2']);
});

test('the list of alerts is short until the user asks for the rest', async () => {
  const seen = await faulty(DESK);
  const few = await seen.at('attention-item').count();
  const all = Number(await seen.at('attention').getAttribute('data-count'));
  assert.ok(all > few, `${all} alerts, ${few} shown`);
  await seen.reads('alerts-more', new RegExp(`^${all - few} more$`));
  await seen.at('alerts-more').click();
  assert.equal(await seen.at('attention-item').count(), all);
});

test('the timeline marks starts and failures of the last 15 minutes', async () => {
  const seen = await faulty(DESK);
  await seen.page.waitForFunction(() => {
    const [starts, failures] = document.querySelector('[data-testid="now-timeline"]').dataset.marks.split(' ').map(Number);
    return starts >= 7 && failures >= 4; // the jobs; three failures and a lost worker
  });
  await seen.at('now-timeline').locator('.uplot canvas').waitFor();
});

test('charts, map and details are one click away', async () => {
  const seen = await open('/now', DESK);
  await seen.page.locator('.tabs a', { hasText: 'Charts' }).click();
  await seen.page.waitForURL(/\/now\/charts/);
  for (const id of ['key-tasks', 'cluster-map', 'chart-throughput', 'task-row']) await seen.at(id).first().waitFor();
});
