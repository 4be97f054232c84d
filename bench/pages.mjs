#!/usr/bin/env node
// Measures how fast the dashboard responds at its maximum size, and the server's cost of open
// pages, with a real server, real coordination clients and workers, and Chromium.
//
//   bench/pages.mjs                                    everything, with build/release/bin/muster
//   bench/pages.mjs --only paint,frames,traffic,find   some of: paint frames traffic flood find heap stream throughput
//   bench/pages.mjs --binary muster --agents 10000 --waiting 3000 --closures 1000000 --seconds 30
//   bench/pages.mjs --only flood --rate 4000           frames while 4,000 closures end per second
//   bench/pages.mjs --only heap --minutes 60 --speed 5 the heap in an hour, compressed to 12 minutes
//   bench/pages.mjs --only throughput --pages 50 --turns 5
//
// Prints one result per line. Needs the requirements of the browser tests (scripts/deps, npm ci in
// web/dashboard).
import { join } from 'node:path';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const { values: options } = parseArgs({
  options: {
    binary: { type: 'string', default: process.env.MUSTER_BINARY ?? join(root, 'build/release/bin/muster') },
    only: { type: 'string', default: 'paint,frames,traffic,flood,find,heap,stream,throughput' },
    agents: { type: 'string', default: '10000' },
    waiting: { type: 'string', default: '3000' },
    closures: { type: 'string', default: '1000000' },
    bars: { type: 'string', default: '50000' },
    seconds: { type: 'string', default: '30' },
    minutes: { type: 'string', default: '10' },
    speed: { type: 'string', default: '1' },
    rate: { type: 'string', default: '4000' },
    pages: { type: 'string', default: '50' },
    turns: { type: 'string', default: '3' },
  },
});
process.env.MUSTER_BINARY = options.binary; // for the helpers of the browser tests
process.env.MUSTER_DASHBOARD ??= join(root, 'web/dashboard');
process.env.MUSTER_CHROMIUM ??= '/usr/bin/chromium';

// Also ends the processes.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const { launch } = await import('../tests/browser/page.mjs');
const { crowd, flooded, longJob, bars } = await import('./pages/world.mjs');
const { throughput } = await import('./pages/throughput.mjs');
const looks = await import('./pages/looks.mjs');

const number = Object.fromEntries(Object.entries(options).map(([name, value]) => [name, Number(value)]));
const wanted = new Set(options.only.split(','));
const say = (what, figure) => console.log(`${what.padEnd(44)} ${figure}   (load ${loadavg()[0].toFixed(1)})`);
const measure = (...names) => names.some((name) => wanted.has(name));

if (measure('throughput')) await throughput(number, say);
if (measure('paint', 'frames', 'traffic', 'flood', 'find', 'heap', 'stream')) {
  const browser = await launch();
  try {
    if (measure('paint', 'frames', 'traffic', 'heap')) {
      const world = await crowd(number.agents, number.waiting, measure('heap') ? number.speed : 1);
      try {
        for (const name of ['paint', 'traffic', 'frames', 'heap']) if (measure(name)) await looks[name](browser, world, number, say);
      } finally {
        world.end();
      }
    }
    for (const [name, make] of [['flood', () => flooded(number.rate)], ['find', () => longJob(number.closures)], ['stream', () => bars(number.bars)]])
      if (measure(name)) {
        const world = await make();
        await looks[name](browser, world, ...(name === 'flood' ? [number, say] : [say]));
        world.end();
      }
  } finally {
    await browser.close();
  }
}
process.exit(0);
