// The page of one run: the inspector, the comparison with an earlier run, and questions with a limit on clicks.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

let cluster;
const data = () => join(cluster.folder, 'data');

const { visitor: connected } = onStage(async (made) => {
  cluster = made;
  await cluster.serve('--data-dir', data());
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2', '--allow-exec', '--allow-programs', '--program-lease', '60s');
});

/** Opens the first page, and returns a function that clicks and counts. */
async function visitor(most, options) {
  const seen = await connected('/now', options);
  let clicks = 0;
  const click = async (locator) => {
    await locator.click();
    ++clicks;
    assert.ok(clicks <= most, `${clicks} clicks are more than ${most}`);
  };
  const alert = (kind, about) => seen.at('attention-item', `[data-kind="${kind}"]`).filter({ hasText: about }).first();
  return { seen, click, alert };
}

const inspected = (seen, of) => seen.at('inspector', of === undefined ? '' : `[data-of="${of}"]`);
const chosen = (seen, name) => new URL(seen.page.url()).searchParams.get(name);

async function ended(id) {
  await cluster.get(`/api/v1/jobs/${id}/join?timeout=30s`);
  return id;
}

/** Runs two jobs of the same name. The second has a slow call, a call that fails, and other metadata. */
async function twice(name) {
  const run = (slow, last, commit) =>
    cluster.submitAll(name, [...Array.from({ length: 6 }, (_, n) => ({ function: 'muster.sleep', args: [n === 3 ? slow : 40] })), last], { on_error: 'continue', metadata: { commit } });
  const before = await ended(await run(40, { function: 'muster.echo', args: ['good'] }, 'a17'));
  const after = await ended(await run(400, { function: 'muster.fail', args: ['no such column: price\nat row 7'] }, 'b52'));
  return [before, after];
}

