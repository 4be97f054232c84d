// Takes screenshots of the page in its states, light and dark, into shots/ (or the folder named), and runs axe on each.
// Ends with 1 if axe or the browser found anything.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { launch, watched } from './browser.mjs';
import { cutOff, overlaid } from './looks.mjs';
import { startMock } from './mock.mjs';

const out = process.argv[2] ?? 'shots';
mkdirSync(out, { recursive: true });
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

const SCENES = [
  { name: 'full', mock: { scenario: 'full', tasks: 10_000 } },
  {
    name: 'small',
    mock: { scenario: 'small', tasks: 3 },
    async act({ page, mock }) {
      mock.post('/mock/kill?task=worker:1');
      await page.waitForSelector('[data-testid=task-row][data-task="worker:1"][data-state=ERROR]');
    },
  },
  { name: 'empty', mock: { scenario: 'empty', tasks: 0 } },
  {
    name: 'disconnected',
    mock: { scenario: 'full', tasks: 10_000 },
    async act({ page, mock }) {
      await mock.close();
      await page.waitForSelector('[data-testid=conn-state][data-state=reconnecting]');
      await wait(4000);
    },
  },
  {
    name: 'selected',
    mock: { scenario: 'full', tasks: 10_000 },
    async act({ page }) {
      await page.click('[data-testid=task-row] >> nth=1');
      await page.focus('[data-testid=cluster-map]');
      for (let n = 0; n < 30; ++n) await page.keyboard.press('ArrowRight');
      await wait(300);
    },
  },
  { name: 'narrow', mock: { scenario: 'small', tasks: 7 }, width: 400 },
  { name: 'tasks', mock: { scenario: 'full', tasks: 200 }, path: '/tasks' },
  {
    name: 'machines',
    mock: { scenario: 'full', tasks: 200 },
    path: '/tasks?machines=24h',
    async act({ page }) {
      await page.locator('#machines').scrollIntoViewIfNeeded();
      const box = await page.locator('#machines .course').first().boundingBox();
      await page.mouse.move(box.x + 30, box.y + 8);
    },
  },
  { name: 'tasks-failed', mock: { scenario: 'full', tasks: 200 }, path: '/tasks?cluster=prod-east.llm-70b' },
  { name: 'jobs', mock: { scenario: 'full', tasks: 200 }, path: '/jobs' },
  { name: 'narrow-jobs', mock: { scenario: 'full', tasks: 200 }, path: '/jobs', width: 400 },
  { name: 'empty-jobs', mock: { scenario: 'empty', tasks: 0 }, path: '/jobs' },
  { name: 'job', mock: { scenario: 'full', tasks: 200 }, path: '/jobs/job_0000000000000005' },
  { name: 'narrow-job', mock: { scenario: 'full', tasks: 200 }, path: '/jobs/job_0000000000000005?state=FAILED', width: 390 },
  { name: 'closure', mock: { scenario: 'full', tasks: 200 }, path: '/closures/cl_000000050000a8d1' },
  { name: 'narrow-closure', mock: { scenario: 'full', tasks: 200 }, path: '/closures/cl_000000050000a8d1', width: 390 },
  { name: 'worker', mock: { scenario: 'full', tasks: 200 }, path: '/workers/worker:3' },
  { name: 'narrow-worker', mock: { scenario: 'full', tasks: 200 }, path: '/workers/worker:3', width: 390 },
  { name: 'values', mock: { scenario: 'full', tasks: 200 }, path: '/values' },
  { name: 'narrow-values', mock: { scenario: 'full', tasks: 200 }, path: '/values', width: 390 },
  { name: 'objects', mock: { scenario: 'full', tasks: 200 }, path: '/objects?object=obj_0000000000000005' },
  { name: 'narrow-objects', mock: { scenario: 'full', tasks: 200 }, path: '/objects?object=obj_0000000000000005', width: 390 },
  { name: 'per-worker', mock: { scenario: 'full', tasks: 200 }, path: '/per-worker' },
  { name: 'gangs', mock: { scenario: 'full', tasks: 200 }, path: '/gangs' },
  { name: 'sessions', mock: { scenario: 'full', tasks: 200 }, path: '/sessions' },
  { name: 'programs', mock: { scenario: 'full', tasks: 200 }, path: '/programs' },
  { name: 'narrow-programs', mock: { scenario: 'full', tasks: 200 }, path: '/programs', width: 390 },
  { name: 'program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000001?rank=3' },
  { name: 'narrow-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000001?rank=3', width: 390 },
  { name: 'few-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000002' },
  { name: 'narrow-few-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000002', width: 390 },
  { name: 'mid-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000005?rank=11' },
  { name: 'narrow-mid-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000005', width: 390 },
  { name: 'listed-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000003?ranks=list' },
  { name: 'narrow-listed-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000003?ranks=list', width: 390 },
  {
    name: 'stacks',
    mock: { scenario: 'full', tasks: 200 },
    path: '/programs/prog_0000000000000005',
    async act({ page }) {
      await page.click('[data-testid=look-at-stacks]');
      await page.waitForSelector('[data-testid=stack-group]');
      await page.locator('#stacks').scrollIntoViewIfNeeded();
    },
  },
  {
    name: 'narrow-stacks',
    mock: { scenario: 'full', tasks: 200 },
    path: '/programs/prog_0000000000000005',
    width: 390,
    async act({ page }) {
      await page.click('[data-testid=look-at-stacks]');
      await page.waitForSelector('[data-testid=stack-group]');
      await page.locator('#stacks').scrollIntoViewIfNeeded();
    },
  },
  { name: 'large-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000003' },
  { name: 'narrow-large-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000003', width: 390 },
  { name: 'waiting-program', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000004' },
  { name: 'no-job', mock: { scenario: 'full', tasks: 200 }, path: '/jobs/job_00000000000f4240' },
  { name: 'barriers', mock: { scenario: 'full', tasks: 200 }, path: '/barriers' },
  {
    name: 'kv',
    mock: { scenario: 'full', tasks: 200 },
    path: '/kv?prefix=config/',
    act: ({ page }) => page.click('[data-testid=key] >> nth=0'),
  },
  { name: 'events', mock: { scenario: 'full', tasks: 200 }, path: '/events' },
  { name: 'logs', mock: { scenario: 'full', tasks: 200 }, path: '/logs?q=nan' },
  { name: 'narrow-logs', mock: { scenario: 'full', tasks: 200 }, path: '/logs?q=nan', width: 390 },
  {
    name: 'run-steps',
    mock: { scenario: 'full', tasks: 200 },
    path: '/programs/prog_0000000000000002',
    async act({ page }) {
      const box = await page.locator('[data-testid=run-canvas]').boundingBox();
      await page.mouse.move(box.x + box.width * 0.9, box.y + 30);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.92, box.y + 30);
      await page.mouse.up();
      await page.locator('[data-testid=run-steps] summary').click();
      await page.mouse.move(box.x + box.width * 0.4, box.y + 40);
    },
  },
  { name: 'log-at', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000001?rank=3&attempt=1&line=27&find=loss' },
  { name: 'narrow-log-at', mock: { scenario: 'full', tasks: 200 }, path: '/programs/prog_0000000000000001?rank=3&attempt=1&line=27&find=loss', width: 390 },
  { name: 'stream', mock: { scenario: 'full', tasks: 200 }, path: '/stream' },
  { name: 'narrow-stream', mock: { scenario: 'full', tasks: 200 }, path: '/stream', width: 390 },
  { name: 'empty-stream', mock: { scenario: 'empty', tasks: 0 }, path: '/stream' },
  { name: 'graph', mock: { scenario: 'full', tasks: 200 }, path: '/jobs/job_0000000000000005/graph' },
  { name: 'large-graph', mock: { scenario: 'full', tasks: 200 }, path: '/jobs/job_0000000000000006/graph' },
  { name: 'grouped-graph', mock: { scenario: 'full', tasks: 200 }, path: '/jobs/job_0000000000000003/graph' },
  { name: 'stragglers', mock: { scenario: 'full', tasks: 200 }, path: '/stragglers' },
  { name: 'narrow-stragglers', mock: { scenario: 'full', tasks: 200 }, path: '/stragglers', width: 390 },
  { name: 'empty-stragglers', mock: { scenario: 'empty', tasks: 0 }, path: '/stragglers' },
  { name: 'narrow-barriers', mock: { scenario: 'full', tasks: 200 }, path: '/barriers', width: 400 },
  { name: 'narrow-kv', mock: { scenario: 'full', tasks: 200 }, path: '/kv', width: 400 },
  { name: 'empty-kv', mock: { scenario: 'empty', tasks: 0 }, path: '/kv' },
  { name: 'empty-barriers', mock: { scenario: 'empty', tasks: 0 }, path: '/barriers' },
];

let bad = 0;
const only = process.argv[3];
const browser = await launch();
for (const scene of SCENES.filter(({ name }) => !only || name === only)) {
  for (const theme of ['light', 'dark']) {
    const mock = await startMock(scene.mock);
    const context = await browser.newContext({ viewport: { width: scene.width ?? 1440, height: 900 }, colorScheme: theme, bypassCSP: false });
    const { page, faults } = await watched(context, mock.url + (scene.path ?? ''));
    await page.waitForSelector('[data-testid=conn-state][data-state=live]');
    await wait(2500);
    await scene.act?.({ page, mock });
    await wait(700);
    const file = join(out, `${scene.name}-${theme}.png`);
    await page.screenshot({ path: file, fullPage: true });
    if (['disconnected', 'no-job'].includes(scene.name)) faults.length = 0; // what fails is logged by the browser itself
    if (!['disconnected', 'selected'].includes(scene.name)) await page.click('[data-testid=pause]'); // axe wants a page that holds still

    // Through the protocol, not a script tag: the page's policy forbids those.
    await page.evaluate(axe);
    const { violations, passes, incomplete } = await page.evaluate((tags) => globalThis.axe.run(document, { runOnly: tags }), TAGS);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) faults.push('the page scrolls sideways');
    for (const text of new Set(await page.evaluate(cutOff))) faults.push(`cut off without a title: ${text}`);
    for (const two of await page.evaluate(overlaid)) faults.push(`over each other: ${two}`);
    console.log(`${scene.name} ${theme}: ${passes.length} rules passed, ${incomplete.length} incomplete, ${violations.length} violations ${file}`);
    for (const { id, nodes } of violations)
      console.log(
        `  ${id}: ${nodes
          .map((node) => `${node.html.slice(0, 140)} ${node.any[0]?.message ?? ''}`)
          .slice(0, 3)
          .join('\n    ')}`,
      );
    for (const fault of faults) console.log(`  ${fault}`);
    bad += violations.length + faults.length;
    await context.close();
    if (scene.name !== 'disconnected') await mock.close();
  }
}
await browser.close();
process.exit(bad > 0 ? 1 : 0);
