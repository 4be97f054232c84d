// Checks basic behaviour in a browser against the mock: pause, a lost connection, a server restart, keys, and hostile strings.
// Needs only Chromium. The server's tests check the same behaviour against the real server.

import assert from 'node:assert/strict';
import { launch, watched } from './browser.mjs';
import { startMock } from './mock.mjs';

const HOSTILE = `<img src=x onerror=alert(1)> \u202Egnp.exe 🙂 \u0000 ${'long '.repeat(800)}`;
const mock = await startMock({ scenario: 'small', tasks: 1200 });
const { port } = new URL(mock.url);
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const { page, faults } = await watched(context, `${mock.url.replace(/\/$/, '')}/now/charts`);
const conn = (state) => page.waitForSelector(`[data-testid=conn-state][data-state=${state}]`, { timeout: 15_000 });
const text = (testid) => page.textContent(`[data-testid=${testid}]`);
const row = (task, state) => page.waitForSelector(`[data-testid=task-row][data-task="${task}"][data-state=${state}]`);

async function step(name, run) {
  await run();
  console.log(`ok ${name}`);
}

await conn('live');
await step('a killed worker turns red, with its reason', async () => {
  mock.post('/mock/kill?task=worker:7');
  const element = await row('worker:7', 'ERROR');
  assert.match(await element.textContent(), /connection closed by the worker/);
  mock.post('/mock/revive?task=worker:7');
  await row('worker:7', 'CONNECTED');
});
await step('hostile strings are text', async () => {
  mock.post(`/mock/error?task=worker:3&text=${encodeURIComponent(HOSTILE)}`);
  await (await row('worker:3', 'ERROR')).click();
  assert.match(await text('task-detail'), /<img src=x onerror/);
  assert.equal(await page.locator('img[src="x"]').count(), 0);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
});
await step('pause holds the numbers, resume catches up', async () => {
  await page.keyboard.press('Escape');
  await page.keyboard.press('p');
  await conn('paused');
  await page.waitForTimeout(300);
  const held = [await text('key-tasks'), await text('values-ready'), await page.locator('[data-testid=task-list]').textContent()];
  mock.post('/mock/kill?task=worker:9');
  await page.waitForTimeout(2500);
  assert.deepEqual([await text('key-tasks'), await text('values-ready'), await page.locator('[data-testid=task-list]').textContent()], held);
  await page.click('[data-testid=pause]');
  await conn('live');
  await row('worker:9', 'ERROR');
});
await step('keys reach the last of 1,200 rows', async () => {
  await page.focus('[data-testid=task-list]');
  await page.keyboard.press('End');
  await row('worker:1199', 'CONNECTED');
  const active = await page.getAttribute('[data-testid=task-list]', 'aria-activedescendant');
  assert.equal(await page.locator(`#${active}`).getAttribute('data-task'), 'worker:1199');
  await page.evaluate(() => (document.querySelector('[data-testid=task-list]').scrollTop = 0));
  await page.waitForTimeout(200);
  assert.equal(await page.locator(`#${active}`).count(), 1, 'the selected row stays mounted');
  assert.ok((await page.locator('[data-testid=task-row]').count()) < 60);
});
await step('find filters, keeps itself in the address, and clears', async () => {
  await page.keyboard.press('/');
  await page.keyboard.type('worker:119');
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=task-row]').length === 11);
  assert.equal(new URL(page.url()).searchParams.get('q'), 'worker:119');
  await page.keyboard.type('zzz');
  await page.getByText('No task has a name, host or incarnation').waitFor();
  await page.keyboard.press('Escape');
  await row('worker:0', 'CONNECTED');
});
await step('the map answers to keys and shows its task', async () => {
  await page.focus('[data-testid=cluster-map]');
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
  assert.match(await text('task-detail'), /^worker:\d+/);
});
await step('the theme is kept', async () => {
  await page.click('[data-testid=theme-dark]');
  await page.reload();
  await conn('live');
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark');
  await page.click('[data-testid=theme-auto]');
});
await step('a dropped connection comes back by itself', async () => {
  mock.post('/mock/drop');
  await conn('reconnecting');
  await conn('live');
  assert.equal(await page.locator('[data-testid=banner-reboot]').count(), 0);
});
assert.deepEqual(faults, []); // from here on, the browser logs refused connections
await step('a stopped server is said so; another boot is live without reload, with a banner', async () => {
  const tasks = await page.textContent('[data-testid=key-tasks] .key-of');
  await mock.close();
  await conn('reconnecting');
  await page.getByText(/The data shown is 2\.\d s old/).waitFor();
  const next = await startMock({ scenario: 'small', tasks: 5, port: Number(port) });
  next.post('/mock/reboot');
  next.post('/mock/reboot');
  await page.click('[data-testid=banner-lost] button');
  await conn('live');
  await page.waitForFunction((all) => document.querySelector('[data-testid=key-tasks] .key-of').textContent !== all, tasks);
  await next.close();
});
assert.deepEqual(
  faults.filter((fault) => !/ERR_CONNECTION_REFUSED|WebSocket/.test(fault)),
  [],
);
await browser.close();
console.log('all passed');
process.exit(0);
