// Opens every page of a scripted cluster, and compares every number with REST and with the actions of the script. All
// differences are reported in one list.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Cluster } from './cluster.mjs';
import { pages } from './invariant/lists.mjs';
import { on, Reading, rest, sum } from './invariant/reading.mjs';
import { closure, health, job, program } from './invariant/runs.mjs';
import { hasPython, MODEL, Scene } from './invariant/scene.mjs';
import { launch, WatchedPage } from './page.mjs';

const PATIENCE_MS = 8000; // time for a page to show the current numbers
const LEAST = 100;
const only = new RegExp(process.env.MUSTER_PAGES ?? ''); // pages to read while somebody works on one of them

let browser;
let seen;
let began;
let scene;

before(async () => {
  const dashboard = process.env.MUSTER_DASHBOARD;
  const { build } = createRequire(join(dashboard, 'package.json'))('esbuild');
  const built = await build({ entryPoints: [join(dashboard, 'src/shared/model/format.ts')], bundle: true, format: 'esm', write: false });
  on.format = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString('base64')}`);
  browser = await launch();
  on.cluster = new Cluster();
  scene = new Scene(on.cluster);
  began = Date.now();
  await scene.play();
  on.session = (await rest('work?kind=session')).runs[0]?.id;
  seen = await WatchedPage.open(browser, on.cluster.url);
});
after(async () => {
  scene?.end();
  await browser?.close();
});

const readings = [];

/** Reads the page again until all its numbers are as expected or the patience ends. */
async function reads(path, compare, prepare = () => {}) {
  if (!only.test(path)) return;
  await seen.page.goto(on.cluster.url + path.replace('FROM', String(began)).replace('TO', String(Date.now())), { waitUntil: 'commit' });
  await seen.reads('conn-state', /live/i);
  await prepare(seen);
  const end = Date.now() + PATIENCE_MS;
  let reading;
  do {
    if (reading) await new Promise((later) => setTimeout(later, 250));
    reading = new Reading(seen, path);
    await compare(reading).catch((error) => reading.differences.push({ page: path, name: 'cannot be read', shown: error.stack.split('\n').slice(0, 2).join(' '), expected: '' }));
  } while (reading.differences.length > 0 && Date.now() < end);
  for (const fault of seen.faults.splice(0)) reading.differences.push({ page: path, name: 'fault of the page', shown: fault, expected: '' });
  readings.push(reading);
}

async function readsRuns() {
  const { ids } = scene;
  for (const name of ['sweep', 'again', 'flaky', 'blobs', 'stopped', 'waits', 'slow']) await reads(`/runs/${ids[name]}`, (r) => job(r, ids[name], MODEL[name]));
  if (on.session) await reads(`/runs/${on.session}`, (r) => job(r, on.session, MODEL.session));
  for (const name of ['good', 'bad', 'runs']) await reads(`/runs/${ids[name]}`, (r) => program(r, ids[name], MODEL.programs[name]));
  const [{ id }] = (await rest(`jobs/${ids.flaky}/closures`)).closures;
  await reads(`/closures/${id}`, (r) => closure(r, id));
  await reads('/now', health, (seen) => seen.at('server-health').click());
}

test('every number of every page equals that of REST and of the script', { timeout: 600_000 }, async (t) => {
  if (!hasPython) t.diagnostic('no environment of Python (scripts/python --prepare): compared without a Python client');
  for (const [path, compare] of Object.entries(pages)) await reads(path, compare, path === '/queue' ? (seen) => seen.at('queue-details').first().click() : undefined);
  await readsRuns();
  const compared = sum(readings.map((r) => r.compared));
  const differences = readings.flatMap((r) => r.differences);
  t.diagnostic(`${compared} numbers of ${readings.length} pages compared, ${differences.length} differences`);
  for (const d of differences) t.diagnostic(`${d.page}: ${d.name}: shown ${JSON.stringify(d.shown)}, expected ${JSON.stringify(d.expected)}`);
  assert.equal(differences.length, 0, 'the differences are listed above');
  if (!process.env.MUSTER_PAGES) assert.ok(compared >= LEAST, `only ${compared} numbers were compared`);
});
