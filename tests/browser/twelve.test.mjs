// Twelve frequent tasks of users, each with a limit on clicks. Typing is not a click.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';

import { Agent } from './agent.mjs';
import { onStage } from './stage.mjs';

const STEPS = 3;
let cluster;
let agents;

const { open, visitor: connected } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2');
  const { address } = await cluster.declare('train', { worker: 3 }, { stuck_after: '1s' });
  agents = [0, 1, 2].map((task) => new Agent(address, task));
  await Promise.all(agents.map((agent) => agent.register()));
  for (let step = 0; step < STEPS; ++step) {
    const first = [agents[0], agents[1]].map((agent) => agent.barrier(`step/${step}`, 60_000));
    await cluster.arrived('train', `step/${step}`, 2);
    await Promise.all([...first, agents[2].barrier(`step/${step}`, 60_000)]);
  }
});
after(() => {
  for (const agent of agents ?? []) agent.end();
});

/** Opens the overview, and returns a function that clicks and counts. */
async function visitor(most, options) {
  const seen = await connected('/', options);
  let clicks = 0;
  const click = async (locator) => {
    await locator.click();
    ++clicks;
    assert.ok(clicks <= most, `${clicks} clicks are more than ${most}`);
  };
  const rail = (entry, tab) => seen.navigate(entry, tab, click);
  const alert = (kind, about) => seen.at('attention-item', `[data-kind="${kind}"]`).filter({ hasText: about }).first();
  return { seen, click, rail, alert };
}

test('1. finding why a job failed takes three clicks', async () => {
  await cluster.submitAll('tokenize', [{ function: 'muster.noop' }, { function: 'muster.fail', args: ['no such column: price\nat row 7'] }], { on_error: 'continue' });
  const { seen, click, alert } = await visitor(3);
  await click(alert('job-failed', 'tokenize').locator('a').first());
  await click(seen.at('closures-row', '[data-state="FAILED"]'));
  await seen.reads('traceback', /at row 7/);
});

test('2. finding why a gang does not start takes two clicks', async () => {
  const id = await cluster.submitAll('many at once', Array.from({ length: 20 }, () => ({ function: 'muster.noop', options: { gang: 'g' } })));
  const { seen, click, alert } = await visitor(2);
  await click(alert('gang-unmet', '20 closures').locator('[data-testid=deed-explain]'));
  await seen.reads('explained', /no room for the 20 closures/);
  await cluster.cancel(id);
});

test('3. finding what a worker ran at a given time takes three clicks', async () => {
  const id = await cluster.submitAll('at a moment', [{ function: 'muster.sleep', args: [300] }]);
  await cluster.get(`/api/v1/jobs/${id}/join?timeout=30s`);
  const { closures } = await cluster.get(`/api/v1/jobs/${id}/closures`);
  const { started_ms: at, worker } = closures[0].attempts[0];
  const { seen, rail } = await visitor(3);
  await rail('Explore', 'Task stream');
  await seen.at('zone-UTC').waitFor();
  const clock = await seen.page.evaluate((ms) => new Date(ms).toTimeString().slice(0, 8), at);
  await seen.at('stream-at').fill(clock);
  await seen.page.waitForURL(/from=\d+&to=\d+/);
  const { searchParams } = new URL(seen.page.url());
  assert.ok(Number(searchParams.get('from')) <= at && at <= Number(searchParams.get('to')));
  await seen.page.locator('#visible-rows, [data-testid$="-row"]').filter({ hasText: worker }).filter({ hasText: 'muster.sleep' }).first().waitFor();
});

test('4. finding the largest value takes three clicks', async () => {
  const blob = await cluster.putBlob(Buffer.alloc(3_000_000, 7));
  await cluster.submitAll('large', [{ function: 'muster.echo', args: [{ $blob: blob, bytes: 3_000_000 }] }, { function: 'muster.echo', args: ['x'.repeat(500_000)] }]);
  const { seen, click, rail } = await visitor(3);
  await rail('Explore', 'Remote values');
  await seen.at('values-row').first().waitFor();
  await click(seen.at('sort-size'));
  await seen.page.waitForURL(/sort=size&order=desc/);
  await seen.at('values-row').first().filter({ hasText: '3.0 MB' }).waitFor();
});

