import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { ObjectSession } from './agent.mjs';
import { onStage } from './stage.mjs';

let cluster;
let maker;

const { open } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
});
after(() => maker?.end());

test('objects are listed, filtered, opened and deleted', async () => {
  const seen = await open('/explore/objects');
  await seen.page.locator('#objects', { hasText: 'No objects yet.' }).waitFor();
  maker = new ObjectSession(cluster.grpc);
  const weights = await maker.create({ name: 'weights', className: 'Weights', job: 'ps', index: 0, concurrency: 2 });
  await maker.create({ name: 'metrics', className: 'Metrics', job: 'ps', index: 1, concurrency: 1 });
  maker.call(weights, 'add');
  maker.call(weights, 'read');
  const row = (more = '') => seen.at('objects-row', `[data-state="PENDING"]${more}`);
  await row().nth(1).waitFor();
  await seen.page.locator('[data-testid="objects-row"]', { hasText: /Waiting for its task.*weights.*ps:0.*2/s }).waitFor();

  await seen.at('state-LOST').click();
  await seen.page.getByText('No object matches.').waitFor();
  await seen.at('clear-filters').click();
  await seen.at('filter-task').fill('ps:1');
  await seen.page.locator('[data-testid="objects-row"]', { hasText: 'weights' }).waitFor({ state: 'detached' });
  await seen.at('clear-filters').click();

  await seen.page.locator('[data-testid="objects-row"]', { hasText: 'weights' }).click({ position: { x: 10, y: 10 } });
  await seen.reads('object', /weights: .*Weights.*ps:0.*job_[0-9a-f]{16}.*2 waiting, 0 of at most 2 executing, 0 answered/s);
  await seen.at('delete-object').click();
  await seen.page.getByText('currently 2').waitFor();
  await seen.at('question-yes').click();
  await seen.page.locator('[data-testid="objects-row"]', { hasText: 'weights' }).waitFor({ state: 'detached' });
  assert.match(await maker.failed(2), /was deleted/);
  await row().first().waitFor(); // the other one remains
});
