#!/usr/bin/env node
// What open pages cost the server, and what many agents cost a page.
//
//     bench/pages.mjs [MUSTER] [--pages 50] [--agents 10000] [--turns 3] [--seconds 20]
//
// Closures a second of `muster bench closures`, in turns without a page and with PAGES of them (WebSocket clients that
// subscribe as the overview does and acknowledge each second); then one page in Chromium beside AGENTS that only beat:
// first paint, frames, and bytes a second that arrive, on the overview and on the list of tasks. Needs what the
// browser tests need (scripts/deps, npm ci in web/dashboard).
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(join(root, 'web/dashboard/package.json'));
const WebSocket = require('ws');
const { chromium } = require('playwright-core');
const run = promisify(execFile);

const words = process.argv.slice(2);
const option = (name, otherwise) => {
  const at = words.indexOf(`--${name}`);
  return at < 0 ? otherwise : Number(words.splice(at, 2)[1]);
};
const pages = option('pages', 50), agents = option('agents', 10_000), turns = option('turns', 3), seconds = option('seconds', 20);
const binary = words[0] ?? join(root, 'build/release/bin/muster');
const TOPICS = ['counters', 'clusters', 'tasks', 'agents', 'jobs', 'attention'];
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function serve(...flags) {
  const ready = join(mkdtempSync(join(tmpdir(), 'muster-pages-')), 'ready.json');
  const child = spawn(binary, ['serve', '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0', '--ready-file', ready, '--log-level', 'warn', ...flags], { stdio: 'ignore' });
  children.push(child);
  for (let n = 0; !existsSync(ready) && n < 100; ++n) await sleep(100);
  return { child, ...JSON.parse(readFileSync(ready, 'utf8')) };
}

function open(http) {
  const socket = new WebSocket(`ws://${http}/api/v1/ws`, 'muster.v1');
  const seen = { bytes: 0 };
  socket.on('open', () => TOPICS.forEach((topic) => socket.send(JSON.stringify({ t: 'sub', topic }))));
  socket.on('message', (text) => (seen.bytes += text.length));
  socket.on('error', (error) => console.error(String(error)));
  const beat = setInterval(() => socket.readyState === 1 && socket.send('{"t":"ack"}'), 1000);
  return { seen, close: () => (clearInterval(beat), socket.close()) };
}

async function closures(server) {
  const { stdout } = await run(binary, ['bench', 'closures', '--server', server.grpc, '--workers', '2', '--credits', '256', '--seconds', '3', '--output', 'json']);
  return JSON.parse(stdout)[0].closures_per_second;
}

async function withPages() {
  const server = await serve('--websocket-clients-max', String(pages + 8));
  const rates = { without: [], with: [] };
  for (let turn = 0; turn < turns; ++turn) {
    rates.without.push(await closures(server));
    const open_ones = Array.from({ length: pages }, () => open(server.http));
    await sleep(1500);
    const before = open_ones.reduce((n, p) => n + p.seen.bytes, 0), at = Date.now();
    rates.with.push(await closures(server));
    const bytes = open_ones.reduce((n, p) => n + p.seen.bytes, 0) - before;
    console.log(`turn ${turn + 1}: ${Math.round(rates.without.at(-1))} closures/s without a page, ${Math.round(rates.with.at(-1))} with ${pages} (${(bytes / pages / (Date.now() - at)).toFixed(1)} KB/s each)`);
    open_ones.forEach((p) => p.close());
    await sleep(500);
  }
  const middle = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  console.log(`median with ${pages} pages: ${(middle(rates.with) / middle(rates.without)).toFixed(2)} of without`);
  server.child.kill('SIGTERM');
}

async function besideAgents() {
  const server = await serve('--cluster', `train:worker=${agents};register_barrier=false`);
  const beating = spawn(binary, ['bench', 'heartbeats', '--server', server.grpc, '--agents', String(agents), '--seconds', String(seconds * 4 + 60)], { stdio: 'ignore' });
  children.push(beating);
  for (let n = 0; n < 600; ++n) {
    const row = await (await fetch(`http://${server.http}/api/v1/clusters/train`)).json();
    if (row.generation?.agents?.connected === agents) break;
    await sleep(200);
  }
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu'] });
  for (const path of ['/', '/tasks']) {
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    let bytes = 0;
    page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => (bytes += payload.length)));
    await page.goto(`http://${server.http}${path}`);
    await sleep(5000);
    const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
    const snapshot = bytes;
    const frames = await page.evaluate((ms) => new Promise((done) => {
      const gaps = [];
      const end = performance.now() + ms;
      let last = performance.now();
      const step = (now) => (gaps.push(now - last), (last = now), now < end ? requestAnimationFrame(step) : done(gaps.slice(1).sort((a, b) => a - b)));
      requestAnimationFrame(step);
    }), seconds * 1000);
    const at = (share) => frames[Math.floor((frames.length - 1) * share)].toFixed(1);
    console.log(`${path.padEnd(7)} beside ${agents} agents: first paint ${paint?.toFixed(0)} ms, frames p50 ${at(0.5)} p99 ${at(0.99)} max ${at(1)} ms, ${((bytes - snapshot) / seconds / 1000).toFixed(1)} KB/s after a first ${(snapshot / 1e6).toFixed(2)} MB`);
    await page.close();
  }
  await browser.close();
  beating.kill();
}

const children = [];
try {
  await withPages();
  await besideAgents();
} finally {
  for (const child of children) child.kill('SIGTERM');
}
process.exit(0);
