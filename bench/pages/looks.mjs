// Response times of a page, measured in Chromium.
import { at, counted, frames, heap, open } from './probe.mjs';

const ROUNDS = 5;
const DRAG_MS = 10_000;
const SETTLE_MS = 5000; // after the first picture
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const middle = (list) => at(list.sort((a, b) => a - b), 0.5);
const NOW = '/now';
const CHARTS = '/now/charts';
const FLEET = '/fleet?cluster=train';
const VISITED = ['/work', '/queue', '/agreement', '/explore', '/fleet', '/now']; // in each minute of the heap's hour

export async function paint(browser, world, _, say) {
  const first = [], content = [];
  for (let round = 0; round < ROUNDS; ++round) {
    const { page, close } = await open(browser, world.url + NOW);
    content.push(await page.evaluate(() => performance.now()));
    await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
    first.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    await close();
  }
  say(`${NOW}, first paint, median of ${ROUNDS}`, `${middle(first).toFixed(0)} ms; live data after ${middle(content).toFixed(0)} ms`);
}

export async function traffic(browser, world, { seconds }, say) {
  for (const path of [NOW, FLEET]) {
    let seen;
    const { close } = await open(browser, world.url + path, async (tools) => (seen = await counted(tools)));
    await sleep(SETTLE_MS);
    const before = structuredClone(seen);
    await sleep(1000 * seconds);
    const rate = (now, then = 0) => ((now - then) / seconds / 1000).toFixed(1);
    const by = Object.entries(seen.topics).map(([topic, bytes]) => `${topic} ${rate(bytes, before.topics[topic])}`);
    say(`${path}, received`, `${rate(seen.bytes, before.bytes)} KB/s (${by.join(', ')}) after ${(before.bytes / 1e6).toFixed(2)} MB`);
    await close();
  }
}

export { framesOfTasks as frames };
async function framesOfTasks(browser, world, { seconds }, say) {
  for (const path of [FLEET, CHARTS, NOW]) {
    const { page, close } = await open(browser, world.url + path);
    await sleep(SETTLE_MS);
    const gaps = await frames(page, () => sleep(1000 * seconds));
    say(`${path}, frames for ${seconds} s`, ['p50', 'p99'].map((name) => `${name} ${at(gaps, Number(name.slice(1)) / 100).toFixed(1)}`).join(', ') + `, longest ${gaps.at(-1).toFixed(0)} ms`);
    await close();
  }
}

/**
 * Measures the heap after collection in an hour, compressed by `speed`: each minute brings a job of 2,000 closures, 600
 * changed rows and six page changes, and lasts 60 / speed seconds.
 */
export { tab as heap };
async function tab(browser, world, { minutes, speed }, say) {
  const { page, tools, close } = await open(browser, world.url + FLEET);
  await sleep(SETTLE_MS);
  const sizes = [], nodes = [];
  for (let minute = 0; minute <= minutes; ++minute) {
    if (minute > 0) {
      const end = Date.now() + 60_000 / speed;
      await world.cluster.submit('muster.sleep', [20 / speed], 2000, `minute ${minute}`);
      for (const path of VISITED) {
        await page.locator(`.rail a[href^="${path}"]`).first().click();
        await sleep(60_000 / speed / 8);
      }
      await sleep(Math.max(0, end - Date.now()));
    }
    sizes.push(await heap(tools));
    nodes.push((await tools.send('Memory.getDOMCounters')).nodes);
    await world.check();
  }
  const mean = (list) => list.reduce((sum, size) => sum + size, 0) / list.length;
  const [warm, last] = [mean(sizes.slice(10, 15)), mean(sizes.slice(-5))];
  if (sizes.length >= 20) say(`heap after collection, minutes 10-14 to the last five of ${minutes}`, `${warm.toFixed(2)} to ${last.toFixed(2)} MB, ${((100 * last) / warm - 100).toFixed(1)} %`);
  say(`heap after collection, ${minutes} min in ${(minutes / speed).toFixed(0)} min`, `${sizes[0].toFixed(2)} to ${sizes.at(-1).toFixed(2)} MB (${sizes.map((size) => size.toFixed(2)).join(' ')}); DOM nodes ${nodes[0]} to ${nodes.at(-1)}`);
  await close();
}

