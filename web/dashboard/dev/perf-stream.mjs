// Measures the task stream with 50,000 bars (--bars N) in ten minutes on 24 workers: frames during dragging and zooming. Prints a
// line for each measurement; fails below 30 frames per second.

import { framesOf, launch, watched } from './browser.mjs';
import { startMock } from './mock.mjs';

const option = (name, otherwise) => (process.argv.includes(`--${name}`) ? Number(process.argv[process.argv.indexOf(`--${name}`) + 1]) : otherwise);
const bars = option('bars', 50_000);
const mock = await startMock({ tasks: 24, bars });
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const now = Date.now();
const { page, faults } = await watched(context, `${mock.url}/explore/stream?from=${now - 580_000}&to=${now - 20_000}`);
await page.waitForFunction(() => Number(document.querySelector('[data-testid=stream-canvas]')?.dataset.runs) > 1000);
await page.waitForTimeout(1500);
const canvas = await page.locator('[data-testid=stream-canvas]').boundingBox();
const held = await page.locator('#stream .note').first().textContent();

const costs = () => page.evaluate(() => Number(document.querySelector('[data-testid=stream-canvas]').dataset.ms));
const frames = (name, act) => framesOf(page, name, act, costs);

console.log(held);
const runs = await page.evaluate(() => document.querySelector('[data-testid=stream-canvas]').dataset.runs);
console.log(`runs of pixels in the first picture: ${runs}`);
const y = canvas.y + canvas.height / 2;
const x = canvas.x + canvas.width / 2;
let way = 1;
await frames('at rest', () => page.waitForTimeout(500)); // current speed of this machine
const pan = await frames('dragging', async () => {
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let n = 0; n < 30; ++n) await page.mouse.move(x + way * n * 4, y);
  await page.mouse.up();
  way = -way;
});
await page.keyboard.down('Control');
const zoom = await frames('zooming', async () => {
  for (const by of [-40, -40, -40, 40, 40, 40]) await page.mouse.wheel(0, by);
});
await page.keyboard.up('Control');
for (const fault of faults) console.log(fault);
await browser.close();
await mock.close();
process.exit(pan.fps < 30 || zoom.fps < 30 || faults.length > 0 ? 1 : 0);
