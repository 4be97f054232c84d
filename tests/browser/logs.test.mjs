import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

const HOSTILE = '<img src=x onerror=alert(1)> \u202Egnp.exe needle';
const axe = readFileSync(createRequire(join(process.env.MUSTER_DASHBOARD, 'package.json')).resolve('axe-core/axe.min.js'), 'utf8');
let cluster;
let job;
let program;

const { visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve('--data-dir', join(cluster.folder, 'data'));
  cluster.worker(0, '--allow-exec', '--allow-programs');
  cluster.worker(1, '--allow-exec', '--allow-programs');
  job = await cluster.submitAll('prints', [
    { function: 'muster.exec', args: [['echo', HOSTILE]] },
    { function: 'muster.exec', args: [['echo', 'a Needle in hay']] },
    { function: 'muster.exec', args: [['echo', 'nothing']] },
  ]);
  program = await cluster.program({
    name: 'talks', command: ['sh', '-c', 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "rank $RANK step $i"; [ $i = 2000 ] && echo "the needle of rank $RANK"; done; exec sleep 600'], tasks: { worker: 2 }, grace: '1s',
  });
});

const done = (seen) => seen.at('log-search-state', '[data-state="done"]').waitFor();

/** Repeats the request until there are enough lines, since lines reach the disk with a delay. */
async function finds(seen, where, n) {
  for (;;) {
    await done(seen);
    if ((await seen.page.locator(`[data-testid="found-line"]${where}`).count()) >= n) return;
    await seen.at('search-again').click();
    await seen.at('log-search-state', '[data-state="reads"]').waitFor();
  }
}

test('text is found in closures and programs, highlighted, and linked to its log line', async () => {
  const seen = await visitor('/explore');
  await seen.reads('log-search-state', /Enter a search text/);
  await seen.page.keyboard.press('/');
  await seen.page.keyboard.type('needle');
  await finds(seen, '[data-closure]', 2);
  await finds(seen, '[data-rank]', 2);
  assert.equal(await seen.page.locator('img[src="x"]').count(), 0);
  assert.match(await seen.at('found-line').first().locator('mark').textContent(), /^needle$/i);
  await seen.at('found-line', '[data-closure]').filter({ hasText: '⟨U+202E⟩' }).waitFor();
  await seen.page.evaluate(axe);
  const { violations } = await seen.page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(violations.map((v) => `${v.id} ${v.nodes[0].html}`), []);

  await seen.at('found-line', '[data-rank="1"]').locator('a').click();
  await seen.at('log-at-line').filter({ hasText: 'the needle of rank 1' }).waitFor();
  assert.equal(await seen.at('log-at-line').locator('mark').textContent(), 'needle');
  await seen.reads('log-at', /rank 1 step 2000\n?.*the needle/s);
  await seen.page.waitForFunction(() => {
    const [line, box] = ['log-at-line', 'log-at'].map((id) => document.querySelector(`[data-testid="${id}"]`).getBoundingClientRect());
    return line.top >= box.top && line.bottom <= box.bottom;
  });
  await seen.at('log-at-close').click();
  await seen.at('log-at').waitFor({ state: 'detached' });
  assert.equal(new URL(seen.page.url()).searchParams.get('rank'), '1');
});

test('case, source, job, program and rank narrow a search, and exclusions are shown', async () => {
  const seen = await visitor('/explore?q=Needle&case=exact');
  await finds(seen, '[data-closure]', 1);
  assert.equal(await seen.at('found-line').count(), 1);
  await seen.page.goto(`${cluster.url}/logs?q=needle&program=talks&rank=0`);
  await finds(seen, '[data-rank="0"]', 1);
  assert.equal(await seen.at('found-line').count(), 1);
  await seen.page.goto(`${cluster.url}/logs?q=needle&job=prints`);
  await finds(seen, '[data-closure]', 2);
  await seen.reads('log-search-meant', /Programs are not searched/);
  // Opens the lines around the match.
  await seen.at('found-line', '[data-closure]').first().locator('.found-time').click();
  await seen.page.waitForURL(/from=\d+/);
  await finds(seen, '[data-closure]', 3);
  await seen.page.goto(`${cluster.url}/logs?q=needle&job=there-is-none`);
  await seen.reads('log-search-state', /no job or program matches/);
});

test('a found closure opens with a filtered log, and a saved search is in the palette', async () => {
  const seen = await visitor(`/explore?q=needle&where=closures`);
  await finds(seen, '[data-closure]', 2);
  await seen.at('save-filter').click();
  await seen.at('found-line', '[data-closure]').filter({ hasText: 'in hay' }).locator('.found-who').click();
  await seen.page.waitForURL(new RegExp(`/closures/cl_.*job=${job}`));
  await seen.at('log-line').filter({ hasText: 'a Needle in hay' }).waitFor();
  await seen.page.keyboard.press('Control+k');
  await seen.at('palette').waitFor();
  await seen.page.keyboard.type('needle');
  await seen.at('palette-row', '[data-kind="saved filter"]').waitFor();
  await seen.at('palette-row', '[data-kind="logs"]').click();
  await seen.page.waitForURL(/\/explore\?q=needle$/);
  await finds(seen, '[data-closure]', 2);
});

test('an invalid search in the URL is ignored or refused by the server', async () => {
  const seen = await visitor(`/runs/${program}?rank=1&line=-5&attempt=x`);
  await seen.at('program').waitFor();
  assert.equal(await seen.at('log-at').count(), 0);
  seen.mayRefuse = /logs\/search/;
  await seen.page.goto(`${cluster.url}/logs?q=${'x'.repeat(300)}&where=closures`);
  await seen.at('log-source').filter({ hasText: 'the limit is 256' }).waitFor();
});
