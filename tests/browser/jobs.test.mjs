import assert from 'node:assert/strict';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

const SHOWN = 50; // jobs per page
let cluster;

const { open } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
  cluster.worker(0, '--slots', '2');
});

async function shows(seen, id, name) {
  await seen.at('job', `[data-job="${id}"]`).waitFor();
  await seen.page.waitForFunction((title) => document.title.replace(/^\(\d+\) /, '') === title, `${name} · Job · Muster`);
  await seen.page.locator('#log').filter({ hasText: `all closures of ${name}` }).waitFor();
  await seen.at('closures-row').first().waitFor();
}

test('the URL names the job, and back and forward navigate between jobs', async () => {
  const older = await cluster.submit('muster.noop', [], 1, 'the older one');
  const newer = await cluster.submit('muster.noop', [], 1, 'the newer one');
  const seen = await open(`/runs/${older}`);
  await shows(seen, older, 'the older one');

  await seen.navigate('Work');
  await seen.at('work-row', `[data-run="${newer}"]`).locator('a').click();
  await shows(seen, newer, 'the newer one');
  assert.equal(seen.page.url(), `${cluster.url}/runs/${newer}`);
  await seen.at('closures-row').locator('a').first().click();
  await seen.page.waitForURL(/[?&]call=cl_/);
  await seen.at('call-page').click();
  await seen.page.waitForURL(/closures\/cl_/);
  await seen.at('closure').waitFor();

  await seen.page.goBack();
  await seen.at('inspector').waitFor();
  await seen.page.goBack();
  await seen.at('inspector').waitFor({ state: 'detached' });
  await shows(seen, newer, 'the newer one');
  await seen.page.goBack();
  await seen.page.goBack();
  await shows(seen, older, 'the older one');
  await seen.page.goForward();
  await seen.page.goForward();
  await shows(seen, newer, 'the newer one');
  await seen.page.reload();
  await shows(seen, newer, 'the newer one');
});

test('a link on the overview opens the job', async () => {
  const id = await cluster.submit('muster.noop', [], 1, 'linked');
  const seen = await open('/now/charts');
  await seen.at('job-row', `[data-job="${id}"] a`).click();
  await shows(seen, id, 'linked');
  assert.equal(seen.page.url(), `${cluster.url}/runs/${id}`);
});

test('a job page starts with durations by function and worker', async () => {
  const id = await cluster.submitAll('pictured', [{ function: 'muster.sleep', args: [40] }, ...Array.from({ length: 20 }, () => ({ function: 'muster.noop' }))]);
  const seen = await open(`/runs/${id}`);
  await seen.at('job', '[data-state="SUCCEEDED"]').waitFor();
  await seen.reads('durations', /the longest \d+ ms/);
  await seen.at('histogram').waitFor();
  // The timeline contains only this job.
  await seen.at('job-timeline', ':not([data-bars="0"])').waitFor();
  assert.match(await seen.at('histogram').getAttribute('aria-label'), /32 ms to 65 ms: 1|65 ms to 131 ms: 1/);
  await seen.at('by-worker').locator('tbody tr', { hasText: 'worker:0' }).waitFor();
  await seen.at('by-function').locator('button', { hasText: 'muster.sleep' }).click();
  await seen.page.waitForURL(/function=muster\.sleep/);
  await seen.reads('count-line', /1 closure matches/);
});

test('dragging zooms all charts, and the range is in the URL', async () => {
  const seen = await open('/now/charts');
  const over = seen.page.locator('[data-testid="chart-queue"] .u-over');
  await over.waitFor();
  const zoomed = /zoom=\d+-\d+/;
  // While the page loads, panels above a chart can move it away from the pointer.
  for (let attempt = 0; attempt < 5 && !zoomed.test(seen.page.url()); ++attempt) {
    await over.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await over.boundingBox();
    await seen.page.mouse.move(x + 0.2 * width, y + height / 2);
    await seen.page.mouse.down();
    await seen.page.mouse.move(x + 0.7 * width, y + height / 2, { steps: 5 });
    await seen.page.mouse.up();
    await seen.page.waitForURL(zoomed, { timeout: 5000 }).catch(() => {});
  }
  assert.match(seen.page.url(), zoomed);
  await seen.at('unzoom').click();
  await seen.page.waitForURL((url) => !url.searchParams.has('zoom'));
});

test('an old job is reached by paging and by its URL', async () => {
  const old = await cluster.submit('muster.noop', [], 1, 'long ago');
  for (let n = 0; n < SHOWN; ++n) await cluster.submit('muster.noop', [], 1, `later ${n}`);
  const seen = await open('/work');
  await seen.reads('count-line', /1 to 50/);
  await seen.at('next-page').click();
  await seen.at('work-row', `[data-run="${old}"]`).locator('a').click();
  await shows(seen, old, 'long ago');
});

test('an unknown job is reported', async () => {
  const id = await cluster.submit('muster.noop', [], 1, 'short-lived');
  const seen = await open(`/runs/${id}`);
  await seen.at('job', '[data-state="SUCCEEDED"]').waitFor();
  seen.mayRefuse = /\/api\/v1\/(jobs\/|stream\?job=)/; // also requests before the page is reloaded
  await cluster.forget(id);
  await seen.page.reload();
  await seen.reads('no-job', `${id} has ended and was removed`);
  await seen.page.goto(`${cluster.url}/runs/job_00000000000f4240`);
  await seen.reads('no-job', 'there is no job_00000000000f4240');
  await seen.page.goto(`${cluster.url}/runs/%3Cb%3E%25`);
  await seen.reads('no-job', "there is no job '<b>%'");
  assert.equal(await seen.page.locator('#log').count(), 0);
  await seen.at('no-job').locator('a').click();
  await seen.at('work-row').first().waitFor();
  assert.equal(seen.page.url(), `${cluster.url}/work`);
});

test('no claims are shown before data arrives', async () => {
  const seen = await open('/work');
  await seen.page.addInitScript(() => {
    window.WebSocket = class extends EventTarget {
      send() {}
      close() {}
    };
  });
  await seen.page.reload();
  await seen.page.locator('#work').waitFor();
  assert.equal(await seen.page.locator('#work', { hasText: 'No runs yet' }).count(), 0);
});
