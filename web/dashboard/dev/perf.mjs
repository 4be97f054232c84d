// Measures the dashboard with 10,000 tasks, of which 1,000 change ten times a second (--all: all of them), for 15 s (--seconds
// N), while it paints continuously. Prints a line for each measurement, with its budget.

import { launch, watched } from './browser.mjs';
import { startMock } from './mock.mjs';

const option = (name, otherwise) => (process.argv.includes(`--${name}`) ? Number(process.argv[process.argv.indexOf(`--${name}`) + 1]) : otherwise);
const seconds = option('seconds', 15);
const mock = await startMock({ tasks: option('tasks', 10_000), rate: 10, all: process.argv.includes('--all') });
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const { page, faults } = await watched(context, `${mock.url.replace(/\/$/, '')}/now/charts`);
await page.waitForSelector('[data-testid=task-row]');
const ready = await page.evaluate(() => performance.now());
const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
await page.waitForTimeout(2000);

const cdp = await context.newCDPSession(page);
await cdp.send('Performance.enable');
const metrics = async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]));
const heap = async () => {
  await cdp.send('HeapProfiler.collectGarbage');
  return (await metrics()).JSHeapUsedSize;
};

const heapBefore = await heap();
const before = await metrics();
const frames = await page.evaluate(
  (ms) =>
    new Promise((done) => {
      const gaps = [];
      const end = performance.now() + ms;
      let last = performance.now();
      const step = (now) => {
        gaps.push(now - last);
        last = now;
        if (now < end) requestAnimationFrame(step);
        else done(gaps.slice(1).sort((a, b) => a - b));
      };
      requestAnimationFrame(step);
    }),
  seconds * 1000,
);
const after = await metrics();
const heapAfter = await heap();
const at = (share) => frames[Math.min(frames.length - 1, Math.floor(frames.length * share))].toFixed(1);
const perSecond = (name) => ((1000 * (after[name] - before[name])) / (after.Timestamp - before.Timestamp)).toFixed(0);
const nodes = await page.evaluate(() => document.querySelectorAll('*').length);

const report = [
  ['first paint, ms', paint?.toFixed(0), 250],
  ['content, ms', ready.toFixed(0), 3000],
  ['frame p50, ms', at(0.5), ''],
  ['frame p95, ms', at(0.95), 34],
  ['frame p99, ms', at(0.99), 20],
  ['frame max, ms', at(1), ''],
  ['script, ms/s', perSecond('ScriptDuration'), 80],
  ['main thread, ms/s', perSecond('TaskDuration'), 350],
  ['elements', nodes, 1500],
  ['heap after GC, MB', (heapAfter / 1e6).toFixed(1), 15],
  ['heap growth, MB', ((heapAfter - heapBefore) / 1e6).toFixed(2), 1.5],
];
let over = 0;
for (const [name, value, budget] of report) {
  const bad = budget !== '' && Number(value) > budget;
  over += bad;
  console.log(`${name.padEnd(20)}${String(value).padStart(8)}${budget === '' ? '' : `   budget ${budget}${bad ? '  OVER' : ''}`}`);
}
for (const fault of faults) console.log(fault);
await browser.close();
await mock.close();
process.exit(over + faults.length > 0 ? 1 : 0);
