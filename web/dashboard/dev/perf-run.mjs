// Measures the timeline of a run of 1,000 ranks: frames at rest, while the crosshair moves, and while it is zoomed. Prints
// a line for each; fails below 30 frames a second.

import { framesOf, launch, watched } from './browser.mjs';
import { startMock } from './mock.mjs';

const mock = await startMock({ scenario: 'full', tasks: 200 });
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
const { page, faults } = await watched(context, `${mock.url}/programs/prog_0000000000000003`);
await page.waitForSelector('[data-testid=run-timeline]:not([data-barriers="0"])');
await page.waitForTimeout(1500);
const box = await page.locator('[data-testid=run-canvas]').boundingBox();
console.log(await page.locator('#run .note').first().textContent());
const cost = () => page.evaluate(() => Number(document.querySelector('[data-testid=run-canvas]').dataset.ms));
const at = (share) => page.mouse.move(box.x + box.width * share, box.y + box.height * share * 0.9);
await framesOf(page, 'at rest', () => page.waitForTimeout(500), cost);
let n = 0;
const cross = await framesOf(page, 'crosshair', () => at((n++ % 100) / 100), cost);
await at(0.5);
await page.keyboard.down('Control');
const zoom = await framesOf(
  page,
  'zooming',
  async () => {
    for (const by of [-40, -40, -40, 40, 40, 40]) await page.mouse.wheel(0, by);
  },
  cost,
);
await page.keyboard.up('Control');
for (const fault of faults) console.log(fault);
await browser.close();
await mock.close();
process.exit(cross < 30 || zoom < 30 || faults.length > 0 ? 1 : 0);
