// The pages under Explore: one query and one time range, which the tabs keep.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
let cluster;
let failed;

const { visitor } = onStage(async (made) => {
  mkdirSync(shots, { recursive: true });
  cluster = made;
  await cluster.serve('--data-dir', join(cluster.folder, 'data'));
  cluster.worker(0, '--allow-programs', '--slots', '4');
  failed = await cluster.submitAll('divides', [{ function: 'muster.fail', args: ['division by zero\nat row 7'] }, { function: 'muster.fail', args: ['a long text that does not fit into two lines of a phone, '.repeat(3)] }, { function: 'muster.echo', args: ['x'.repeat(200_000)] }], { on_error: 'continue' });
  await cluster.get(`/api/v1/jobs/${failed}/join?timeout=60s`);
  const program = await cluster.program({ name: 'earlier', command: ['sh', '-c', 'echo "line foo of rank $RANK"'], tasks: { worker: 4 } });
  for (;;) if ((await cluster.get(`/api/v1/programs/${program}`)).state === 'SUCCEEDED') break;
});

/** Opens the first page, and returns a function that clicks and counts; more than `most` clicks fail. */
async function counting(most, options) {
  const seen = await visitor('/', options);
  let clicks = 0;
  const click = async (locator) => {
    await locator.click();
    assert.ok(++clicks <= most, `${clicks} clicks are more than ${most}`);
  };
  const explore = () => click(seen.page.locator('.rail a', { hasText: 'Explore' }));
  const tab = (name) => click(seen.page.locator('.tabs a', { hasText: name }));
  return { seen, click, explore, tab };
}

const parameters = (seen) => new URL(seen.page.url()).searchParams;
const clock = (ms) => new Date(ms).toISOString().slice(11, 19);

test('what happened in a period takes two clicks, and the other tabs keep the period', async () => {
  const { events } = await cluster.get('/api/v1/events');
  const [first, last] = [events[0].time_ms, events.at(-1).time_ms];
  const { seen, explore, tab } = await counting(3, { timezoneId: 'UTC' });
  await explore();
  await tab('Events');
  await seen.at('events-row').first().waitFor();
  await seen.at('range-from').fill(clock(first - 2000));
  await seen.at('range-from').press('Enter');
  await seen.at('range-to').fill(clock(last + 2000));
  await seen.at('range-to').press('Enter');
  await seen.page.waitForURL(/from=\d+.*to=\d+/);
  const rows = await cluster.get(`/api/v1/events?from_ms=${parameters(seen).get('from')}&to_ms=${parameters(seen).get('to')}`);
  assert.ok(rows.events.length > 0);
  await seen.page.locator('#events', { hasText: `${rows.events.length} event` }).waitFor();

  await tab('Remote values');
  const from = Math.floor((first - 2000) / 1000) * 1000;
  assert.equal(Number(parameters(seen).get('from')), from);
  await seen.at('values-row').first().waitFor();
  assert.equal(await seen.at('range-from').inputValue(), clock(from));

  // A period before the first event has neither events nor values.
  await seen.page.goto(`${cluster.url}/explore/values?from=1000&to=2000`);
  await seen.page.getByText('No value matches.').waitFor();
  await seen.page.goto(`${cluster.url}/explore/events?from=1000&to=2000`);
  await seen.page.getByText('No event matches.').waitFor();
  assert.equal(await seen.at('events-row').count(), 0);
});

test('a kind of event is chosen, and a drag in the chart of events sets the range', async () => {
  const seen = await visitor('/explore/events?from=1h');
  await seen.at('events-row').nth(1).waitFor();
  const kinds = await seen.at('events-row').evaluateAll((all) => all.map((r) => r.dataset.kind));
  await seen.at('event-kind').selectOption(kinds[0]);
  await seen.page.waitForURL(new RegExp(`kind=${kinds[0]}`));
  await seen.page.waitForFunction((kind) => [...document.querySelectorAll('[data-testid="events-row"]')].every((r) => r.dataset.kind === kind), kinds[0]);
  assert.ok((await seen.at('events-row').count()) > 0);
  await seen.at('event-kind').selectOption('');
  const { x, y, width } = await seen.at('event-chart').boundingBox();
  await seen.page.mouse.move(x + width * 0.5, y + 10);
  await seen.page.mouse.down();
  await seen.page.mouse.move(x + width * 0.75, y + 10, { steps: 3 });
  await seen.page.mouse.up();
  await seen.page.waitForURL(/from=\d+&to=\d+|to=\d+.*from=\d+/);
  const length = Number(parameters(seen).get('to')) - Number(parameters(seen).get('from'));
  assert.ok(Math.abs(length - 900_000) < 30_000, `${length}`);
});

