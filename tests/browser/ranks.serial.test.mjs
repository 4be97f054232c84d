// Measures how long the page blocks, so no other test runs beside it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

let cluster;

const { visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
  cluster.worker(0, '--allow-programs');
  cluster.worker(1, '--allow-programs');
});

const inState = (seen, state) => seen.at('program', `[data-state="${state}"]`).waitFor();

test('a thousand ranks are small cells that do not slow the page', { timeout: 180_000 }, async () => {
  const id = await cluster.program({ name: 'large', command: ['sh', '-c', 'echo "rank $RANK"; exec sleep 600'], tasks: { worker: { count: 1000 } }, grace: '1s' });
  const seen = await visitor(`/runs/${id}`);
  seen.page.setDefaultTimeout(150_000);
  await inState(seen, 'RUNNING');
  assert.equal(await seen.at('rank').count(), 1000);
  await seen.at('rank', '[data-rank="999"][title*="rank 999"]').waitFor();
  const longest = await seen.page.evaluate(
    () =>
      new Promise((done) => {
        let longest = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((e) => (longest = Math.max(longest, e.duration)))).observe({ type: 'longtask' });
        setTimeout(() => done(longest), 3000);
      }),
  );
  assert.ok(longest < 300, `the page was held up for ${longest} ms`);
  await seen.at('ranks-list').click();
  await seen.at('rank-row', '[data-rank="0"]').waitFor();
  assert.ok((await seen.at('rank-row').count()) < 50);
  await seen.at('cancel-program').click();
  await seen.at('question-yes').click();
  await inState(seen, 'CANCELLED');
});
