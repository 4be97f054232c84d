// Each page in light and dark, wide and narrow. Axe finds no problem, nothing scrolls sideways, and
// each tab has its own title. No request fails or goes to another host.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Agent } from './agent.mjs';
import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];
const HOSTILE = '<img src=x onerror=alert(1)> \u202Egnp.exe ' + 'long'.repeat(200);
const { cutOff, overlaid } = await import(join(process.env.MUSTER_DASHBOARD, 'dev/looks.mjs'));
const axe = readFileSync(createRequire(join(process.env.MUSTER_DASHBOARD, 'package.json')).resolve('axe-core/axe.min.js'), 'utf8');
let browser;
let cluster;
const agents = [];
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
  ids.program = await cluster.program({ name: 'waits', command: ['echo', HOSTILE], tasks: { worker: { min: 2, max: 4, resources: { gpu: 1 } } }, metadata: { note: HOSTILE } });
  cluster.worker(2, '--allow-programs');
  ids.broken = await cluster.program({ name: 'breaks', command: ['sh', '-c', 'echo "$0" >&2; exit 3', HOSTILE], tasks: { worker: 3 } });
  await train();
});
after(async () => {
  for (const agent of agents) agent.end();
  cluster?.end();
  await browser?.close();
});

/** Declares a cluster with a passed barrier, an incomplete barrier, and a key with hostile text. */
async function train() {
  const { address } = await cluster.declare('train', { worker: 2 });
  agents.push(new Agent(address, 0), new Agent(address, 1));
  await Promise.all(agents.map((agent) => agent.register()));
  await Promise.all(agents.map((agent) => agent.barrier('step/1', 60_000)));
  agents[0].barrier(HOSTILE.slice(0, 200), 900_000).catch(() => {}); // until the server ends
  ids.key = HOSTILE.slice(0, 100);
  await cluster.put('train', ids.key, HOSTILE);
}

const ROUTES = {
  overview: () => '/now',
  charts: () => '/now/charts',
  tasks: () => '/fleet',
  logs: () => '/explore?q=no',
  stream: () => '/explore/stream',
  graph: () => `/runs/${ids.job}/graph`,
  agents: () => '/fleet?cluster=train',
  barriers: () => '/agreement?cluster=train',
  stragglers: () => '/agreement/stragglers?cluster=train',
  events: () => '/explore/events?severity=warnings',
  worker: () => '/fleet/worker:1',
  jobs: () => '/work',
  job: () => `/runs/${ids.job}`,
  'job with a call': () => `/runs/${ids.job}?call=${ids.failed}`,
  'compared job': () => `/runs/${ids.job}?compare=${ids.job}`,
  'failed closure': () => `/closures/${ids.failed}`,
  'waiting closure': () => `/closures/${ids.waits}`,
  programs: () => '/programs',
  'waiting program': () => `/runs/${ids.program}`,
  'failed program': () => `/runs/${ids.broken}?rank=1`,
  'ranks as a list': () => `/runs/${ids.broken}?ranks=list`,
  values: () => '/explore/values',
  'per-worker': () => '/explore/per-worker',
  objects: () => '/explore/objects',
  gangs: () => '/queue',
  sessions: () => '/sessions',
  kv: () => `/agreement/keys?cluster=train&key=${encodeURIComponent(ids.key)}`,
  'closure that there is not': () => '/closures/cl_00000000000f4240',
};

// The second theme only needs the rules on colours, since the rest of the page is the same.
const THEMES = { light: { type: 'tag', values: RULES }, dark: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };

/** Returns the findings of axe as lines. */
async function found(seen, runOnly) {
  const { violations } = await seen.page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules, resultTypes: ['violations'] }), runOnly);
  return violations.map((v) => `${v.id}: ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].any[0]?.message ?? ''}`);
}

for (const [name, path] of Object.entries(ROUTES))
  test(`${name}: accessible in light and dark, wide and narrow layouts`, async () => {
    const titles = new Set();
    for (const width of [1440, 390]) {
      const seen = await WatchedPage.open(browser, cluster.url + path(), { reducedMotion: 'reduce', viewport: { width, height: 844 } });
      if (name === 'closure that there is not') seen.mayRefuse = /\/api\/v1\/closures\//;
      // This server stores no lines on disk, which the page reports.
      if (name === 'logs') seen.mayRefuse = /\/api\/v1\/logs\/search/;
      await seen.page.locator('main .panel').first().waitFor();
      await seen.reads('conn-state', /live/i);
      await seen.page.waitForTimeout(700);
      await seen.at('pause').click(); // axe needs a page that does not change
      assert.equal(await seen.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${width}: scrolls sideways`);
      assert.equal(await seen.page.locator('img[src="x"]').count(), 0);
      assert.deepEqual(await seen.page.evaluate(cutOff), [], `${width}: is cut off without a title`);
      for (const to of [0, 600]) {
        await seen.page.evaluate((y) => scrollTo(0, y), to);
        assert.deepEqual(await seen.page.evaluate(overlaid), [], `${width}: lies over each other, scrolled by ${to}`);
      }
      await seen.page.evaluate(axe);
      for (const [colorScheme, runOnly] of Object.entries(THEMES)) {
        await seen.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await seen.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
        assert.deepEqual(await found(seen, runOnly), [], `${colorScheme}, ${width} wide`);
      }
      titles.add((await seen.page.title()).replace(/^\(\d+\) /, '')); // without the count of alerts
      assert.deepEqual(seen.faults, []);
      await seen.page.context().close();
    }
    assert.equal(titles.size, 1);
    assert.equal(/^Now/.test([...titles][0]), name === 'overview');
  });
