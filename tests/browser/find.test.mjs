// Counts the clicks of frequent tasks from the overview: find why a job waits, which closures failed
// and which values use memory; cancel and retry a job.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

const MANY = 50_000;
const FAILED = 43_217;
let cluster;

const { open } = onStage(async (made) => {
  cluster = made;
  await cluster.serve('--torch', '127.0.0.1:0');
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2');
});

/** Opens a page that counts clicks. */
async function visitor(path = '/now/charts') {
  const seen = await open(path);
  let clicks = 0;
  const click = async (locator) => {
    await locator.click();
    ++clicks;
  };
  return { seen, click, clicks: () => clicks };
}

const jobOnCharts = (seen, id) => seen.at('job-row', `[data-job="${id}"]`).locator('a');
const reading = (seen, id) => seen.page.locator(`[data-testid="job"][data-job="${id}"]`).waitFor();

test('finding why a closure waits takes two clicks', async () => {
  const id = await cluster.submitAll('nobody has it', [{ function: 'muster.echo', args: [1], options: { labels: { zone: 'mars' } } }]);
  const { seen, click, clicks } = await visitor();
  await click(jobOnCharts(seen, id));
  await click(seen.at('closures-row').first());
  await seen.reads('why', /Queued for .*zone=mars/);
  assert.equal(clicks(), 2);
  await cluster.cancel(id);
  await seen.at('closure', '[data-state="CANCELLED"]').waitFor();
});

test('finding the error of one of 50,000 closures takes three clicks', async () => {
  const closures = Array.from({ length: MANY }, (_, n) => (n === FAILED ? { function: 'muster.fail', args: ['no such column: price\nat row 7'] } : { function: 'muster.noop' }));
  const id = await cluster.submitAll('many', closures, { on_error: 'continue' });
  const { seen, click, clicks } = await visitor();
  await click(jobOnCharts(seen, id));
  await seen.at('job', '[data-state="FAILED"]').waitFor();
  await click(seen.at('state-FAILED'));
  await seen.page.waitForFunction(() => document.querySelectorAll('[data-testid="closures-row"]').length === 1);
  await click(seen.at('closures-row'));
  await seen.at('inspector').filter({ hasText: `muster.fail #${FAILED.toLocaleString('en')}` }).waitFor();
  await seen.reads('traceback', /at row 7/);
  assert.equal(clicks(), 3);
  await seen.page.goBack();
  await seen.page.waitForURL(/state=FAILED/);
});

test('the filter and the page of a job are in its URL', async () => {
  const id = await cluster.submit('muster.noop', [], 1000, 'deep');
  const { seen } = await visitor(`/runs/${id}`);
  await seen.reads('count-line', /1 to 100/);
  for (const range of [/101 to 200/, /201 to 300/]) {
    await seen.at('next-page').click();
    await seen.reads('count-line', range);
  }
  await seen.page.reload();
  await seen.reads('count-line', /201 to 300/);
  await seen.page.locator('#closures-row-0', { hasText: '200' }).waitFor();
  await seen.at('first-page').click();
  await seen.reads('count-line', /1 to 100/);
});

test('cancelling a job takes two clicks, and Esc aborts it', async () => {
  const id = await cluster.submit('muster.sleep', [600_000], 3, 'too long');
  const { seen, click, clicks } = await visitor(`/runs/${id}`);
  await reading(seen, id);
  await seen.at('cancel-job').focus();
  await seen.page.keyboard.press('Enter');
  await seen.at('question').waitFor();
  await seen.page.keyboard.press('Escape');
  await seen.at('question').waitFor({ state: 'detached' });
  assert.equal(await seen.page.evaluate(() => document.activeElement?.dataset.testid), 'cancel-job');
  await click(seen.at('cancel-job'));
  await click(seen.at('question-yes'));
  await seen.at('job', '[data-state="CANCELLED"]').waitFor();
  assert.equal(clicks(), 2);
});