test('presets, wrong times and pages without times', async () => {
  const seen = await visitor('/explore?q=division');
  await seen.at('range-15m').click();
  await seen.page.waitForURL(/from=15m/);
  assert.equal(await seen.at('range-15m').getAttribute('aria-pressed'), 'true');
  await seen.reads('log-search-meant', /lines of ranks have no times/);
  await seen.page.locator('.tabs a', { hasText: 'Objects' }).click();
  await seen.reads('range-why', /the time range does not apply/);
  assert.equal(parameters(seen).get('from'), '15m');
  assert.equal(parameters(seen).get('q'), 'division');
  await seen.page.locator('.tabs a', { hasText: 'Task stream' }).click();
  await seen.at('stream-follow', '[aria-pressed="true"]').waitFor();
  assert.equal(parameters(seen).get('from'), '15m');
  await seen.at('range-from').fill('soon');
  await seen.at('range-from').press('Enter');
  await seen.page.getByText('Enter a time such as 17:05.').waitFor();
  assert.equal(parameters(seen).get('from'), '15m');
  await seen.at('range-all').click();
  await seen.page.waitForFunction(() => !new URLSearchParams(location.search).has('from'));
});

test('finding the values that are errors, and who holds the memory, takes two clicks', async () => {
  const { seen, explore, tab } = await counting(2);
  await explore();
  await tab('Remote values');
  await seen.at('error-value').filter({ hasText: /muster\.fail #0.*division by zero/s }).waitFor();
  assert.equal(await seen.at('holder').first().getAttribute('data-job'), failed);
  await seen.at('holder').first().filter({ hasText: '200 KB' }).waitFor();
  const row = seen.at('values-row').filter({ hasText: 'division by zero' });
  await row.filter({ hasText: 'Error' }).filter({ hasText: 'worker:0' }).waitFor();
  assert.ok(!(await row.innerText()).includes('Ready'));
  for (const theme of ['light', 'dark']) {
    await seen.at(`theme-${theme}`).click();
    await seen.page.screenshot({ path: join(shots, `values-${theme}.png`) });
  }
  await seen.at('filter-worker').fill('worker:9');
  await seen.page.getByText('No value matches.').waitFor();
  await seen.at('filter-worker').fill('worker:0');
  await seen.at('values-row').first().waitFor();
});

test('ctrl-K finds failed calls by their error', async () => {
  const seen = await visitor('/');
  await seen.page.keyboard.press('Control+k');
  await seen.at('palette').waitFor();
  await seen.page.keyboard.type('division by zero');
  await seen.at('palette-row', '[data-kind="failed call"]').filter({ hasText: 'muster.fail #0' }).click();
  await seen.reads('traceback', /at row 7/);
});

test('on a phone the pages of Explore do not scroll sideways, and no row is cut', async () => {
  for (const path of ['/explore?q=foo', '/explore/events', '/explore/stream?from=1h', '/explore/values', '/explore/per-worker', '/explore/objects']) {
    const seen = await visitor(path, { viewport: { width: 390, height: 844 }, reducedMotion: 'reduce' });
    await seen.at('explore-bar').waitFor();
    if (path.endsWith('values')) await seen.at('values-row').filter({ hasText: 'a long text' }).waitFor();
    await seen.page.waitForTimeout(300);
    assert.ok(await seen.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} scrolls sideways`);
    const cut = await seen.page.locator('.grid .is-row').evaluateAll((rows) => rows.filter((row) => [row, ...row.children].some((e) => e.scrollHeight > e.clientHeight + 1 && e.clientHeight > 0)).map((row) => row.textContent));
    assert.deepEqual(cut, [], path);
    await seen.page.screenshot({ path: join(shots, `phone${path.replace(/\W+/g, '-')}.png`) });
  }
});
