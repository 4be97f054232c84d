// The system's Chromium for the dev scripts; no browser is downloaded.

import { chromium } from 'playwright-core';

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
}

// Collects faults that no page may have: console errors, policy violations, requests to other hosts.
export async function watched(context, url) {
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()} ${message.location().url}`));
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (new URL(request.url()).host !== new URL(url).host) faults.push(`other host: ${request.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(url);
  return { page, faults };
}

// Measures frames for 5 s while `act` runs, and calls `cost` after each frame to get its painting time. Prints a line and returns
// the frames per second and the 99th percentile of the frame time.
export async function framesOf(page, name, act, cost) {
  await page.evaluate(() => {
    globalThis.gaps = [];
    let last = performance.now();
    const step = (at) => {
      globalThis.gaps.push(at - last);
      last = at;
      globalThis.watching = requestAnimationFrame(step);
    };
    globalThis.watching = requestAnimationFrame(step);
  });
  const began = Date.now();
  const costs = [];
  while (Date.now() - began < 5000) {
    await act();
    costs.push(await cost());
  }
  costs.sort((a, b) => a - b);
  const gaps = await page.evaluate(() => {
    cancelAnimationFrame(globalThis.watching);
    return globalThis.gaps.slice(1).sort((a, b) => a - b);
  });
  const at = (share) => gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * share))];
  const fps = (1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0);
  console.log(
    `${name.padEnd(12)} ${fps.toFixed(1)} frames/s, p50 ${at(0.5).toFixed(1)} p95 ${at(0.95).toFixed(1)} p99 ${at(0.99).toFixed(1)} max ${at(1).toFixed(1)} ms; painting took ${costs[costs.length >> 1]} ms`,
  );
  return { fps, p99: at(0.99) };
}
