// Takes screenshots of the dashboard in its states, light and dark, into shots/ (or the given folder), and runs axe on each.
// Exits with 1 if axe or the browser reports a fault.

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

const FULL = { scenario: 'full', tasks: 200 };
const EMPTY = { scenario: 'empty', tasks: 0 };
const full = (name, path) => ({ name, mock: FULL, path });
const empty = (name, path) => ({ name: `empty-${name}`, mock: EMPTY, path });
const both = (name, path, act) => [
  { name, mock: FULL, path, act },
  { name: `narrow-${name}`, mock: FULL, path, act, width: 390 },
];

const SCENES = [
  { name: 'full', mock: { scenario: 'full', tasks: 10_000 } },
  {
    name: 'small',
    path: '/now/charts',
    mock: { scenario: 'small', tasks: 3 },
    async act({ page, mock }) {
      mock.post('/mock/kill?task=worker:1');
      await page.waitForSelector('[data-testid=task-row][data-task="worker:1"][data-state=ERROR]');
    },
  },
  { name: 'empty', mock: EMPTY },
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
    path: '/now/charts',
    mock: { scenario: 'full', tasks: 10_000 },
    async act({ page }) {
      await page.click('[data-testid=task-row] >> nth=1');
      await page.focus('[data-testid=cluster-map]');
      for (let n = 0; n < 30; ++n) await page.keyboard.press('ArrowRight');
      await wait(300);
    },
  },
  { name: 'narrow', mock: { scenario: 'small', tasks: 7 }, width: 400 },
  full('tasks', '/fleet'),
  {
    name: 'machines',
    mock: FULL,
    path: '/fleet?machines=24h',
    async act({ page }) {
      await page.locator('#machines').scrollIntoViewIfNeeded();
      const box = await page.locator('#machines .course').first().boundingBox();
      await page.mouse.move(box.x + 30, box.y + 8);
    },
  },
  full('tasks-failed', '/fleet?cluster=prod-east.llm-70b'),
  ...both('jobs', '/work'),
  empty('jobs', '/work'),
  full('job', '/runs/job_0000000000000005'),
  { ...full('narrow-job', '/runs/job_0000000000000005?state=FAILED'), width: 390 },
  ...both('closure', '/closures/cl_000000050000a8d1'),
  ...both('worker', '/fleet/worker:3'),
  ...both('values', '/explore/values'),
  ...both('objects', '/explore/objects?object=obj_0000000000000005'),
  full('per-worker', '/explore/per-worker'),
  full('gangs', '/queue'),
  full('sessions', '/sessions'),
  ...both('programs', '/programs'),
  ...both('program', '/runs/prog_0000000000000001?rank=3'),
  ...both('few-program', '/runs/prog_0000000000000002'),
  ...both('mid-program', '/runs/prog_0000000000000005?rank=11'),
  ...both('listed-program', '/runs/prog_0000000000000003?ranks=list'),
  ...both('stacks', '/runs/prog_0000000000000005', async ({ page }) => {
    await page.click('[data-testid=look-at-stacks]');
    await page.waitForSelector('[data-testid=stack-group]');
    await page.locator('#stacks').scrollIntoViewIfNeeded();
  }),
  ...both('large-program', '/runs/prog_0000000000000003'),
  full('waiting-program', '/runs/prog_0000000000000004'),
  full('no-job', '/runs/job_00000000000f4240'),
  full('barriers', '/agreement'),
  {
    name: 'kv',
    mock: FULL,
    path: '/agreement/keys?prefix=config/',
    act: ({ page }) => page.click('[data-testid=key] >> nth=0'),
  },
  full('events', '/explore/events'),
  ...both('logs', '/explore?q=nan'),
  {
    name: 'run-steps',
    mock: FULL,
    path: '/runs/prog_0000000000000002',
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
  ...both('log-at', '/runs/prog_0000000000000001?rank=3&attempt=1&line=27&find=loss'),
  ...both('stream', '/explore/stream'),
  empty('stream', '/explore/stream'),
  full('graph', '/runs/job_0000000000000005/graph'),
  full('large-graph', '/runs/job_0000000000000006/graph'),
  full('grouped-graph', '/runs/job_0000000000000003/graph'),
  ...both('stragglers', '/agreement/stragglers'),
  empty('stragglers', '/agreement/stragglers'),
  { name: 'narrow-barriers', mock: FULL, path: '/agreement', width: 400 },
  { name: 'narrow-kv', mock: FULL, path: '/agreement/keys', width: 400 },
  empty('kv', '/agreement/keys'),
  empty('barriers', '/agreement'),
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
    if (['disconnected', 'no-job'].includes(scene.name)) faults.length = 0; // the browser itself logs failed requests
    if (!['disconnected', 'selected'].includes(scene.name)) await page.click('[data-testid=pause]'); // axe needs a page that does not change

    // Uses the protocol, because the content security policy forbids script tags.
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
