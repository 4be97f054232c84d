// "Is the server healthy?" in at most two clicks.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

const axe = readFileSync(createRequire(join(process.env.MUSTER_DASHBOARD, 'package.json')).resolve('axe-core/axe.min.js'), 'utf8');
const FIGURES = ['lag', 'queue', 'disk', 'memory', 'cpu', 'history'];
let cluster;

const { visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve('--data-dir', join(made.folder, 'data'));
  cluster.worker(0);
  await cluster.submit('muster.noop', [], 20, 'nightly');
});

const health = async () => (await fetch(`${cluster.url}/api/v1/server/health`)).json();

/** Opens the dialog, waits for its figures and returns the text of each value. */
async function figures(seen) {
  await seen.at('server-dialog').waitFor();
  await seen.at('server-figure', '[data-figure="history"]').waitFor();
  const texts = {};
  for (const figure of FIGURES) texts[figure] = await seen.at('server-figure', `[data-figure="${figure}"] [data-testid="server-value"]`).textContent();
  return texts;
}

test('one click on the brand shows whether the server is healthy, and why', async () => {
  const seen = await visitor('/work');
  await seen.at('server-health', ':not([data-level="unknown"])').waitFor();
  await seen.at('server-health').click();
  const shown = await figures(seen);
  assert.match(shown.lag, /^p99 [\d.]+ (µs|ms|s)$/);
  assert.match(shown.disk, /^p99 [\d.]+ (µs|ms|s)$/);
  assert.match(shown.queue, /^[\d,]+ changes?$/);
  assert.match(shown.cpu, /^[\d.]+ cores$/);
  assert.equal(shown.history, '0 records');
  const { version, process } = await health();
  const megabytes = Number(shown.memory.match(/^(\d+(?:\.\d)?) MB$/)?.[1]);
  assert.ok(Math.abs(megabytes * 1e6 - process.resident_bytes) < 0.2 * process.resident_bytes, `${shown.memory} for ${process.resident_bytes} bytes`);
  await seen.at('server-dialog').filter({ hasText: `Version ${version}, up ` }).waitFor();
  // The dot, the verdict and the worst figure agree.
  const levels = await seen.at('server-figure').evaluateAll((all) => all.map((each) => each.dataset.level));
  const worst = ['bad', 'warn', 'ok'].find((level) => levels.includes(level));
  assert.equal(await seen.at('server-verdict').getAttribute('data-level'), worst);
  assert.equal(await seen.at('server-health').getAttribute('data-level'), worst);
  assert.match(await seen.at('server-health').innerText(), /server: (healthy|needs attention|in trouble)/);
  await seen.page.evaluate(axe);
  const { violations } = await seen.page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  assert.deepEqual(violations.map((v) => `${v.id} ${v.nodes[0].html}`), []);
  await seen.page.keyboard.press('Escape');
  await seen.at('server-dialog').waitFor({ state: 'detached' });
  assert.equal(await seen.page.evaluate(() => document.activeElement.dataset.testid), 'server-health');
});

test('Ctrl-K finds the server health, without a mouse', async () => {
  const seen = await visitor('/now');
  await seen.page.keyboard.press('Control+k');
  await seen.at('palette').waitFor();
  await seen.page.keyboard.type('server health');
  await seen.at('palette-row', '[data-kind="action"]').filter({ hasText: 'Server health' }).waitFor();
  await seen.page.keyboard.press('Enter');
  await figures(seen);
});

test('the dialog fits a phone, and lost history turns the dot amber', async () => {
  const seen = await visitor('/now', { viewport: { width: 390, height: 844 }, hasTouch: true });
  await seen.page.route('**/api/v1/server/health', async (route) => {
    const body = await (await route.fetch()).json();
    await route.fulfill({ json: { ...body, history: { ...body.history, dropped: 7 } } });
  });
  await seen.page.reload();
  await seen.at('server-health', ':is([data-level="warn"], [data-level="bad"])').tap();
  const shown = await figures(seen);
  assert.equal(shown.history, '7 records');
  await seen.at('server-figure', '[data-figure="history"][data-level="warn"] [data-testid="server-advice"]').waitFor();
  const { wide, cut } = await seen.page.evaluate(() => ({
    wide: document.documentElement.scrollWidth > innerWidth,
    cut: [...document.querySelectorAll('[data-testid="server-dialog"] *')].filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1).length,
  }));
  assert.deepEqual({ wide, cut }, { wide: false, cut: 0 });
});

test('a stopped server leaves the dot without a verdict', async () => {
  const seen = await visitor('/now');
  await seen.at('server-health', ':not([data-level="unknown"])').waitFor();
  seen.serverIsDown = true;
  await cluster.killServer();
  await seen.at('server-health', '[data-level="unknown"]').waitFor();
});