test('what changed between two runs takes three clicks', async () => {
  const [before, after] = await twice('nightly');
  const { seen, click, alert } = await visitor(3);
  await click(alert('job-failed', 'nightly').locator('a').first());
  await seen.at('job', `[data-job="${after}"]`).waitFor();
  await click(seen.at('compare-with'));
  assert.equal(await seen.at('compare-choice').count().then((n) => n || seen.at('compare-choice').first().waitFor().then(() => seen.at('compare-choice').count())), 1);
  await click(seen.at('compare-choice', `[data-run="${before}"]`));
  await seen.reads('compare-first', /Call #3 \(muster\.sleep\) took 4\d\d ms, and \d\d ms before/);
  const row = (table, text) => seen.at(table).locator('tr', { hasText: text });
  await row('compare-submission', 'commit').filter({ hasText: 'a17' }).filter({ hasText: 'b52' }).waitFor();
  await row('compare-facts', 'State').filter({ hasText: 'succeeded' }).filter({ hasText: 'failed' }).waitFor();
  await row('compare-functions', 'muster.sleep').waitFor();
  assert.equal(chosen(seen, 'compare'), before);
  // A link shows the same, and the first difference leads to its call.
  await seen.page.reload();
  await seen.at('compare-call').click();
  await inspected(seen).filter({ hasText: 'muster.sleep #3' }).waitFor();
  await seen.at('compare-close').click();
  await seen.at('compare').waitFor({ state: 'detached' });
});

test('what changed between two programs takes three clicks', async () => {
  const run = (code, lr) => cluster.program({ name: 'compared', command: ['sh', '-c', `for n in 1 2 3 4; do echo "step $n"; sleep 0.2; done; exit ${code}`, lr], tasks: { worker: 2 }, step_pattern: 'step (\\d+)', grace: '1s' });
  const over = async (id) => {
    while ((await cluster.get(`/api/v1/programs/${id}`)).finished_ms === undefined) await new Promise((later) => setTimeout(later, 100));
    return id;
  };
  const before = await over(await run(0, '0.1'));
  await over(await run(3, '0.2'));
  const { seen, click, alert } = await visitor(3);
  await click(alert('program-failed', 'compared').locator('a').first());
  await seen.reads('run-headline', /^Failed: rank \d on worker:\d \(.+\) exited with status 3$/);
  await click(seen.at('compare-with'));
  await click(seen.at('compare-choice', `[data-run="${before}"]`));
  await seen.at('compare-submission').locator('tr', { hasText: 'command' }).filter({ hasText: '0.1' }).filter({ hasText: '0.2' }).waitFor();
  await seen.reads('compare-first', /The program failed, and succeeded before/);
});

test('where rank 1 hangs takes two clicks', async () => {
  const id = await cluster.program({ name: 'hangs', command: ['sh', '-c', 'n=0; while [ $n -lt 9 ]; do n=$((n+1)); echo "step $n"; sleep 0.1; [ "$RANK" = 1 ] && [ $n = 5 ] && exec sleep 600; done; exec sleep 600'], tasks: { worker: 2 }, step_pattern: 'step (\\d+)', hang_after: '2s', grace: '1s' });
  const { seen, click, alert } = await visitor(2);
  await click(alert('program-hangs', 'hangs').locator('a').first());
  await seen.reads('run-headline', /^Hangs for .*: rank 1 /);
  await seen.page.locator('#program .panel-head', { hasText: 'Hangs' }).waitFor(); // not "Running"
  await seen.at('run-timeline', '[data-awaited="rank 1"][data-waits="1"]').waitFor();
  await click(seen.at('cause-rank'));
  await inspected(seen, 1).waitFor();
  await seen.reads('rank-stack', /clock_nanosleep|nanosleep/); // taken without a click, because the program hangs
  await seen.reads('rank-command', /RANK/);

  // Cause and age survive a restart of the server.
  const { hang } = await cluster.get(`/api/v1/programs/${id}`);
  seen.serverIsDown = true;
  await cluster.killServer();
  await cluster.serve('--data-dir', data());
  await seen.reads('conn-state', /live/i);
  await seen.reads('run-headline', /^Hangs for .*: rank 1 /);
  const after = (await cluster.get(`/api/v1/programs/${id}`)).hang;
  assert.deepEqual([after.rank, after.since_ms, after.text], [1, hang.since_ms, hang.text]);
  await cluster.stop(id);
});

test('keys move the selection in lists and lanes, and Esc closes the inspector', async () => {
  const [, id] = await twice('by keys');
  const seen = await connected(`/runs/${id}`);
  await seen.at('closures-row').nth(2).waitFor();
  await seen.at('closures-list').focus();
  await seen.page.keyboard.press('ArrowDown');
  await inspected(seen).filter({ hasText: 'muster.sleep #0' }).waitFor();
  await seen.page.keyboard.press('ArrowDown');
  await inspected(seen).filter({ hasText: 'muster.sleep #1' }).waitFor();
  // In the inspector as well
  await inspected(seen).focus();
  await seen.page.keyboard.press('ArrowDown');
  await inspected(seen).filter({ hasText: 'muster.sleep #2' }).waitFor();
  await seen.page.keyboard.press('Escape');
  await inspected(seen).waitFor({ state: 'detached' });
  assert.equal(chosen(seen, 'call'), null);

  const p = await cluster.program({ name: 'lanes', command: ['sleep', '600'], tasks: { worker: 3 }, grace: '1s' });
  const lanes = await connected(`/runs/${p}`);
  await lanes.at('rank', '[data-state="RUNNING"]').nth(2).waitFor();
  await lanes.at('run-timeline').focus();
  await lanes.page.keyboard.press('Enter');
  await inspected(lanes, 0).waitFor();
  await lanes.page.keyboard.press('ArrowDown');
  await inspected(lanes, 1).waitFor();
  assert.equal(chosen(lanes, 'rank'), '1');
  // A click on a lane selects its rank.
  const box = await lanes.at('run-canvas').boundingBox();
  const { y } = await lanes.page.locator('.run-names > span', { hasText: 'rank 2' }).boundingBox();
  await lanes.page.mouse.click(box.x + box.width / 2, y + 6);
  await inspected(lanes, 2).waitFor();
  await lanes.page.keyboard.press('Escape');
  await inspected(lanes).waitFor({ state: 'detached' });
  await cluster.stop(p);
});

test('lanes, log and machines of a job share the range and the time under the pointer', async () => {
  const exec = (script) => ({ function: 'muster.exec', args: [['sh', '-c', script]] });
  const id = await ended(await cluster.submitAll('shared range', [exec('echo first'), exec('sleep 1.5; echo second'), exec('sleep 3')]));
  const seen = await connected(`/runs/${id}`);
  await seen.at('log-line').filter({ hasText: 'second' }).waitFor();
  const machines = seen.page.locator('#machines');
  await machines.locator('tr[data-machine]').first().waitFor();

  // The pointer on a line marks its time in the lanes and machines.
  await seen.at('log-line').filter({ hasText: 'second' }).hover();
  await seen.at('stream-cross').waitFor();
  await seen.reads('machines-at', /values at/);
  // The pointer at the left end of the lanes marks the line that was printed before.
  const canvas = seen.at('stream-canvas');
  const { width, height } = await canvas.boundingBox();
  await canvas.hover({ position: { x: width / 3, y: height / 2 } });
  await seen.page.locator('.log-line.is-at', { hasText: 'first' }).waitFor();
  await canvas.hover({ position: { x: width - 20, y: height / 2 } });
  await seen.page.locator('.log-line.is-at', { hasText: 'second' }).waitFor();

  // A zoom into the middle leaves one line. The machines show the same range, and their button resets it.
  await seen.page.locator('#when').getByRole('button', { name: 'Zoom in' }).click();
  await seen.page.locator('#when').getByRole('button', { name: 'Zoom in' }).click();
  await seen.page.waitForURL(/from=\d+&to=\d+/);
  await seen.at('log-line').filter({ hasText: 'first' }).waitFor({ state: 'detached' });
  assert.match(await seen.at('log-line').allTextContents().then((all) => all.join()), /second/);
  await seen.page.reload();
  await seen.at('log-line').filter({ hasText: 'second' }).waitFor();
  assert.equal(await seen.at('log-line').count(), 1);
  await machines.locator('[data-testid="machines-unzoom"]').click();
  await seen.at('log-line').filter({ hasText: 'first' }).waitFor();
  assert.equal(chosen(seen, 'from'), null);
});

test('on a phone, the inspector is a sheet that covers no more than the screen', async () => {
  const [, id] = await twice('pocket');
  const { failed } = (await cluster.get(`/api/v1/jobs/${id}`)).counts;
  assert.equal(failed, 1);
  const seen = await connected(`/runs/${id}`, { viewport: { width: 390, height: 844 } });
  await seen.at('closures-row', '[data-state="FAILED"]').click();
  const sheet = inspected(seen);
  await sheet.filter({ hasText: 'muster.fail #6' }).waitFor();
  const box = await sheet.boundingBox();
  assert.ok(box.x >= 0 && box.width <= 390 && box.y > 100 && Math.round(box.y + box.height) <= 844, JSON.stringify(box));
  assert.equal(await seen.page.evaluate(() => document.activeElement?.dataset.testid), 'inspector-close');
  assert.equal(await seen.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  assert.equal(await sheet.evaluate((e) => e.scrollWidth <= e.clientWidth), true);
  await seen.at('inspector-previous').click();
  await sheet.filter({ hasText: 'muster.sleep #5' }).waitFor();
  await seen.at('inspector-close').click();
  await sheet.waitFor({ state: 'detached' });
});

test('a restart of the server is a labelled gap, and lanes and steps before it stay', async () => {
  const id = await cluster.program({ name: 'survives', command: ['sh', '-c', 'n=0; while :; do n=$((n+1)); echo "step $n"; sleep 0.2; done'], tasks: { worker: 2 }, step_pattern: 'step (\\d+)', grace: '1s' });
  const seen = await connected(`/runs/${id}`);
  await seen.page.waitForFunction(() => Number(document.querySelector('[data-testid="run-steps"]')?.dataset.steps) >= 10);
  const from = await seen.at('run-timeline').getAttribute('data-from');
  seen.serverIsDown = true;
  await new Promise((later) => setTimeout(later, 1500)); // the history of the last second is not stored
  await cluster.killServer();
  await new Promise((later) => setTimeout(later, 3000));
  await cluster.serve('--data-dir', data());
  await seen.reads('conn-state', /live/i);
  await seen.at('run-outage').filter({ hasText: 'server restart' }).waitFor();
  const { x, width } = await seen.at('run-outage').boundingBox();
  const lanes = await seen.at('run-timeline').boundingBox();
  assert.ok(width > 10 && x > lanes.x + 10 && x + width < lanes.x + lanes.width, `${x} ${width}`);
  assert.equal(await seen.at('run-timeline').getAttribute('data-from'), from);
  await seen.page.waitForFunction(() => Number(document.querySelector('[data-testid="run-steps"]')?.dataset.steps) >= 30);
  await cluster.stop(id);
});
