// The first screen after a restart of the server, and a failure on the first screen of a phone.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

let cluster;

const { visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2');
});

test('on a phone, a failure is on the first screen and opens in two taps', async () => {
  await cluster.submitAll('nightly', [{ function: 'muster.fail', args: ['out of disk'] }], { on_error: 'continue' });
  const seen = await visitor('/now', { viewport: { width: 390, height: 844 } });
  const item = seen.at('attention-item', '[data-kind="job-failed"]').filter({ hasText: 'nightly' }).first();
  await item.waitFor();
  const { y } = await item.boundingBox();
  assert.ok(y < 844, `${y} is below the first screen`);
  await item.locator('a').first().click();
  await seen.at('closures-row', '[data-state="FAILED"]').first().click();
  await seen.reads('error-line', /out of disk/);
});

test('the dashboard recovers from a server restart without a click', async () => {
  const seen = await visitor('/now');
  await seen.at('cluster-row').first().waitFor();
  seen.serverIsDown = true;
  await cluster.killServer();
  await seen.at('conn-state', '[data-state="reconnecting"]').waitFor();
  await cluster.serve();
  await seen.at('conn-state', '[data-state="live"]').waitFor();
  await seen.at('cluster-row', '[data-cluster="default"]').filter({ hasText: '2 of 2 connected' }).waitFor();
});
