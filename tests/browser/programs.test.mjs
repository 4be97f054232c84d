import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Agent } from './agent.mjs';
import { onStage } from './stage.mjs';

let cluster;

const { visitor } = onStage(async (made) => {
  cluster = made;
  await cluster.serve();
});

const inState = (seen, state) => seen.at('program', `[data-state="${state}"]`).waitFor();

async function confirm(seen, deed) {
  await seen.at(deed).click();
  await seen.at('question-yes').click();
  await seen.at('question').waitFor({ state: 'detached' });
}

test('an empty list explains how to launch; a waiting program shows why and is cancelled', async () => {
  const seen = await visitor('/work?kind=program');
  await seen.page.locator('#work', { hasText: 'muster launch --tasks 2' }).waitFor();
  const id = await cluster.program({ name: 'waits', command: ['true'], tasks: { worker: 2 } });
  await seen.at('work-row', `[data-run="${id}"][data-state="PENDING"]`).waitFor();
  await seen.at('state-FAILED').click();
  await seen.page.getByText('No run matches.').waitFor();
  await seen.at('state-QUEUED,PENDING').click();
  await seen.at('work-row', `[data-run="${id}"]`).waitFor();

  await seen.page.keyboard.press('Control+k');
  await seen.at('palette').waitFor();
  await seen.page.keyboard.type('WAITS');
  await seen.at('palette-row', '[data-kind="program"]').click();
  await seen.page.waitForURL(new RegExp(`/runs/${id}`));
  await seen.reads('run-headline', /no worker that runs programs is connected/);
  await confirm(seen, 'cancel-program');
  await inState(seen, 'CANCELLED');
  assert.equal(await seen.at('stop-program').count(), 0);
  await confirm(seen, 'forget-program');
  await seen.page.waitForURL(/\/work\?kind=program$/);
});

test('ranks are reachable by keys, logs are followed, and a restart adds an attempt', async () => {
  cluster.worker(0, '--allow-programs');
  cluster.worker(1, '--allow-programs');
  const id = await cluster.program({
    name: 'train', command: ['sh', '-c', 'echo "I am $RANK of $WORLD_SIZE"; exec sleep 600'], tasks: { worker: 4 },
    env: { SECRET: 'hidden' }, restart_grace: '1s', grace: '1s',
  });
  const seen = await visitor(`/runs/${id}`);
  await inState(seen, 'RUNNING');
  await seen.reads('run-headline', /4 of 4 ranks running/);
  await seen.at('rank', '[data-state="RUNNING"]').nth(3).waitFor();
  await seen.at('rank', '[data-rank="0"]').focus();
  for (const key of ['ArrowRight', 'ArrowRight', 'Enter']) await seen.page.keyboard.press(key);
  await seen.at('rank-detail', '[data-rank="2"]').waitFor();
  assert.equal(new URL(seen.page.url()).searchParams.get('rank'), '2');
  await seen.reads('rank-log', /I am 2 of 4/);
  await seen.reads('rank-log-state', /live/);
  await seen.at('look-at-stacks').click();
  await seen.at('stack-group', '[data-ranks="4"]').waitFor();
  await seen.reads('stacks', /in clock_nanosleep/);
  const spec = await seen.at('spec').textContent();
  assert.match(spec, /SECRET/);
  assert.doesNotMatch(await seen.page.content(), /hidden</);

  seen.mayRefuse = /\/logs\?/; // until the page knows the next attempt, it requests the old log
  await confirm(seen, 'restart-program');
  await seen.at('attempt').nth(1).waitFor();
  await seen.reads('attempt', /was stopped/);
  await inState(seen, 'RUNNING');
  await seen.reads('rank-log', /I am 2 of 4/);
  await confirm(seen, 'cancel-program');
  await inState(seen, 'CANCELLED');
  await seen.reads('rank-log-state', /ended/);
});

test('a failed program shows its cause and last lines and causes an alert', async () => {
  const id = await cluster.program({ name: 'breaks', command: ['sh', '-c', 'if [ "$RANK" = 1 ]; then echo "no such column" >&2; exit 3; fi; exec sleep 600'], tasks: { worker: 2 }, grace: '1s' });
  const seen = await visitor('/');
  await seen.at('attention-item', '[data-kind="program-failed"]').waitFor();
  await seen.reads('verdict', /program breaks failed/i);
  await seen.at('attention-item', '[data-kind="program-failed"]').locator('a').first().click();
  await inState(seen, 'FAILED');
  await seen.reads('cause-stderr', /no such column/);
  await seen.at('cause-rank').click();
  await seen.at('rank-detail', '[data-rank="1"]').waitFor();
  await seen.reads('rank-detail', /exit 3/);
  await seen.at('rank', '[data-rank="1"][data-state="FAILED"]').waitFor();
  assert.ok(seen.page.url().includes(id));
});