test('5. finding the missing tasks of a barrier takes two clicks', async () => {
  const waits = [agents[0], agents[2]].map((agent) => agent.barrier('epoch', 600_000).catch(() => {}));
  await cluster.arrived('train', 'epoch', 2);
  const { seen, click, alert } = await visitor(2);
  await alert('barrier-stuck', 'epoch').waitFor();
  await click(alert('barrier-stuck', 'epoch').locator('[data-testid=attention-deed]'));
  await seen.at('missing').filter({ hasText: 'worker:1' }).waitFor();
  await agents[1].barrier('epoch', 60_000);
  await Promise.all(waits);
});

test('6. finding the straggler takes three clicks', async () => {
  const { seen, click, rail } = await visitor(3);
  await rail('Agreement', 'Stragglers');
  await click(seen.at('elsewhere').first().locator('button', { hasText: 'train (3)' }));
  await seen.reads('verdict', /worker:2.* arrived last/);
});

test('7. cancelling and retrying a job takes four clicks', async () => {
  const id = await cluster.submit('muster.sleep', [600_000], 2, 'too long');
  const { seen, click } = await visitor(4);
  await click(seen.at('job-row', `[data-job="${id}"]`).locator('a'));
  await click(seen.at('cancel-job'));
  await click(seen.at('question-yes'));
  await seen.at('job', '[data-state="CANCELLED"]').waitFor();
  await click(seen.at('retry-job'));
  await seen.page.waitForFunction((old) => document.querySelector('[data-testid="job"]') && document.querySelector('[data-testid="job"]').dataset.job !== old, id);
  await cluster.cancel(await seen.at('job').getAttribute('data-job'));
  await seen.at('job', '[data-state="CANCELLED"]').waitFor();
});

test('8. cordoning and uncordoning a worker takes three clicks', async () => {
  const { seen, click } = await visitor(3);
  await click(seen.at('task-row', '[data-task="worker:1"]').locator('a'));
  await click(seen.at('cordon'));
  await seen.reads('standing', /cordoned/);
  await click(seen.at('uncordon'));
  await seen.at('cordon').waitFor();
});

test('9. a shared link shows the same view', async () => {
  const { seen, rail } = await visitor(1);
  await rail('Work');
  await seen.at('state-FAILED').click();
  await seen.reads('count-line', /match/);
  const other = await open(seen.page.url().slice(cluster.url.length));
  await other.reads('count-line', /match/);
  assert.equal(await other.at('count-line').textContent(), await seen.at('count-line').textContent());
});

test('10. the dashboard recovers from a server restart without a click', async () => {
  const { seen } = await visitor(0);
  await seen.at('task-row').first().waitFor();
  seen.serverIsDown = true;
  await cluster.killServer();
  await seen.at('conn-state', '[data-state="reconnecting"]').waitFor();
  await cluster.serve();
  await seen.at('conn-state', '[data-state="live"]').waitFor();
  await seen.counts('key-tasks', 2);
});

test('11. downloading a trace takes three clicks', async () => {
  await cluster.submitAll('traced', [{ function: 'muster.sleep', args: [20] }]);
  const { seen, click, rail } = await visitor(3);
  await rail('Explore', 'Task stream');
  const link = seen.page.locator('#stream a[download]');
  const [download] = await Promise.all([seen.page.waitForEvent('download'), click(link)]);
  const { traceEvents } = JSON.parse(await readFile(await download.path(), 'utf8'));
  assert.ok(traceEvents.some(({ name }) => name === 'muster.sleep'));
});

test('12. on a phone, a failure is on the first screen and opens in two taps', async () => {
  await cluster.submitAll('nightly', [{ function: 'muster.fail', args: ['out of disk'] }], { on_error: 'continue' });
  const { seen, click, alert } = await visitor(2, { viewport: { width: 390, height: 844 } });
  const item = alert('job-failed', 'nightly');
  await item.waitFor();
  const { y } = await item.boundingBox();
  assert.ok(y < 844, `${y} is below the first screen`);
  await click(item.locator('a').first());
  await click(seen.at('closures-row', '[data-state="FAILED"]').first());
  await seen.reads('error-line', /out of disk/);
});
