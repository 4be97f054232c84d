// The list of jobs, sessions and programs: facets, selection, actions, export and saved views.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { onStage } from './stage.mjs';

let cluster;

const { open, visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
  cluster.worker(0, '--slots', '2');
});

const stuck = { function: 'muster.echo', args: [1], options: { labels: { zone: 'mars' } } };
const fail = (message) => ({ function: 'muster.fail', args: [message] });
const work = (query = '') => cluster.get(`/api/v1/work?${query}`);
const row = (seen, id) => seen.at('work-row', `[data-run="${id}"]`);
const box = (seen, id) => row(seen, id).locator('input');

async function ended(id) {
  return cluster.get(`/api/v1/jobs/${id}/join?timeout=30s`);
}
async function confirm(seen, deed) {
  await seen.at(deed).click();
  await seen.at('question-yes').click();
}
async function downloaded(seen, button) {
  const [file] = await Promise.all([seen.page.waitForEvent('download'), seen.at(button).click()]);
  return readFileSync(await file.path(), 'utf8');
}

test('an empty list explains how to start each kind of run', async () => {
  const seen = await visitor('/work');
  await seen.at('no-work').filter({ hasText: 'muster submit muster.echo hello' }).filter({ hasText: 'muster.Client()' }).filter({ hasText: 'muster launch --tasks 2' }).waitFor();
});

test('everything with one label is cancelled with four clicks, also on other pages', async () => {
  const other = await cluster.submitAll('other', [stuck], { metadata: { team: 'web' } });
  for (let n = 0; n < 60; ++n) await cluster.submitAll(`ml-${n}`, [stuck], { metadata: { team: 'ml' } });
  const program = await cluster.program({ name: 'ml-train', command: ['true'], tasks: { worker: 2 }, metadata: { team: 'ml' } });
  const done = await cluster.submitAll('ml-done', [{ function: 'muster.echo', args: [1] }], { metadata: { team: 'ml' } });
  await ended(done);
  const seen = await visitor('/work');
  await seen.at('filter-label').selectOption('team=ml');
  await seen.at('selected-count').filter({ hasText: '62 runs match' }).waitFor();
  await seen.at('select-all').click();
  await seen.at('selected-count').filter({ hasText: '62 selected' }).waitFor();
  await seen.at('cancel-selected').click();
  await seen.at('question').filter({ hasText: 'Cancel 62 runs?' }).waitFor();
  await seen.at('question-yes').click();
  await seen.at('work-result').filter({ hasText: '61 cancelled, 1 had already ended' }).waitFor();
  assert.equal((await work('label=team=ml&state=CANCELLED')).matching, 61);
  assert.equal((await cluster.get(`/api/v1/programs/${program}`)).state, 'CANCELLED');
  assert.equal((await cluster.get(`/api/v1/jobs/${other}`)).state, 'QUEUED');
  await cluster.cancel(other);
});

test('only what failed in the selection is retried', async () => {
  const broken = await cluster.submitAll('broken', [fail('disk is full'), { function: 'muster.echo', args: [1] }], { on_error: 'continue' });
  const fine = await cluster.submitAll('fine', [{ function: 'muster.echo', args: [1] }]);
  const program = await cluster.program({ name: 'no-workers', command: ['true'], tasks: { worker: 2 } });
  for (const id of [broken, fine]) await ended(id);
  const seen = await visitor('/work');
  for (const id of [broken, fine, program]) await box(seen, id).click();
  await seen.at('selected-count').filter({ hasText: '3 selected' }).waitFor();
  await confirm(seen, 'retry-selected');
  await seen.at('work-result').filter({ hasText: '1 retried' }).filter({ hasText: '1 without failed closures' }).filter({ hasText: '1 not retried: programs' }).waitFor();
  const [again] = (await work('q=broken')).runs.filter((run) => run.retry_of === broken);
  assert.equal(again.counts.total, 1);
  assert.equal((await work('q=fine')).matching, 1);
});

test('ranges are selected with shift and with the keyboard', async () => {
  for (let n = 0; n < 5; ++n) await cluster.submitAll(`range-${n}`, [stuck]);
  const { runs } = await work('q=range-');
  const seen = await visitor('/work?q=range-');
  await box(seen, runs[0].id).click();
  await box(seen, runs[3].id).click({ modifiers: ['Shift'] });
  await seen.at('selected-count').filter({ hasText: '4 selected' }).waitFor();
  await seen.at('select-none').click();
  await seen.at('select-page').focus();
  await seen.page.keyboard.press('ArrowDown');
  await seen.page.keyboard.press('ArrowDown');
  await seen.page.keyboard.press('Space');
  await seen.at('selected-count').filter({ hasText: '1 selected' }).waitFor();
  assert.ok(await box(seen, runs[1].id).isChecked());
  await seen.page.keyboard.press('ArrowDown');
  await seen.page.keyboard.press('Space');
  await seen.at('compare-selected').click();
  await seen.page.waitForURL((url) => url.pathname === `/runs/${runs[1].id}` && url.searchParams.get('compare') === runs[2].id);
});

