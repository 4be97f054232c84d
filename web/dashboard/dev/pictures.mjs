// Compares pages with the pictures in test/pictures: light, dark and on a phone. After an intended change, run
// `npm run pictures -- --renew` and commit the changed files.
//
// Data and time are fixed, so pictures differ only if the page has changed. The pictures have half the size of the page, which is
// enough to see a change. The system's fonts are used. If texts do not have the same width as in the pictures, nothing is
// compared and the exit status is 77 (skipped, for ctest).

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, watched } from './browser.mjs';
import { startMock } from './mock.mjs';

const NOON = Date.UTC(2026, 10, 27, 12);
const FOLDER = fileURLToPath(new URL('../test/pictures/', import.meta.url));
const OTHER = 40; // a pixel counts as different if a channel differs by more than this (of 255)
const MOST = 0.002; // share of pixels that may differ, such as edges of letters
const SKIPPED = 77;
const PAGES = {
  overview: '/',
  jobs: '/work',
  program: '/runs/prog_0000000000000001',
  logs: '/explore?q=nan&where=closures',
};
const LOOKS = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
};

const renew = process.argv.includes('--renew');
Date.now = () => NOON;

// Returns the widths of texts, which depend on the fonts.
const fontsOf = (page) =>
  page.evaluate(() => {
    const pen = document.createElement('canvas').getContext('2d');
    return ['13px Inter, system-ui, sans-serif', '600 20px Inter, system-ui, sans-serif', '12px ui-monospace, monospace'].map((font) => {
      pen.font = font;
      return Math.round(pen.measureText('Muster 0123456789 worker:1').width * 10) / 10;
    });
  });

// Returns the share of different pixels, or 1 if the sizes differ.
const differs = (page, a, b) =>
  page.evaluate(
    async ([one, two, other]) => {
      const pixels = async (data) => {
        const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
        const pen = new OffscreenCanvas(image.width, image.height).getContext('2d');
        pen.drawImage(image, 0, 0);
        return pen.getImageData(0, 0, image.width, image.height);
      };
      const [p, q] = [await pixels(one), await pixels(two)];
      if (p.width !== q.width || p.height !== q.height) return 1;
      let n = 0;
      for (let at = 0; at < p.data.length; at += 4) if ([0, 1, 2].some((c) => Math.abs(p.data[at + c] - q.data[at + c]) > other)) ++n;
      return (4 * n) / p.data.length;
    },
    [a.toString('base64'), b.toString('base64'), OTHER],
  );

// Returns the screenshot once the page no longer changes.
async function settled(page) {
  let before = Buffer.alloc(0);
  for (let n = 0; n < 20; ++n) {
    await page.waitForTimeout(500);
    const now = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    if (now.equals(before)) return now;
    before = now;
  }
  return before;
}

if (!existsSync(process.env.CHROMIUM || '/usr/bin/chromium')) {
  console.log('PICTURES NOT COMPARED: Chromium is missing; scripts/deps installs it');
  process.exit(process.env.CI === 'true' ? 1 : SKIPPED);
}
const browser = await launch();
const faults = [];
const fontsFile = join(FOLDER, 'fonts.json');
for (const [look, options] of Object.entries(LOOKS))
  for (const [name, path] of Object.entries(PAGES)) {
    const mock = await startMock({ scenario: 'full', tasks: 200, still: true });
    const context = await browser.newContext({ ...options, deviceScaleFactor: 0.5, reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-US' });
    await context.clock.setFixedTime(NOON);
    const { page, faults: seen } = await watched(context, mock.url + path);
    const fonts = await fontsOf(page);
    if (!renew && JSON.stringify(fonts) !== JSON.stringify(JSON.parse(readFileSync(fontsFile, 'utf8')))) {
      console.log('PICTURES NOT COMPARED: the fonts here are others than those of the pictures');
      process.exit(SKIPPED);
    }
    await page.waitForSelector('[data-testid=conn-state][data-state=live]');
    const picture = await settled(page);
    const file = join(FOLDER, `${name}-${look}.png`);
    if (renew) {
      mkdirSync(FOLDER, { recursive: true });
      writeFileSync(fontsFile, `${JSON.stringify(fonts)}\n`);
      const kept = existsSync(file) && (await differs(page, readFileSync(file), picture)) <= MOST;
      if (!kept) writeFileSync(file, picture);
      console.log(`${name} ${look}: ${kept ? 'as before' : 'taken'}`);
    } else {
      const share = existsSync(file) ? await differs(page, readFileSync(file), picture) : 1;
      const bad = share > MOST;
      console.log(`${name} ${look}: ${(100 * share).toFixed(3)} % of the pixels are others${bad ? `, MORE THAN ${100 * MOST} %` : ''}`);
      const now = join(process.env.MUSTER_SCREENSHOTS || join(FOLDER, '../../shots'), `now-${name}-${look}.png`);
      rmSync(now, { force: true });
      if (bad) {
        mkdirSync(join(now, '..'), { recursive: true });
        writeFileSync(now, picture);
        faults.push(`${name} ${look} looks different: compare ${file} with ${now}; if it is wanted, npm run pictures -- --renew`);
      }
    }
    faults.push(...seen.map((fault) => `${name} ${look}: ${fault}`));
    await context.close();
    await mock.close();
  }
await browser.close();
for (const fault of faults) console.log(fault);
process.exit(faults.length > 0 ? 1 : 0);
