// What Chromium knows about a page: frames, bytes, heap.

/** A page at `url` that shows live data, with its session of the developer tools' protocol. */
export async function open(browser, url, prepare = async () => {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  const tools = await context.newCDPSession(page);
  await prepare(tools);
  await page.goto(url);
  // Looked at in every frame: a locator looks again only after half a second.
  await page.waitForFunction(() => /live/i.test(document.querySelector('[data-testid="conn-state"]')?.textContent));
  return { page, tools, close: () => context.close() };
}

/** The lengths of frames in ms, in order of length, while `act` goes on. */
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

/** Of an ordered list. */
export const at = (list, share) => list[Math.min(list.length - 1, Math.floor(list.length * share))];

/** Counts what arrives: of WebSockets the text after decompression, of all else what came over the line. */
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

/** Of the scripts in use, after the garbage went, in MB. */
export async function heap(tools) {
  await tools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await tools.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}
