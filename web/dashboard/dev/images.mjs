// Takes the pictures of the documentation, in docs/images, of a real server with a real load (scene.mjs).
//
//   npm run build && MUSTER_BINARY=… MUSTER_PYTHON=PYTHON_WITH_MUSTER node dev/images.mjs

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { launch, watched } from './browser.mjs';
import { smaller } from './png.mjs';
import { startScene } from './scene.mjs';

const FOLDER = fileURLToPath(new URL('../../../docs/images/', import.meta.url));
const MOST_BYTES = 150_000;

const { cluster, ids, end } = await startScene();
const browser = await launch();
const failed = (await cluster.get(`/api/v1/jobs/${ids.failed}/closures?state=FAILED`)).closures[0].id;
const IMAGES = [
  ['overview-light', '/now', 'light'],
  ['stream-dark', '/explore/stream', 'dark'],
  ['job-light', `/runs/${ids.failed}?call=${failed}`, 'light'],
];
try {
  for (const [name, path, colorScheme] of IMAGES) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme, reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-US' });
    const { page } = await watched(context, cluster.url + path);
    await page.waitForSelector('[data-testid=conn-state][data-state=live]');
    await page.waitForTimeout(3000);
    await page.evaluate(() => scrollTo(0, 0));
    let picture = await page.screenshot();
    if (picture.length > MOST_BYTES) picture = await smaller(page, picture);
    writeFileSync(`${FOLDER}${name}.png`, picture);
    console.log(`${name}: ${picture.length} bytes`);
    if (picture.length > MOST_BYTES) process.exitCode = 1;
    await context.close();
  }
} finally {
  await browser.close();
  end();
}
process.exit();