test('the exported list is what REST says', async () => {
  await ended(await cluster.submitAll('=HYPERLINK("x"), "quoted"', [fail('first line\n=1+1')]));
  const seen = await visitor('/work?state=FAILED');
  await seen.at('work-row').first().waitFor();
  const { runs, matching } = await work('state=FAILED');
  const json = JSON.parse(await downloaded(seen, 'export-json'));
  assert.deepEqual(json, runs);
  const csv = await downloaded(seen, 'export-csv');
  const lines = csv.split('\r\n');
  assert.ok(lines[0].startsWith('kind,id,cluster,name,state,submitted_by,created_ms,ended_ms,duration_ms,counts.total'));
  assert.equal(csv.match(/\bjob_[0-9a-f]{16},/g).length, matching);
  for (const run of runs) assert.ok(csv.includes(`${run.kind},${run.id},`), run.id);
  assert.ok(csv.includes(`"'=HYPERLINK(""x""), ""quoted"""`));

  await box(seen, runs[0].id).click();
  const one = JSON.parse(await downloaded(seen, 'export-json'));
  assert.deepEqual(one.map(({ id }) => id), [runs[0].id]);
});

test('a link reproduces the view, and a saved view has a name', async () => {
  for (const name of ['b-broken', 'a-broken']) await ended(await cluster.submitAll(name, [fail('no such file')]));
  const seen = await visitor('/work');
  await seen.at('kind-job').click();
  await seen.at('state-FAILED').click();
  await seen.at('since-1h').click();
  await seen.at('sort-name').click();
  await seen.page.waitForURL((url) => ['kind', 'state', 'since', 'sort', 'order'].every((name) => url.searchParams.has(name)));
  await seen.page.waitForFunction(() => !document.querySelector('[data-testid=work-row]:not([data-state=FAILED])'));
  await seen.at('work-list', '[aria-busy="false"]').waitFor();
  const names = await seen.at('work-row').locator('a.work-name').allTextContents();
  const other = await visitor(new URL(seen.page.url()).pathname + new URL(seen.page.url()).search);
  await other.at('work-row').first().waitFor();
  assert.deepEqual(await other.at('work-row').locator('a.work-name').allTextContents(), names);
  assert.deepEqual(names, [...names].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));

  await seen.at('save-filter').click();
  await seen.at('view-name').fill('broken jobs');
  await seen.at('save-view').click();
  await seen.at('clear-filters').click();
  await seen.at('saved-here').locator('a', { hasText: 'broken jobs' }).click();
  await seen.page.waitForURL((url) => url.searchParams.get('state') === 'FAILED' && url.searchParams.get('since') === '1h');
});

test('on a phone, a row shows a long error completely', async () => {
  const error = `cannot open ${'deep/folder/'.repeat(15)}file`;
  const id = await cluster.submitAll('long-error', [fail(error)]);
  await ended(id);
  const seen = await open('/work?q=long-error', { viewport: { width: 390, height: 844 } });
  await row(seen, id).waitFor();
  const { cut, wide, text, width } = await row(seen, id).evaluate((tr) => ({
    cut: [...tr.querySelectorAll('td, bdi')].filter((e) => e.scrollHeight > e.clientHeight + 1 && getComputedStyle(e).overflow !== 'visible').length,
    wide: document.documentElement.scrollWidth > innerWidth,
    text: tr.textContent,
    width: tr.getBoundingClientRect().right,
  }));
  assert.ok(text.includes(error));
  assert.equal(cut, 0);
  assert.equal(wide, false);
  assert.ok(width <= 390, `${width}`);
});

test('old addresses lead to the kind', async () => {
  const seen = await visitor('/sessions?q=a');
  await seen.page.waitForURL((url) => url.pathname === '/work' && url.searchParams.get('kind') === 'session' && url.searchParams.get('q') === 'a');
  await seen.page.goto(`${cluster.url}/programs`);
  await seen.page.waitForURL((url) => url.pathname === '/work' && url.searchParams.get('kind') === 'program');
  await seen.page.locator('th', { hasText: 'Ranks' }).waitFor();
});