test('the keyboard leads to a job, to its third closure, and back', async () => {
  const id = await cluster.submit('muster.noop', [], 5, 'keys');
  const { seen } = await visitor();
  await seen.reads('conn-state', /live/i);
  await seen.page.keyboard.press('g');
  await seen.page.keyboard.press('j');
  await seen.at('work-row', `[data-run="${id}"]`).waitFor();
  await seen.at('select-page').focus();
  await seen.page.keyboard.press('ArrowDown'); // the newest
  await seen.page.keyboard.press('Enter');
  await reading(seen, id);
  await seen.at('closures-row').first().waitFor();
  await seen.at('closures-list').focus();
  for (let n = 0; n < 3; ++n) await seen.page.keyboard.press('ArrowDown');
  await seen.page.keyboard.press('Enter');
  await seen.page.waitForFunction(() => /^(\(\d+\) )?muster\.noop #2/.test(document.title));
  await seen.page.goBack();
  await reading(seen, id);
});

test('a search on one page does not filter another', async () => {
  const { seen } = await visitor('/fleet');
  await seen.at('task-row', '[data-task="worker:1"]').waitFor();
  await seen.page.locator('.find input').fill('worker:1');
  await seen.at('task-row', '[data-task="worker:0"]').waitFor({ state: 'detached' });
  await seen.page.waitForURL(/\?q=worker/);
  await seen.navigate('Explore', 'Events');
  assert.equal(await seen.page.locator('.find input').inputValue(), '');
  await seen.page.goBack();
  await seen.page.goBack();
  await seen.at('task-row', '[data-task="worker:1"]').waitFor();
  assert.equal(await seen.page.locator('.find input').inputValue(), 'worker:1');
  assert.equal(await seen.at('task-row').count(), 1);
});

test('an unknown cluster is reported', async () => {
  const { seen } = await visitor('/fleet?cluster=nowhere');
  await seen.page.locator('#no-cluster', { hasText: 'There is no cluster nowhere' }).waitFor();
  await seen.at('clusters').locator('a').first().click();
  await seen.at('task-row').first().waitFor();
});

test('ended jobs are not requested again', async () => {
  const id = await cluster.submit('muster.noop', [], 3, 'over');
  const { seen } = await visitor(`/runs/${id}`);
  await seen.at('job', '[data-state="SUCCEEDED"]').waitFor();
  await seen.at('closures-row').first().waitFor();
  await seen.page.waitForTimeout(2500); // the last request may still be in flight
  const asked = [];
  seen.page.on('request', (request) => asked.push(request.url()));
  await seen.page.waitForTimeout(4000);
  assert.deepEqual(asked, []);
});

test('finding the job with the most memory takes two clicks', async () => {
  const id = await cluster.submitAll('the large one', [{ function: 'muster.echo', args: ['x'.repeat(300_000)] }]);
  const { seen, click, clicks } = await visitor();
  await seen.navigate('Explore', 'Remote values', click);
  await seen.at('holder').first().waitFor();
  assert.equal(await seen.at('holder').first().getAttribute('data-job'), id);
  await seen.page.locator('[data-testid="holder"] b', { hasText: '300 KB' }).waitFor();
  assert.equal(clicks(), 2);
  await click(seen.at('holder-values').first());
  await seen.page.waitForURL(new RegExp(`job=${id}.*sort=size`));
  // The row, not the link to the job in its middle.
  await seen.at('values-row').first().click({ position: { x: 6, y: 15 } });
  await seen.page.waitForFunction(() => document.title.includes('muster.echo #0 '));
  await seen.reads('value', /xxx/);
});

test('retrying a job takes one click and opens the new job', async () => {
  const id = await cluster.submitAll('to be retried', [{ function: 'muster.fail', args: ['again'] }, { function: 'muster.noop' }], { on_error: 'continue' });
  const { seen, click, clicks } = await visitor(`/runs/${id}`);
  await seen.at('job', '[data-state="FAILED"]').waitFor();
  await click(seen.at('retry-job'));
  await seen.page.waitForFunction((old) => document.querySelector('[data-testid="job"]') && document.querySelector('[data-testid="job"]').dataset.job !== old, id);
  await seen.page.locator('#job', { hasText: 'to be retried' }).waitFor();
  await seen.page.locator(`.facts-line a[title="${id}"]`).waitFor();
  await seen.reads('job-progress', /1 of 1/);
  assert.equal(clicks(), 1);
});

test('machines are shown with the tasks and link to their workers', async () => {
  const { seen, click, clicks } = await visitor('/fleet');
  await seen.at('machines', ' [data-machine="server"]').waitFor();
  const row = seen.at('machines', ' [data-machine="worker:1"]');
  await row.filter({ hasText: / of .*% of / }).waitFor();
  await click(row.locator('a'));
  await seen.page.waitForURL(/fleet\/worker(:|%3A)1/);
  await seen.at('machines', ' [data-machine="worker:1"] path[d^="M"]').first().waitFor({ state: 'attached' });
  assert.equal(clicks(), 1);
});

// A client of torch 1.13: SET is 0, WAIT is 5; lengths have eight bytes.
test('the rank that a program of PyTorch waits for is named', async () => {
  const length = (n) => Buffer.from(new BigUint64Array([BigInt(n)]).buffer);
  const text = (word) => Buffer.concat([length(word.length), Buffer.from(word)]);
  const { torch_address: at } = await (await fetch(`${cluster.url}/api/v1/clusters/default`)).json();
  const rank = connect(Number(at.split(':').pop()), '127.0.0.1');
  rank.write(Buffer.concat([Buffer.from([0]), text('/default_pg/0//cpu//0/0'), text('address'), Buffer.from([5]), length(1), text('/default_pg/0//cpu//0/1')]));
  try {
    const { seen } = await visitor('/fleet');
    await seen.reads('torch-missing', /Rank 1 is missing/);
    await seen.reads('torch-waits', /cpu\/\/0\/1/);
    await seen.reads('torch-ranks', /connected/);
  } finally {
    rank.destroy();
  }
});
