import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
let cluster;

const { open } = onStage(async (made) => {
  mkdirSync(shots, { recursive: true });
  cluster = made;
  await cluster.serve();
  for (const index of [0, 1]) cluster.worker(index, '--slots', '1');
});

const parameters = (seen) => new URL(seen.page.url()).searchParams;

test('the length of a bar is the execution time without the wait', async () => {
  const job = await cluster.submit('muster.sleep', [300], 12, 'naps');
  const seen = await open(`/explore/stream?job=${job}`);
  await seen.at('sums-row', '[data-task="worker:0"][data-function="muster.sleep"]').waitFor();
  await seen.at('sums-row', '[data-task="worker:1"][data-function="muster.sleep"]').waitFor();
  assert.equal(await seen.at('lane').count(), 2);
  await cluster.get(`/api/v1/jobs/${job}/join?timeout=60s`);
  await seen.page.waitForFunction(() => {
    const finished = [...document.querySelectorAll('[data-testid=sums-row] [role=gridcell]:nth-child(3)')];
    return finished.reduce((sum, cell) => sum + Number(cell.textContent), 0) === 12;
  });
  await seen.at('stream-canvas').focus();
  await seen.page.keyboard.press('ArrowDown');
  // A bar can be late on a busy host. Measured from dispatch, the bars would last 300, 600 and 900 ms.
  let sum = 0;
  for (let bar = 0; bar < 3; ++bar) {
    await seen.page.keyboard.press('Shift+ArrowRight');
    const said = await seen.at('stream-tip').textContent();
    const [, ms] = said.match(/succeeded after (\d+) ms/) ?? [];
    assert.ok(ms >= 295, said);
    sum += Number(ms);
  }
  assert.ok(sum < 1500, `${sum} ms`);
  await seen.page.screenshot({ path: join(shots, 'stream.png') });
  await seen.page.keyboard.press('Enter');
  await seen.page.waitForURL(/\/closures\/cl_[0-9a-f]+\?.*job=/);
});

test('the time range is in the URL', async () => {
  const seen = await open('/explore/stream');
  await seen.at('lane').first().waitFor();
  await seen.at('stream-canvas').focus();
  await seen.page.keyboard.press('-');
  await seen.page.waitForURL(/span=120000/);
  await seen.page.keyboard.press('ArrowLeft');
  await seen.page.waitForURL(/from=\d+&to=\d+/);
  const [from, to] = ['from', 'to'].map((name) => Number(parameters(seen).get(name)));
  assert.ok(Math.abs(to - from - 120_000) <= 1);
  await seen.page.reload();
  await seen.at('lane').first().waitFor();
  assert.equal(await seen.at('stream-follow').getAttribute('aria-pressed'), 'false');
  assert.equal(Number(parameters(seen).get('from')), from);
  await seen.at('stream-follow').click();
  await seen.page.waitForFunction(() => !new URLSearchParams(location.search).has('from'));
  await seen.at('stream-tasks').fill('worker:1');
  await seen.at('stream-tasks').press('Enter');
  await seen.page.waitForURL(/tasks=worker%3A1/);
  await seen.page.waitForFunction(() => document.querySelectorAll('[data-testid=lane]').length === 1);
});

test('failed and running closures are shown, and the trace can be downloaded', async () => {
  await cluster.submit('muster.sleep', [600_000], 1, 'long');
  await cluster.submit('muster.fail', ['no'], 1, 'bad');
  const seen = await open('/explore/stream');
  const total = (column) =>
    seen.page.waitForFunction((n) => {
      const cells = [...document.querySelectorAll(`[data-testid=sums-row] [role=gridcell]:nth-child(${n})`)];
      return cells.some((cell) => Number(cell.textContent) > 0);
    }, column);
  await total(4);
  await total(5);
  const [trace] = await Promise.all([seen.page.waitForEvent('download'), seen.at('stream-trace').click()]);
  const text = JSON.parse(await readAll(await trace.createReadStream()));
  assert.ok((text.traceEvents ?? text).some((event) => event.name === 'muster.sleep'));
});

test('a graph shows dependencies and opens closures', async () => {
  const ref = (index) => ({ $remote_value: `#${index}` });
  const id = await cluster.submitAll('diamond', [
    { function: 'muster.echo', args: ['a'] },
    { function: 'muster.echo', args: [ref(0)] },
    { function: 'muster.echo', args: [ref(0)] },
    { function: 'muster.echo', args: [[ref(1), ref(2)]] },
  ]);
  const seen = await open(`/runs/${id}/graph`);
  await seen.at('graph-rows-row', '[data-state="SUCCEEDED"]').nth(3).waitFor();
  assert.match(await seen.at('graph').getAttribute('aria-label'), /4 closures in 3 layers, 4 edges/);
  await seen.at('graph').focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight']) await seen.page.keyboard.press(key);
  await seen.page.waitForURL(/node=3/);
  await seen.page.screenshot({ path: join(shots, 'graph.png') });
  await seen.page.keyboard.press('Enter');
  await seen.page.waitForURL(/\/closures\/cl_/);
});

async function readAll(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}
