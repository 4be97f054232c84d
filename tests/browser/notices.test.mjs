import assert from 'node:assert/strict';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

let cluster;

const { open } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
  cluster.worker(0);
});

/** Simulates a tab in the background, and records notifications instead of showing them. */
const behind = () => {
  globalThis.told = [];
  globalThis.Notification = class {
    static permission = 'default';
    static requestPermission = async () => 'granted';
    constructor(title, { body }) {
      globalThis.told.push({ title, body });
      globalThis.newest = this;
    }
    close() {}
  };
  globalThis.inFront = (front) => Object.defineProperty(document, 'hidden', { get: () => !front, configurable: true });
};

test('a lasting new error notifies the user of a hidden page and links to it', async () => {
  const seen = await open('/work');
  await seen.page.context().addInitScript(behind);
  await seen.page.goto(cluster.url);
  await seen.reads('conn-state', /live/i);
  const icon = seen.page.locator('link[rel=icon]');
  assert.match(await seen.page.title(), /^Now/);
  assert.match(await icon.getAttribute('href'), /icon\.svg$/);
  assert.equal(await seen.at('notify').getAttribute('aria-pressed'), 'false'); // off by default
  await seen.at('notify').click();
  await seen.at('notify', '[aria-pressed="true"]').waitFor();
  await cluster.submit('muster.fail', ['before'], 1, 'known');
  await seen.page.waitForFunction(() => /^\(1\) Now/.test(document.title));
  await seen.page.waitForTimeout(1500); // while the tab is visible

  await seen.page.evaluate(() => globalThis.inFront(false));
  const id = await cluster.submit('muster.fail', ['behind'], 1, 'broken');
  await seen.page.waitForFunction(() => globalThis.told.length > 0);
  assert.deepEqual(await seen.page.evaluate(() => globalThis.told.map(({ title }) => title)), ['Job broken failed']);
  await seen.page.waitForFunction(() => /^\(2\) Now/.test(document.title));
  assert.match(await icon.getAttribute('href'), /^data:image\/png/);
  await seen.page.evaluate(() => globalThis.newest.onclick());
  await seen.page.waitForURL(new RegExp(`/runs/${id}`));
});
