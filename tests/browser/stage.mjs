// One server for all tests of a file, and pages that show it. An error of a page fails the test
// that opened it.
import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';

import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

/** `begin(cluster)` starts the server and its content. `open(path)` opens a page, and `visitor(path)` a connected page. */
export function onStage(begin) {
  let browser;
  let cluster;
  let opened = [];

  before(async () => {
    browser = await launch();
    cluster = new Cluster();
    await begin(cluster);
  });
  after(async () => {
    cluster?.end();
    await browser?.close();
  });
  afterEach(async () => {
    const faults = opened.flatMap((seen) => seen.faults);
    for (const seen of opened) await seen.page.context().close();
    opened = [];
    assert.deepEqual(faults, []);
  });

  async function open(path = '/', options = {}) {
    const seen = await WatchedPage.open(browser, cluster.url + path, options);
    opened.push(seen);
    return seen;
  }
  async function visitor(path, options) {
    const seen = await open(path, options);
    await seen.reads('conn-state', /live/i);
    return seen;
  }
  return { open, visitor };
}