/** Measures frames while closures run at a constant rate. */
export async function flood(browser, world, { seconds, rate }, say) {
  for (const path of [NOW, CHARTS, '/work', '/queue', '/fleet', '/explore/stream', `/runs/${world.job}`]) {
    const { page, close } = await open(browser, world.url + path);
    await sleep(SETTLE_MS);
    const [before, began] = [await world.ended(), Date.now()];
    const gaps = await frames(page, () => sleep(1000 * seconds));
    const done = (1000 * ((await world.ended()) - before)) / (Date.now() - began);
    const name = path.startsWith('/runs/') ? '/runs/ID' : path;
    say(`${name}, frames at ${rate} closures/s`, `p50 ${at(gaps, 0.5).toFixed(1)}, p99 ${at(gaps, 0.99).toFixed(1)}, longest ${gaps.at(-1).toFixed(0)} ms; ${done.toFixed(0)} closures/s ended`);
    await close();
  }
}

/** Finds the failed closure of the long job with its filter. */
export async function find(browser, world, say) {
  const { page, close } = await open(browser, `${world.url}/runs/${world.job}`);
  await page.locator('[data-testid="closures-row"]').first().waitFor();
  const began = Date.now();
  await page.locator('[data-testid="state-FAILED"]').click();
  await page.waitForFunction(() => document.querySelectorAll('[data-testid="closures-row"]').length === 1);
  const listed = Date.now();
  await page.locator('[data-testid="closures-row"]').click();
  await page.locator('[data-testid="error-line"]', { hasText: 'no such column' }).waitFor();
  say(`failed closure #${world.failed} of ${world.count}`, `listed ${listed - began} ms after the click on the filter, its error ${Date.now() - listed} ms after the next`);
  const sorted = Date.now();
  await page.goto(`${world.url}/runs/${world.job}?sort=duration&order=desc`);
  await page.locator('[data-testid="closures-row"]').first().waitFor();
  say('the slowest of them, from a new tab', `${Date.now() - sorted} ms`);
  await close();
}

/** Drags the task stream back and forth, at full range and at a range that separates all bars. */
export async function stream(browser, world, say) {
  for (const [from, to] of [[world.from - 1000, world.to + 1000], [world.to - 4000, world.to - 1000]]) {
    const { page, close } = await open(browser, `${world.url}/explore/stream?from=${from}&to=${to}`);
    const canvas = page.locator('[data-testid="stream-canvas"]');
    await page.waitForFunction(() => Number(document.querySelector('[data-testid=stream-canvas]')?.dataset.runs) > 0);
    await sleep(SETTLE_MS);
    const held = await page.locator('#stream .note').first().textContent();
    const runs = await canvas.getAttribute('data-runs');
    const rest = await frames(page, () => sleep(3000));
    const dragged = await frames(page, () => drag(page, canvas));
    const rate = (gaps) => ((1000 * gaps.length) / gaps.reduce((sum, gap) => sum + gap, 0)).toFixed(1);
    say(`task stream, ${((to - from) / 1000).toFixed(0)} s of it, dragged`, `${rate(dragged)} frames/s, p99 ${at(dragged, 0.99).toFixed(1)} ms (at rest ${rate(rest)}); ${held.trim()}, ${runs} runs of pixels`);
    await close();
  }
}

async function drag(page, canvas) {
  const box = await canvas.boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  let way = 1;
  for (const end = Date.now() + DRAG_MS; Date.now() < end; way = -way) {
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let n = 0; n < 30; ++n) await page.mouse.move(x + way * n * 4, y);
    await page.mouse.up();
  }
}
