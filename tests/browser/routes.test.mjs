// Each page of the dashboard, light and dark, wide and as narrow as a telephone: axe finds nothing, nothing scrolls
// sideways, nothing is asked of another host, and every tab has a title of its own.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];
const HOSTILE = '<img src=x onerror=alert(1)> \u202Egnp.exe ' + 'long'.repeat(200);
const axe = readFileSync(createRequire(join(process.env.MUSTER_DASHBOARD, 'package.json')).resolve('axe-core/axe.min.js'), 'utf8');
let browser;
let cluster;
const ids = {};

before(async () => {
  browser = await launch();
  cluster = new Cluster();
  await cluster.serve();
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2', '--label', 'zone=a', '--resource', 'gpu=2');
  ids.job = await cluster.submitAll(HOSTILE.slice(0, 200), [
    { function: 'muster.fail', args: [HOSTILE] },
    { function: 'muster.sleep', args: [600_000] },
    { function: 'muster.echo', args: [HOSTILE], options: { labels: { zone: 'mars' } } },
  ], { on_error: 'continue' });
  const { closures } = await cluster.get(`/api/v1/jobs/${ids.job}/closures`);
  [ids.failed, , ids.waits] = closures.map((c) => c.id);
});
after(async () => {
  cluster?.end();
  await browser?.close();
});

const ROUTES = {
  tasks: () => '/tasks',
  stream: () => '/stream',
  graph: () => `/jobs/${ids.job}/graph`,
  barriers: () => '/barriers',
  stragglers: () => '/stragglers',
  events: () => '/events?severity=warnings',
  worker: () => '/workers/worker:1',
  jobs: () => '/jobs',
  job: () => `/jobs/${ids.job}`,
  'failed closure': () => `/closures/${ids.failed}`,
  'waiting closure': () => `/closures/${ids.waits}`,
  values: () => '/values',
  'per-worker': () => '/per-worker',
  gangs: () => '/gangs',
  sessions: () => '/sessions',
  kv: () => '/kv',
};

for (const [name, path] of Object.entries(ROUTES))
  test(`${name}: readable for everybody, light and dark, wide and narrow`, async () => {
    const titles = new Set();
    for (const [colorScheme, width] of [['light', 1440], ['dark', 390]]) {
      const seen = await WatchedPage.open(browser, cluster.url + path(), { colorScheme, viewport: { width, height: 844 } });
      await seen.page.locator('main .panel').first().waitFor();
      await seen.reads('conn-state', /live/i);
      await seen.page.waitForTimeout(700);
      await seen.at('pause').click(); // axe wants a page that holds still
      assert.equal(await seen.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${width}: scrolls sideways`);
      assert.equal(await seen.page.locator('img[src="x"]').count(), 0);
      await seen.page.evaluate(axe);
      const { violations } = await seen.page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules }), RULES);
      assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].any[0]?.message ?? ''}`), []);
      titles.add(await seen.page.title());
      assert.deepEqual(seen.faults.filter((fault) => !/status of 40[04]/.test(fault)), []); // a page says itself what it was refused
      await seen.page.context().close();
    }
    assert.equal(titles.size, 1);
    assert.doesNotMatch([...titles][0], /Overview/);
  });
