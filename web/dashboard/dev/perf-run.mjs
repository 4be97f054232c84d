// Measures the timeline of a run with 1,000 ranks, and with 64 ranks of 100,000 steps each. Measures frames at rest, with a
// moving crosshair, and during zooming. Prints a line for each measurement; fails if more than 1 % of the frames take over 34 ms.

import { framesOf, launch, watched } from './browser.mjs';
import { startMock } from './mock.mjs';

const LATE_MS = 34;
const RUNS = { '1,000 ranks': 'prog_0000000000000003', '64 ranks, 100,000 steps each': 'prog_0000000000000005' };

let bad = 0;
for (const [name, id] of Object.entries(RUNS)) {
  const mock = await startMock({ scenario: 'full', tasks: 200 });
  const browser = await launch();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const { page, faults } = await watched(context, `${mock.url}/runs/${id}`);
  await page.waitForSelector('[data-testid=run-timeline]:not([data-barriers="0"])');
  await page.waitForSelector('[data-testid=run-steps]');
  await page.waitForTimeout(1500);
  const box = await page.locator('[data-testid=run-canvas]').boundingBox();
  console.log(`${name}: ${await page.locator('[data-testid=run-steps] summary').textContent()}`);
  const cost = () => page.evaluate(() => Number(document.querySelector('[data-testid=run-canvas]').dataset.ms));
  const at = (share) => page.mouse.move(box.x + box.width * share, box.y + box.height * share * 0.9);
  await framesOf(page, 'at rest', () => page.waitForTimeout(500), cost);
  let n = 0;
  const cross = await framesOf(page, 'crosshair', () => at((n++ % 100) / 100), cost);
  await at(0.5);
  await page.keyboard.down('Control');
  const wheel = async () => {
    for (const by of [-40, -40, -40, 40, 40, 40]) await page.mouse.wheel(0, by);
  };
  const zoom = await framesOf(page, 'zooming', wheel, cost);
  await page.keyboard.up('Control');
  for (const fault of faults) console.log(fault);
  bad += Number(cross.p99 > LATE_MS) + Number(zoom.p99 > LATE_MS) + faults.length;
  await browser.close();
  await mock.close();
}
process.exit(bad > 0 ? 1 : 0);