test('the timeline shows a failed attempt, the restart and its cause, and can be zoomed', async () => {
  const id = await cluster.program({
    name: 'again', command: ['sh', '-c', 'if [ "$MUSTER_ATTEMPT" = 1 ]; then sleep 1; [ "$RANK" = 1 ] && exit 3; fi; exec sleep 600'], tasks: { worker: 2 }, max_restarts: 1, grace: '1s', restart_grace: '1s',
  });
  const seen = await visitor(`/runs/${id}`);
  await seen.at('attempt', '[data-end="FAILED"]').waitFor();
  await inState(seen, 'RUNNING');
  await seen.at('run-timeline', '[data-gaps="1"][data-marks="1"]').waitFor();
  await seen.at('run-happened').locator('summary').click();
  await seen.at('run-happened').locator('tr', { hasText: 'rank 1' }).first().waitFor();
  await seen.at('run-timeline', '[data-strips="1"]').waitFor(); // the host's strip, above its ranks
  const length = () => seen.at('run-timeline').evaluate((e) => Number(e.dataset.to) - Number(e.dataset.from));
  const whole = await length();
  const canvas = seen.at('run-canvas');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const lane = box.y + 22 + 3; // rank 0, below the strip
  await seen.page.mouse.move(box.x + box.width * 0.05, lane); // not at 0: the rank started a moment later
  await seen.reads('run-at', /rank 0.*attempt 1, stopped on/);
  await seen.page.mouse.down();
  await seen.page.mouse.move(box.x + box.width / 4, lane);
  await seen.page.mouse.up();
  await seen.page.waitForFunction(() => !document.querySelector('[data-testid="run-reset"]').disabled);
  assert.ok((await length()) < whole / 2);
  const { searchParams } = new URL(seen.page.url()); // a link shows the same
  assert.equal((await length()), searchParams.get('zoom').split('-').reduce((from, to) => to - from));
  await seen.at('run-timeline').focus();
  await seen.page.keyboard.press('0');
  await seen.page.waitForFunction(() => document.querySelector('[data-testid="run-reset"]').disabled);
  await confirm(seen, 'cancel-program');
  await inState(seen, 'CANCELLED');
});

/** Returns the page's REST requests, without the periodic requests of the timeline. */
function asked(seen) {
  const paths = [];
  seen.page.on('request', (r) => {
    const { pathname } = new URL(r.url());
    if (!/\/attempts\/\d+$|\/machines$/.test(pathname)) paths.push(pathname);
  });
  return paths;
}

test('the grid shows last lines without terminal codes, requesting only one log', async () => {
  const id = await cluster.program({
    name: 'talks', command: ['sh', '-c', 'n=0; while :; do n=$((n+1)); printf "\\033[31mrank $RANK\\033[0m \\342\\200\\256step $n\\n"; sleep 0.5; done'], tasks: { worker: 3 }, grace: '1s',
  });
  const seen = await visitor(`/runs/${id}`);
  await inState(seen, 'RUNNING');
  const line = (rank) => seen.at('rank', `[data-rank="${rank}"]`).locator('[data-testid="rank-line"]');
  for (const rank of [0, 1, 2]) await line(rank).filter({ hasText: `rank ${rank} step` }).waitFor();
  const paths = asked(seen);
  const step = Number((await line(1).textContent()).match(/\d+$/)[0]);
  await seen.page.waitForFunction(
    ([before]) => Number(document.querySelector('[data-rank="1"] [data-testid="rank-line"]').textContent.match(/\d+$/)[0]) > before,
    [step],
  );
  assert.deepEqual(paths, []);

  await seen.at('ranks-list').click();
  await seen.at('rank-row', '[data-rank="2"]').locator('[data-testid="rank-line"]').filter({ hasText: 'rank 2 step' }).waitFor();
  await seen.at('rank-row', '[data-rank="2"]').click();
  await seen.reads('rank-log', /rank 2/);
  assert.equal(new URL(seen.page.url()).searchParams.get('ranks'), 'list');
  await seen.at('only-RUNNING').click();
  assert.equal(await seen.at('rank-row').count(), 3);
  await confirm(seen, 'cancel-program');
  await inState(seen, 'CANCELLED');
  await seen.page.getByText('No rank is in this state.').waitFor();
});

test('ranks late at a barrier are named above the grid and in their cells', async () => {
  const id = await cluster.program({ name: 'meets', command: ['sh', '-c', 'echo "$MUSTER_COORDINATOR"; exec sleep 600'], tasks: { worker: 2 }, grace: '1s' });
  const seen = await visitor(`/runs/${id}`);
  await inState(seen, 'RUNNING');
  const line = seen.at('rank', '[data-rank="0"]').locator('[data-testid="rank-line"]').filter({ hasText: /:\d+$/ });
  await line.waitFor();
  const address = await line.textContent();
  const agents = [new Agent(address, 0), new Agent(address, 1)];
  try {
    await Promise.all(agents.map((agent) => agent.register()));
    agents[0].barrier('step_7', 600_000).catch(() => {}); // until the end
    await seen.at('program-barrier', '[data-barrier="step_7"]').filter({ hasText: /1 of 2 ranks arrived/ }).waitFor();
    // A rank is late when it has been missing for a minute.
    await seen.at('rank', '[data-rank="1"][data-late="step_7"]').waitFor({ timeout: 90_000 });
    assert.equal(await seen.at('rank', '[data-rank="0"][data-late]').count(), 0);
    await seen.at('missing-rank').click();
    await seen.at('rank-detail', '[data-rank="1"]').filter({ hasText: 'step_7' }).waitFor();
    const passed = agents[1].barrier('step_7', 60_000);
    await passed;
    await seen.at('program-barrier').waitFor({ state: 'detached' });
    await seen.at('rank', '[data-rank="1"]:not([data-late])').waitFor();
  } finally {
    for (const agent of agents) agent.end();
  }
  await confirm(seen, 'cancel-program');
  await inState(seen, 'CANCELLED');
});

test('an unknown program is reported', async () => {
  const seen = await visitor('/runs/prog_00000000000000ff');
  await seen.at('no-program').waitFor();
});
