// Compares all pages with the pictures in test/pictures: in light colours and on a phone, some also in dark colours. After an
// intended change, run `npm run pictures -- --renew` and commit the changed files. `npm run pictures -- now queue` compares two pages.
//
// Data and time are fixed, so pictures differ only if the page has changed. The pictures have half the size of the page, which is
// enough to see a change. The system's fonts are used. If texts do not have the same width as in the pictures, nothing is
// compared and the exit status is 77 (skipped, for ctest).

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, watched } from './browser.mjs';
import { startGallery } from './gallery.mjs';
import { startMock } from './mock.mjs';
import { smaller } from './png.mjs';

const NOON = Date.UTC(2026, 10, 27, 12);
const FOLDER = fileURLToPath(new URL('../test/pictures/', import.meta.url));
const OTHER = 40; // a pixel counts as different if a channel differs by more than this (of 255)
const MOST = 0.002; // share of pixels that may differ, such as edges of letters
const SKIPPED = 77;
const TOGETHER = 4; // pages that are open at the same time, because most of the time is waiting
const STILL_MS = 300; // a picture is taken when the page has not changed for this time

const DARK = ['light', 'dark', 'phone'];
const MOSTLY = ['light', 'phone'];
const job = '/runs/job_0000000000000005';
const PAGES = {
  now: ['/now', DARK],
  charts: ['/now/charts', MOSTLY],
  work: ['/work', DARK],
  job: [job, MOSTLY],
  call: [`${job}?call=cl_000000050000a8d1`, MOSTLY], // the inspector of a failed call
  compare: [`${job}?compare=job_0000000000000008`, ['light']],
  graph: ['/runs/job_0000000000000005/graph', ['light']],
  closure: ['/closures/cl_000000050000a8d1', MOSTLY],
  program: ['/runs/prog_0000000000000001', DARK],
  rank: ['/runs/prog_0000000000000002?rank=3', MOSTLY], // the inspector of a rank
  queue: ['/queue', MOSTLY],
  fleet: ['/fleet', DARK],
  worker: ['/fleet/worker:3', MOSTLY],
  agreement: ['/agreement', MOSTLY],
  stragglers: ['/agreement/stragglers', ['light']],
  keys: ['/agreement/keys?prefix=config/', ['light']],
  logs: ['/explore?q=nan&where=closures', MOSTLY],
  events: ['/explore/events', MOSTLY],
  stream: [`/explore/stream?from=${NOON - 60_000}&to=${NOON}`, MOSTLY], // a fixed range, because the newest minute moves
  values: ['/explore/values', MOSTLY],
  'per-worker': ['/explore/per-worker', ['light']],
  objects: ['/explore/objects?object=obj_0000000000000005', ['light']],
  'empty-now': ['/now', MOSTLY, 'empty'],
  'empty-work': ['/work', ['light'], 'empty'],
  'empty-values': ['/explore/values', ['light'], 'empty'],
  gallery: ['/', DARK, 'gallery'], // the shared components in all states
};
const LOOKS = {
  light: { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
};

const renew = process.argv.includes('--renew');
const only = process.argv.slice(2).filter((word) => !word.startsWith('-'));
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

// Returns the screenshot once the page looks like the stored picture or no longer changes, and the share of different pixels.
async function settled(page, stored) {
  let before = Buffer.alloc(0);
  let same = 0;
  let share = 1;
  for (let n = 0; n < 40 && same < 3; ++n) {
    const now = await page.screenshot({ animations: 'disabled', caret: 'hide' });
    same = now.equals(before) ? same + 1 : 0;
    if (stored && same === 0) share = await differs(page, stored, now);
    before = now;
    if (share <= MOST) break;
    await page.waitForTimeout(STILL_MS);
  }
  return { picture: before, share };
}

if (!existsSync(process.env.CHROMIUM || '/usr/bin/chromium')) {
  console.log('PICTURES NOT COMPARED: Chromium is missing; scripts/deps installs it');
  process.exit(process.env.CI === 'true' ? 1 : SKIPPED);
}
const browser = await launch();
const servers = {
  full: await startMock({ scenario: 'full', tasks: 200, still: true }),
  empty: await startMock({ scenario: 'empty', tasks: 0, still: true }),
  gallery: await startGallery(),
};
const faults = [];
const fontsFile = join(FOLDER, 'fonts.json');
mkdirSync(FOLDER, { recursive: true });

async function compare(name, look) {
  const [path, , scenario = 'full'] = PAGES[name];
  const context = await browser.newContext({ ...LOOKS[look], deviceScaleFactor: 0.5, reducedMotion: 'reduce', timezoneId: 'UTC', locale: 'en-US' });
  await context.clock.setFixedTime(NOON);
  const { page, faults: seen } = await watched(context, servers[scenario].url + path);
  const fonts = JSON.stringify(await fontsOf(page));
  if (renew) writeFileSync(fontsFile, `${fonts}\n`);
  else if (fonts !== JSON.stringify(JSON.parse(readFileSync(fontsFile, 'utf8')))) {
    console.log('PICTURES NOT COMPARED: the fonts here are others than those of the pictures');
    process.exit(SKIPPED);
  }
  await page.waitForSelector(scenario === 'gallery' ? 'main .panel' : '[data-testid=conn-state][data-state=live]');
  if (renew) await page.waitForLoadState('networkidle');
  const file = join(FOLDER, `${name}-${look}.png`);
  const stored = existsSync(file) ? readFileSync(file) : null;
  const { picture, share } = await settled(page, stored);
  const bad = share > MOST;
  if (renew) {
    if (bad) writeFileSync(file, await smaller(page, picture));
    console.log(`${name} ${look}: ${bad ? 'taken' : 'as before'}`);
  } else {
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
}

const wanted = Object.entries(PAGES).flatMap(([name, [, looks]]) => (only.length === 0 || only.includes(name) ? looks.map((look) => [name, look]) : []));
if (renew && only.length === 0) {
  const files = new Set(wanted.map(([name, look]) => `${name}-${look}.png`));
  for (const file of readdirSync(FOLDER)) if (file.endsWith('.png') && !files.has(file)) rmSync(join(FOLDER, file));
}
await Promise.all(
  Array.from({ length: TOGETHER }, async () => {
    for (let next = wanted.shift(); next; next = wanted.shift()) await compare(...next);
  }),
);
await browser.close();
for (const fault of faults) console.log(fault);
process.exit(faults.length > 0 ? 1 : 0);
