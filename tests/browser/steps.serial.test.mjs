import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

let cluster;

const { visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve('--data-dir', join(cluster.folder, 'data'));
  cluster.worker(0, '--allow-programs');
});

test('steps are shown in lanes and by rank, and lanes and machines share the pointer time', async () => {
  const id = await cluster.program({
    name: 'steps', command: ['sh', '-c', 'n=0; while :; do n=$((n+1)); echo "step $n"; sleep 0.2; [ "$RANK" = 1 ] && [ $((n % 5)) = 0 ] && sleep 1; done'], tasks: { worker: 2 }, step_pattern: 'step (\\d+)', grace: '1s',
  });
  const seen = await visitor(`/runs/${id}`);
  await seen.page.waitForFunction(() => Number(document.querySelector('[data-testid="run-steps"]')?.dataset.steps) >= 20);
  await seen.at('run-steps').locator('summary').click();
  await seen.at('run-steps-row').nth(1).waitFor();
  // Rank 1 has the longest step.
  await seen.at('run-steps-row', '[data-rank="1"]').filter({ hasText: /1\.\d s/ }).waitFor();
  await seen.at('run-timeline', '[data-strips="1"]').waitFor();
  // The page lists only hosts that run ranks of the program.
  await seen.at('machines').locator('tr[data-machine="worker:0"]').waitFor();

  const canvas = seen.at('run-canvas');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const over = (x) => seen.page.mouse.move(box.x + box.width * x, box.y + 26);
  await over(0.5);
  await seen.reads('run-at', /rank 0.*step/);
  await seen.reads('machines-at', /These are the values at \d{4}-/);
  await over(0.2);
  await seen.page.mouse.down();
  await over(0.8);
  await seen.page.mouse.up();
  await seen.page.waitForURL(/zoom=\d+-\d+/);
  await seen.at('machines-unzoom').waitFor();
  const { searchParams } = new URL(seen.page.url());
  const [from, to] = searchParams.get('zoom').split('-').map(Number);
  await seen.page.waitForFunction((f) => Number(document.querySelector('[data-testid="run-timeline"]').dataset.from) === f, from);

  // Selecting a range in a host's chart also sets the timeline's range.
  const line = seen.page.locator('#machines .course').first();
  await line.evaluate((e) => e.scrollIntoView({ block: 'center' })); // in one step: each sample replaces the element
  const spark = await line.boundingBox();
  await seen.page.mouse.move(spark.x + spark.width * 0.25, spark.y + 5);
  await seen.page.mouse.down();
  await seen.page.mouse.move(spark.x + spark.width * 0.75, spark.y + 5);
  await seen.page.mouse.up();
  await seen.page.waitForFunction((f) => Number(document.querySelector('[data-testid="run-timeline"]').dataset.from) > f, from);
  const length = await seen.at('run-timeline').evaluate((e) => Number(e.dataset.to) - Number(e.dataset.from));
  assert.ok(length < (to - from) * 0.6 && length > (to - from) * 0.3, `${length} of ${to - from} ms`);
  await seen.at('machines-unzoom').click();
  await seen.page.waitForFunction(() => document.querySelector('[data-testid="run-reset"]').disabled);
});

test('machines can be shown over a day, and the choice is in the URL', async () => {
  const seen = await visitor('/fleet');
  await seen.at('machines').locator('tr[data-machine="worker:0"]').waitFor();
  await seen.at('machines-24h').click();
  await seen.page.waitForURL(/machines=24h/);
  await seen.at('machines').locator('tr[data-machine="worker:0"]').waitFor();
  await seen.page.reload();
  await seen.at('machines-24h', '[aria-pressed="true"]').waitFor();
});
