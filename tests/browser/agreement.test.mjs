// Barriers on the page Agreement: waiting members, missing members with times, and the last to arrive.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { Agent } from './agent.mjs';
import { onStage } from './stage.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
const MANY = 80;
let cluster;
let agents = [];

const { visitor } = onStage(async (made) => {
  mkdirSync(shots, { recursive: true });
  cluster = made;
  await cluster.serve();
  const { address } = await cluster.declare('train', { worker: 3 });
  agents = [0, 1, 2].map((task) => new Agent(address, task));
  await Promise.all(agents.map((agent) => agent.register()));
  await cluster.declare('large', { worker: MANY });
});
after(() => {
  for (const agent of agents) agent.end();
});

const row = (seen, id) => seen.at('barrier', `[data-barrier="${id}"]`);
const looks = (seen, id) => row(seen, id).locator('[data-testid="dot"]').evaluateAll((all) => all.map((dot) => `${dot.dataset.task} ${dot.className}`));

/** Clicks and counts; more than `most` clicks fail. */
function counted(most) {
  let clicks = 0;
  return async (locator) => {
    await locator.click();
    assert.ok(++clicks <= most, `${clicks} clicks are more than ${most}`);
  };
}

test('finding who waits at a barrier and who is missing takes one click', async () => {
  const waits = [agents[0].barrier('checkpoint', 60_000)];
  await cluster.arrived('train', 'checkpoint', 1);
  const click = counted(1);
  const seen = await visitor('/');
  await click(seen.page.locator('.rail a', { hasText: 'Agreement' }));
  const standing = row(seen, 'checkpoint').locator('[data-testid="barrier-standing"]');
  await standing.filter({ hasText: '1 of 3 arrived, worker:1 and worker:2 missing' }).waitFor();
  await row(seen, 'checkpoint').locator('[data-testid="dot"]').nth(2).waitFor();
  assert.deepEqual(await looks(seen, 'checkpoint'), ['worker:0 member is-there', 'worker:1 member ', 'worker:2 member ']);
  waits.push(agents[2].barrier('checkpoint', 60_000));
  await standing.filter({ hasText: /2 of 3 arrived, worker:1 missing for \d/ }).waitFor();
  await seen.page.waitForFunction(() => document.querySelectorAll('.member.is-awaited').length === 1);
  assert.deepEqual(await looks(seen, 'checkpoint'), ['worker:0 member is-there', 'worker:2 member is-there', 'worker:1 member is-awaited']);
  assert.deepEqual(await seen.at('arrived').locator('code').allInnerTexts(), ['worker:0', 'worker:2']);
  assert.deepEqual(await seen.at('missing').locator('code').allInnerTexts(), ['worker:1']);

  const dot = row(seen, 'checkpoint').locator('[data-task="worker:2"]');
  await dot.focus();
  const tip = dot.locator('bdi');
  assert.match(await tip.innerText(), /^worker:2 arrived at \d\d:\d\d:\d\d, [\d.]+ m?s after the first$/);
  assert.ok((await tip.boundingBox()).width > 100, 'the time is visible while the dot has the focus');
  assert.match(await dot.getAttribute('href'), /^\/fleet\/worker(:|%3A)2\?cluster=train$/);
  for (const theme of ['light', 'dark']) {
    await seen.at(`theme-${theme}`).click();
    await seen.page.screenshot({ path: join(shots, `agreement-${theme}.png`) });
  }

  waits.push(agents[1].barrier('checkpoint', 60_000));
  await Promise.all(waits);
  await row(seen, 'checkpoint').waitFor({ state: 'detached' });
  const passed = seen.at('ended-row', '[data-barrier="checkpoint"][data-state="PASSED"]');
  await passed.locator('[data-testid="last-to-arrive"]').filter({ hasText: /worker:1 [\d.]+ m?s? ?\S* after the first/ }).waitFor();
});

// The barrier waits until all tests have ended: a page that asks for it just then would get 404.
const stop = new AbortController();
after(() => stop.abort());

test('a barrier of many members shows one line a host', async () => {
  const at = (task) => fetch(`${cluster.url}/api/v1/clusters/large/barriers/wide/wait?task=worker:${task}&timeout=60s`, { method: 'POST', signal: stop.signal }).catch(() => {});
  void at(0);
  void at(7);
  await cluster.arrived('large', 'wide', 2);
  const seen = await visitor('/agreement?cluster=large');
  await seen.at('host-dot').first().waitFor();
  assert.equal(await row(seen, 'wide').locator('[data-testid="dot"]').count(), 0);
  assert.match(await seen.at('host-dot').first().innerText(), new RegExp(`2 of ${MANY}`));
  await row(seen, 'wide').filter({ hasText: `2 of ${MANY} arrived, worker:1, worker:2, worker:3 and 75 more missing` }).waitFor();
});

test('on a phone no barrier is cut or scrolls sideways', async () => {
  const ends = [agents[0].barrier('a/very/long/name/of/a/barrier/that/does/not/fit/into/one/line', 60_000), agents[1].barrier('a/very/long/name/of/a/barrier/that/does/not/fit/into/one/line', 60_000)];
  const seen = await visitor('/agreement', { viewport: { width: 390, height: 844 }, reducedMotion: 'reduce' });
  await seen.page.locator('.member.is-awaited').waitFor();
  assert.ok(await seen.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'scrolls sideways');
  const cut = await seen.at('barrier').evaluateAll((all) => all.flatMap((r) => [...r.querySelectorAll(':scope > *')].filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow === 'hidden').map((e) => e.textContent)));
  assert.deepEqual(cut, []);
  await seen.page.screenshot({ path: join(shots, 'agreement-phone.png'), fullPage: true });
  ends.push(agents[2].barrier('a/very/long/name/of/a/barrier/that/does/not/fit/into/one/line', 60_000));
  await Promise.all(ends);
});

test('ctrl-K finds barriers, and keys of other clusters', async () => {
  const waits = [agents[0].barrier('save/2', 60_000)];
  await cluster.put('large', 'address/3', '10.0.0.3:99');
  const seen = await visitor('/now?cluster=train');
  await seen.page.keyboard.press('Control+k');
  await seen.at('palette').waitFor();
  await seen.page.keyboard.type('save/2');
  await seen.at('palette-row', '[data-kind="barrier"]').filter({ hasText: 'waiting, 1 of 3 arrived' }).click();
  await row(seen, 'save/2').waitFor();
  await seen.page.keyboard.press('Control+k');
  await seen.at('palette').waitFor();
  await seen.page.keyboard.type('address/3');
  await seen.at('palette-row', '[data-kind="key"]').filter({ hasText: 'large' }).click();
  await seen.reads('value', /10\.0\.0\.3:99/);
  waits.push(agents[1].barrier('save/2', 60_000), agents[2].barrier('save/2', 60_000));
  await Promise.all(waits);
});
