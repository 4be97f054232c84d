// The page Queue: the next entries to start, and the reasons why they wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

let cluster;
const { visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2');
});

/** Opens the first page, and counts the clicks that follow. */
async function fromNow(options) {
  const seen = await visitor('/now', options);
  let clicks = 0;
  const click = async (locator) => {
    await locator.click();
    ++clicks;
  };
  await seen.navigate('Queue', '', click);
  await seen.at('queue-head').waitFor();
  return { seen, click, clicks: () => clicks };
}

const entry = (seen, name) => seen.at('queue-entry', `[data-name="${name}"]`);
const places = (seen) => seen.page.$$eval('[data-testid="queue-entry"]', (rows) => rows.map((row) => [row.dataset.name, row.dataset.position]));

test('an empty queue shows how to fill it', async () => {
  const { seen } = await fromNow();
  await seen.reads('queue-head', /Nothing waits for a worker/);
  await seen.reads('queue-empty', /muster submit muster\.sleep/);
});

test('what runs next takes one click', async () => {
  const sleep = { function: 'muster.sleep', args: [600_000] };
  const busy = await cluster.submitAll('busy', [sleep, sleep, sleep, sleep]);
  const next = await cluster.submitAll('nightly', [
    { function: 'muster.noop' },
    { function: 'muster.noop' },
    { function: 'muster.echo', args: [1], options: { priority: 5 } },
    { function: 'muster.echo', args: [1], options: { labels: { zone: 'mars' } } },
  ]);
  const { seen, clicks } = await fromNow();
  await seen.reads('queue-head', /^4 closures wait for a worker\. 3 start when slots become free\. No connected worker can run 1\.$/);
  assert.deepEqual(await places(seen), [
    ['muster.echo', '1'],
    ['muster.noop', '2'],
    ['muster.echo', ''],
  ]);
  const noop = entry(seen, 'muster.noop');
  assert.match(await noop.innerText(), /2 closures of muster\.noop in nightly, the oldest submitted/);
  assert.match(await noop.locator('[data-testid="queue-wanted"]').innerText(), /^2 wanted, 0 free on 2 workers with 4 slots$/);
  assert.match(await noop.locator('[data-testid="queue-why"]').innerText(), /2 workers with 'muster\.noop' are busy/);
  assert.equal(clicks(), 1);
  await cluster.cancel(busy);
  await cluster.cancel(next);
});

test('why work does not run yet takes at most two clicks', async () => {
  const job = await cluster.submitAll('needs mars', [{ function: 'muster.noop', options: { labels: { zone: 'mars' } } }]);
  const gang = await cluster.submitAll('big', Array.from({ length: 20 }, () => ({ function: 'muster.echo', args: [1], options: { gang: 'g' } })));
  const program = await cluster.program({ name: 'train', command: ['true'], tasks: { worker: 3 } });
  const { seen, click, clicks } = await fromNow();
  const text = async (name, part) => entry(seen, name).locator(`[data-testid="queue-${part}"]`).innerText();
  await entry(seen, 'g').waitFor();
  assert.match(await text('g', 'wanted'), /^20 wanted, 4 free/);
  assert.match(await text('g', 'why'), /no room for the 20 closures/);
  assert.match(await text('muster.noop', 'why'), /none has the label zone=mars/);
  assert.match(await text(program, 'wanted'), /^3 wanted, 0 free/);
  assert.match(await text(program, 'why'), /no worker that runs programs is connected/);
  assert.equal(clicks(), 1);
  await click(entry(seen, 'muster.noop').locator('[data-testid="queue-details"]'));
  await seen.reads('queue-facts', /zone=mars/);
  assert.match(await seen.at('queue-facts').innerText(), /Matching workers\s+0/);
  assert.equal(clicks(), 2);
  await seen.page.reload(); // the address contains the open entry
  await seen.reads('queue-facts', /zone=mars/);
  for (const id of [job, gang]) await cluster.cancel(id);
  await fetch(`${cluster.url}/api/v1/programs/${program}/cancel`, { method: 'POST' });
  await seen.reads('queue-head', /Nothing waits/);
});

test('rows of the queue grow on a phone', async () => {
  const job = await cluster.submitAll('a job with a long name '.repeat(6), [{ function: 'muster.noop', options: { labels: { zone: 'a-long-label-'.repeat(8) } } }]);
  const seen = await visitor('/queue', { viewport: { width: 390, height: 844 } });
  await entry(seen, 'muster.noop').waitFor();
  assert.equal(await seen.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  await cluster.cancel(job);
});
