// Measurements of a page by Chromium: frames, bytes, heap.

/** Opens a page at `url` with live data, and a session of the developer tools' protocol. */
export async function open(browser, url, prepare = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const tools = await context.newCDPSession(page);
  await prepare(tools);
  await page.goto(url);
  // Checks in every frame, since a locator checks only every half second.
  await page.waitForFunction(() => /live/i.test(document.querySelector('[data-testid="conn-state"]')?.textContent));
  return { page, tools, close: () => context.close() };
}

/** Returns the sorted durations of frames in ms while `act` runs. */
export async function frames(page, act) {
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
  await act();
  return page.evaluate(() => {
    cancelAnimationFrame(globalThis.watching);
    return globalThis.gaps.slice(1).sort((a, b) => a - b);
  });
}

/** Returns a quantile of a sorted list. */
export const at = (list, share) => list[Math.min(list.length - 1, Math.floor(list.length * share))];

/** Counts received bytes: decompressed text of WebSockets, and transferred bytes of other requests. */
export async function counted(tools) {
  const seen = { bytes: 0, topics: {} };
  await tools.send('Network.enable');
  tools.on('Network.dataReceived', ({ encodedDataLength }) => (seen.bytes += encodedDataLength));
  tools.on('Network.webSocketFrameReceived', ({ response: { payloadData } }) => {
    seen.bytes += payloadData.length;
    const topic = /"topic":"([^":]*)/.exec(payloadData.slice(0, 200))?.[1] ?? 'other';
    seen.topics[topic] = (seen.topics[topic] ?? 0) + payloadData.length;
  });
  return seen;
}

/** Returns the used heap in MB, after a garbage collection. */
export async function heap(tools) {
  await tools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await tools.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}
