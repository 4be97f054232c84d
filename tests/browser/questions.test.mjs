// Questions of a person on call, each with a limit on clicks from the first screen. Typing and shortcuts are not clicks. Each
// question is answered with a mouse, and many also on a phone and with the keyboard only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Agent, ValueHolder } from './agent.mjs';
import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

const PHONE = { viewport: { width: 390, height: 844 } };
const SLEEP = 'muster.sleep';
const serverFlags = () => ['--data-dir', cluster.data, '--auth', 'on'];
const cluster = new Cluster();
const agents = [];
const holders = [];
const ids = {}; // of jobs and programs, by name
let browser;
let session; // cookies of the admin
let open; // the page of the present kind of user
const KINDS = ['mouse', 'phone', 'keyboard'];
const tokens = {}; // of a user for each kind

const zone = (n) => ({ labels: { zone: `z${n}` } });
const naps = (n, ms, count) => Array.from({ length: count }, () => ({ function: SLEEP, args: [ms], options: zone(n) }));
const fail = (message) => ({ function: 'muster.fail', args: [message] });
const shell = (script) => ['sh', '-c', script];
const get = (path) => cluster.get(`/api/v1/${path}`);

async function until(found) {
  for (;;) {
    const value = await found();
    if (value) return value;
    await new Promise((later) => setTimeout(later, 50));
  }
}
async function job(name, closures, more, token) {
  ids[name] = await cluster.submitAll(name, closures, more, token);
  return ids[name];
}
const ended = (id) => get(`jobs/${id}/join?timeout=30s`);
async function program(name, script, ranks, more) {
  ids[name] = await cluster.program({ name, command: shell(script), tasks: { worker: ranks }, grace: '1s', restart_grace: '1s', ...more });
  return ids[name];
}

before(async () => {
  await cluster.serve(...serverFlags());
  for (const n of [0, 1, 2]) cluster.worker(n, '--slots', '2', '--label', `zone=z${n}`, '--allow-programs', '--program-lease', '60s', '--host', n === 2 ? 'far' : 'near');
  browser = await launch();
  for (const name of ['ann', ...KINDS]) tokens[name] = cluster.createToken('--role', 'submitter', '--name', name);
  session = await cluster.signedIn();
  const { address } = await cluster.declare('train', { worker: 3 }, { stuck_after: '1s' });
  await Promise.all([history(), runs(), train(address)]);
  holders.push(new ValueHolder(cluster.grpc, 'worker:0', 2_000_000, cluster.token), new ValueHolder(cluster.grpc, 'worker:1', 61_000_000, cluster.token));
  // The workers of zones 0 and 1 are busy; the worker of zone 2 is free.
  await job('held', [...naps(0, 600_000, 2), ...naps(1, 600_000, 2)]);
  await job('gang', Array.from({ length: 20 }, () => ({ function: 'muster.noop', options: { gang: 'g' } })));
  await job('backfill', Array.from({ length: 40 }, () => ({ function: 'muster.echo', args: [1], options: { ...zone(0), priority: 5 } })), {}, tokens.ann);
});
after(async () => {
  for (const each of [...agents, ...holders]) each.end();
  cluster.end();
  await browser?.close();
});

/** Jobs that end before the questions are asked. The same function takes twice as long on worker:2. */
async function history() {
  const etl = (slow, last, commit) => job('etl-nightly', [...naps(0, 40, 3), ...naps(0, slow, 1), last], { on_error: 'continue', metadata: { commit } });
  ids.before = await etl(40, { function: 'muster.echo', args: ['good'] }, 'a17').then(async (id) => (await ended(id), id));
  await ended(await etl(400, fail('no such column: price\nat row 7'), 'b52'));
  ids.weekly1 = await job('weekly', naps(1, 50, 4));
  await ended(ids.weekly1);
  await ended(await job('weekly', naps(1, 200, 4)));
  await Promise.all([naps(0, 100, 6), naps(1, 100, 6), naps(2, 260, 6)].map(async (closures, n) => ended(await job(`naps ${n}`, closures))));
  await ended(await job('table', [{ function: 'muster.echo', args: [{ table: 'prices', rows: [1, 2, 3] }] }, { function: 'muster.echo', args: ['x'.repeat(500_000)] }]));
}

async function runs() {
  await program('earlier', 'echo "line foo of rank $RANK"', 4);
  await until(async () => (await get(`programs/${ids.earlier}`)).state === 'SUCCEEDED');
  await program('flaky', '[ "$MUSTER_ATTEMPT" -lt 3 ] && exit 3; exec sleep 600', 1, { max_restarts: 3 });
  await program('once', '[ "$MUSTER_ATTEMPT" -lt 2 ] && exit 3; exec sleep 600', 1, { max_restarts: 3 });
  await program('hangs', 'n=0; while [ $n -lt 9 ]; do n=$((n+1)); echo "step $n"; sleep 0.1; [ "$RANK" = 1 ] && [ $n = 5 ] && exec sleep 600; done; exec sleep 600', 2, { step_pattern: 'step (\\d+)', hang_after: '2s' });
  await program('meets', 'echo "$MUSTER_COORDINATOR"; exec sleep 600', 2);
  const [address] = await until(async () => (await logOf(ids.meets, 0)).match(/127\.0\.0\.1:\d+/));
  const ranks = await join(address, 2);
  ranks[0].barrier('step_7', 900_000).catch(() => {});
  await until(async () => (await get(`programs/${ids.hangs}`)).hang);
}

/** Connects all tasks of a cluster. */
async function join(address, count) {
  const all = Array.from({ length: count }, (_, task) => new Agent(address, task));
  agents.push(...all);
  await Promise.all(all.map((agent) => agent.register()));
  for (const agent of all) agent.stayAlive();
  return all;
}

/** Returns the text of a rank's log. */
async function logOf(id, rank) {
  return JSON.stringify(await get(`programs/${id}/logs?rank=${rank}`).catch(() => ''));
}

/** A cluster of agents. worker:2 was the last at each barrier, and is missing at `checkpoint`. worker:1 waits for a key. */
async function train(address) {
  const members = await join(address, 3);
  for (let step = 0; step < 4; ++step) {
    const first = [members[0], members[1]].map((agent) => agent.barrier(`step/${step}`, 60_000));
    await cluster.arrived('train', `step/${step}`, 2);
    await Promise.all([...first, members[2].barrier(`step/${step}`, 60_000)]);
  }
  for (const agent of members.slice(0, 2)) agent.barrier('checkpoint', 900_000).catch(() => {});
  members[1].key('address/2').catch(() => {});
}

async function leave() {
  await open?.page.context().close();
  open = undefined;
}

/** A user of the page. `click` counts; more than `most` clicks fail. */
class User {
  clicks = 0;

  static async at(kind, most) {
    open ??= await WatchedPage.open(browser, `${cluster.url}/now`, { storageState: session, ...(kind === 'phone' && PHONE) });
    const user = Object.assign(new User(), { kind, most, seen: open, page: open.page });
    await user.page.goto(`${cluster.url}/now`);
    await user.seen.reads('conn-state', /live/i);
    return user;
  }

  at(id, more) {
    return this.seen.at(id, more);
  }

  reads(id, pattern) {
    return this.seen.reads(id, pattern);
  }

  press(key) {
    return this.page.keyboard.press(key);
  }

  count() {
    assert.ok(++this.clicks <= this.most, `${this.clicks} clicks are more than ${this.most}`);
  }

  async click(locator) {
    if (this.kind === 'keyboard') {
      await this.reach(locator);
      await this.press('Enter');
    } else await locator.click();
    this.count();
  }

  /** Presses Tab until the element, or a part of it, has the focus. */
  async reach(locator) {
    await locator.waitFor();
    for (let n = 0; n < 150; ++n) {
      if (await locator.evaluate((e) => e.contains(document.activeElement))) return;
      await this.press('Tab');
    }
    assert.fail(`Tab does not reach ${locator}`);
  }

  /** Opens a page. On a phone, the menu needs one more tap, which does not count. */
  async open(entry, tab) {
    if (this.kind === 'phone') await this.at('menu').click();
    if (this.kind === 'keyboard' && !tab) {
      await this.press('g');
      await this.press({ Work: 'j', Queue: 'n', Fleet: 't', Agreement: 'b', Explore: 'f' }[entry]);
      await this.page.locator('.rail a[aria-current="page"]', { hasText: entry }).waitFor();
    } else await this.seen.navigate(entry, tab, (locator) => this.click(locator));
  }

  /** Selects a row of a list, with the arrow keys if there is no mouse. */
  async row(list, more) {
    const row = this.at(`${list}-row`, more).first();
    await row.waitFor();
    if (this.kind !== 'keyboard') return this.click(row);
    await this.reach(this.at(`${list}-list`));
    do await this.press('ArrowDown');
    while ((await row.getAttribute('aria-selected')) !== 'true');
    this.count();
  }

  /** Opens what an alert is about. */
  async alert(kind, about) {
    await this.click((await this.alertOf(kind, about)).locator('a').first());
  }

  /** Shows all alerts if the alert is not among the first. */
  async alertOf(kind, about) {
    await this.at('attention-item').first().waitFor();
    const item = this.at('attention-item', `[data-kind="${kind}"]`).filter({ hasText: about }).first();
    await item.or(this.at('alerts-more')).first().waitFor();
    if (!(await item.isVisible())) await this.click(this.at('alerts-more'));
    return item;
  }

  /** Opens an entry of the palette: with Ctrl-K, or on a phone with a button. */
  async find(text, kind) {
    if (this.kind === 'phone') await this.at('find-anything').click(); // like the menu, not counted
    else await this.press('Control+k');
    await this.at('palette').waitFor();
    await this.page.keyboard.type(text);
    const row = this.at('palette-row', `[data-kind="${kind}"]`).first();
    await row.waitFor();
    while ((await row.getAttribute('aria-selected')) !== 'true') await this.press('ArrowDown');
    await this.press('Enter');
  }

  async options(select, value) {
    await select.selectOption(value);
    this.count();
  }
}

const asked = [];

/** Asks a question with a mouse, and on each kind of `also`: "phone", "keyboard". */
function question(text, clicks, also, answer) {
  asked.push({ text, clicks, kinds: ['mouse', ...also.split(' ').filter(Boolean)], answer });
}

question('why did etl-nightly fail, and with which arguments', 3, 'phone keyboard', async (user) => {
  await user.alert('job-failed', 'etl-nightly');
  await user.reads('run-headline', /^Failed: .*no such column: price.* \(1 of 5 calls failed\)$/);
  await user.row('closures', '[data-state="FAILED"]');
  await user.reads('args', /no such column: price/);
  await user.reads('traceback', /at row 7/);
});

question('which worker is slowest, and since when', 1, 'phone keyboard', async (user) => {
  await user.open('Fleet');
  await user.at('fleet-slowest', '[data-task="worker:2"]').filter({ hasText: /[2-9]\.\d × slower than the median since \d\d:\d\d/ }).waitFor();
});

question('what changed between two runs', 2, 'phone keyboard', async (user) => {
  await user.find('etl-nightly', 'job');
  await user.click(user.at('compare-with'));
  await user.click(user.at('compare-choice', `[data-run="${ids.before}"]`));
  await user.reads('compare-first', /Call #3 \(muster\.sleep\) took 4\d\d ms, and \d\d ms before/);
  await user.at('compare-submission').locator('tr', { hasText: 'commit' }).filter({ hasText: 'a17' }).filter({ hasText: 'b52' }).waitFor();
});

question('who waits at checkpoint, who is missing, and since when', 1, 'phone keyboard', async (user) => {
  await user.open('Agreement');
  const row = user.at('barrier', '[data-barrier="checkpoint"]');
  await row.locator('[data-testid="barrier-standing"]').filter({ hasText: /2 of 3 arrived, worker:2 missing for \d/ }).waitFor();
  await row.locator('.barrier-time').filter({ hasText: /since \d\d:\d\d:\d\d/ }).waitFor();
  const arrived = await row.locator('.is-there').evaluateAll((all) => all.map((dot) => dot.dataset.task));
  assert.deepEqual(arrived.sort(), ['worker:0', 'worker:1'], 'in the order in which they came');
});

question('which line with foo did rank 3 of an earlier program print', 2, 'phone keyboard', async (user) => {
  await user.open('Explore');
  if (user.kind === 'phone') await user.page.locator('.find input').focus();
  else await user.press('/');
  await user.page.keyboard.type('foo of rank');
  await user.click(user.at('found-line', '[data-rank="3"]').locator('a').first());
  await user.at('log-at-line').filter({ hasText: 'line foo of rank 3' }).waitFor();
});

question('how much memory do values use, and who holds it', 1, 'phone keyboard', async (user) => {
  await user.open('Fleet');
  await user.at('fleet-holder', '[data-task="worker:1"]').filter({ hasText: '61 MB' }).waitFor();
  await user.at('host-row', '[data-host="near"]').filter({ hasText: '63 MB' }).waitFor();
});

question('which job holds the largest value', 3, 'phone', async (user) => {
  await user.open('Explore', 'Remote values');
  await user.at('holder', `[data-job="${ids.table}"]`).filter({ hasText: '500 KB' }).waitFor();
  if (user.kind === 'phone') return; // its rows have no heads
  await user.click(user.at('sort-size'));
  await user.at('values-row').first().filter({ hasText: '500 KB' }).waitFor();
});

question('is the server healthy, and is any history lost', 1, 'phone keyboard', async (user) => {
  await user.click(user.at('server-health'));
  await user.at('server-verdict').waitFor();
  await user.at('server-figure', '[data-figure="history"]').filter({ hasText: '0 records' }).waitFor();
});

question('cancel everything that one user submitted', 3, 'phone keyboard', async (user) => {
  for (const n of [1, 2, 3]) await job(`sweep-${user.kind}-${n}`, naps(0, 1, 1), {}, tokens[user.kind]);
  await user.find(user.kind, 'user');
  await user.reads('selected-count', /^3 runs match$/);
  await user.click(user.at('select-all'));
  await user.click(user.at('cancel-selected'));
  await user.click(user.at('question-yes'));
  await user.reads('work-result', /^3 cancelled/);
  for (const n of [1, 2, 3]) assert.equal((await get(`jobs/${ids[`sweep-${user.kind}-${n}`]}`)).state, 'CANCELLED');
  assert.equal((await get(`jobs/${ids.held}`)).state, 'RUNNING');
});

question('how do I share this view', 2, 'phone', async (user) => {
  await user.open('Work');
  await user.click(user.at('state-FAILED'));
  await user.page.waitForURL(/state=FAILED/);
  await user.page.waitForFunction(() => document.querySelector('[data-testid=work-row]') && !document.querySelector('[data-testid=work-row]:not([data-state=FAILED])'));
  const names = await user.at('work-row').locator('a.work-name').allTextContents();
  const other = await WatchedPage.open(browser, user.page.url(), { storageState: session });
  await other.at('work-row').first().waitFor();
  assert.deepEqual(await other.at('work-row').locator('a.work-name').allTextContents(), names);
  await other.page.context().close();
});

question('retry only the calls that failed', 2, 'phone', async (user) => {
  const name = `broken-${user.kind}`;
  const id = await job(name, [fail(`disk of ${name} is full`), { function: 'muster.noop' }], { on_error: 'continue' });
  const item = await user.alertOf('job-failed', name);
  await user.click(item.locator('[data-testid=retry-job]'));
  const again = await until(async () => (await get(`work?q=${name}`)).runs.find((run) => run.retry_of === id));
  assert.equal(again.counts.total, 1);
});

question('export the list of runs', 2, 'phone keyboard', async (user) => {
  await user.open('Work');
  await user.at('work-row').first().waitFor();
  const [file] = await Promise.all([user.page.waitForEvent('download'), user.click(user.at('export-csv'))]);
  const lines = readFileSync(await file.path(), 'utf8').split('\r\n');
  assert.ok(lines[0].startsWith('kind,id,cluster,name,state,submitted_by'));
  assert.ok(lines.some((line) => line.startsWith(`job,${ids['etl-nightly']},`)));
});

question('what is the value of a call', 3, 'phone', async (user) => {
  await user.open('Work');
  await user.click(user.at('work-row', `[data-run="${ids.table}"]`).locator('a').first());
  await user.row('closures', ':has-text("0")');
  await user.reads('value-type', /^object with 2 members/);
  await user.reads('value', /prices/);
});

question('what runs next', 1, 'phone keyboard', async (user) => {
  await user.open('Queue');
  const first = user.at('queue-entry').first();
  await user.at('queue-entry', '[data-name="muster.echo"][data-position="1"]').filter({ hasText: 'backfill' }).waitFor();
  await first.filter({ hasText: /40 wanted, 0 free/ }).waitFor();
});

question('why does a gang not start', 2, 'phone keyboard', async (user) => {
  const item = await user.alertOf('gang-unmet', '20 closures');
  await user.click(item.locator('[data-testid=deed-explain]'));
  await user.reads('explained', /no room for the 20 closures/);
});

question('where does rank 1 hang', 2, 'phone keyboard', async (user) => {
  await user.alert('program-hangs', 'hangs');
  await user.reads('run-headline', /^Hangs for .*: rank 1 /);
  await user.click(user.at('cause-rank'));
  await user.reads('rank-stack', /nanosleep/);
});

question('which barrier do the ranks of a program wait at, and since when', 2, 'phone', async (user) => {
  await user.open('Work');
  await user.click(user.at('work-row', `[data-run="${ids.meets}"]`).locator('a').first());
  await user.at('program-barrier', '[data-barrier="step_7"]').filter({ hasText: /1 of 2 ranks arrived, waiting for \d/ }).waitFor();
});

question('which key does worker:1 wait for', 3, 'phone', async (user) => {
  await user.click(user.at('cluster-row', '[data-cluster="train"]').locator('a').first());
  await user.open('Agreement', 'Key-values');
  await user.at('wait', '[data-of="address/2"]').filter({ hasText: /1 waiting, longest \d.*worker:1/s }).waitFor();
});

question('which call holds worker:1', 2, 'phone keyboard', async (user) => {
  await user.open('Fleet');
  await user.click(user.at('task-row', '[data-task="worker:1"]').locator('[data-testid="slots-toggle"]'));
  await user.at('slot').filter({ hasText: /slot 1 muster\.sleep #2 for .*, since \d\d:\d\d:\d\d/ }).waitFor();
});

question('which program restarted most', 2, 'phone keyboard', async (user) => {
  await user.open('Work');
  await user.click(user.at('kind-program'));
  const restarts = (name) => user.at('work-row', `[data-run="${ids[name]}"]`).locator('.work-restarts').filter({ hasText: name === 'flaky' ? /^2/ : /^1/ });
  await restarts('flaky').waitFor();
  await restarts('once').waitFor();
});

question('why is worker:2 of train late', 2, 'phone keyboard', async (user) => {
  await user.click(user.at('cluster-row', '[data-cluster="train"]').locator('a').first());
  await user.at('agents-row', '[data-task="worker:2"]').filter({ hasText: /late/i }).filter({ hasText: 'checkpoint' }).waitFor();
});

question('who usually arrives last', 3, 'phone', async (user) => {
  await user.open('Agreement', 'Stragglers');
  await user.click(user.at('elsewhere').first().locator('button', { hasText: 'train (3)' }));
  await user.reads('verdict', /worker:2.* arrived last/);
});

question('who submitted the job that fills the queue', 2, 'phone keyboard', async (user) => {
  await user.open('Queue');
  await user.click(user.at('queue-entry', '[data-name="muster.echo"]').locator('a', { hasText: 'backfill' }));
  await user.at('job').locator('.facts-line').filter({ hasText: /user\s*ann/ }).waitFor();
});

question('did the last run get slower', 2, 'keyboard', async (user) => {
  await user.find('weekly', 'job');
  await user.click(user.at('compare-with'));
  await user.click(user.at('compare-choice', `[data-run="${ids.weekly1}"]`));
  const row = user.at('compare-functions').locator('[data-function="muster.sleep"]');
  await row.locator('.text-late').filter({ hasText: /× [2-5]/ }).waitFor();
});

question('what happened at a given time', 2, 'phone', async (user) => {
  const { events } = await get('events?from_ms=1');
  const at = events.find(({ kind }) => kind === 'job_submitted')?.time_ms ?? events[0].time_ms;
  await user.open('Explore', 'Events');
  await user.at('events-row').first().waitFor();
  const clock = await user.page.evaluate((ms) => [-1000, 1000].map((by) => new Date(ms + by).toTimeString().slice(0, 8)), at);
  for (const [n, end] of ['from', 'to'].entries()) {
    await user.at(`range-${end}`).fill(clock[n]);
    await user.at(`range-${end}`).press('Enter');
  }
  await user.page.waitForURL(/from=\d+.*to=\d+/);
  const { searchParams } = new URL(user.page.url());
  const { events: within } = await get(`events?from_ms=${searchParams.get('from')}&to_ms=${searchParams.get('to')}`);
  assert.ok(within.length > 0 && within.length < events.length);
  await user.page.locator('#events', { hasText: `${within.length} event` }).waitFor();
});

question('what did a worker run at a given time', 2, '', async (user) => {
  const { closures } = await get(`jobs/${ids['naps 2']}/closures`);
  const { started_ms: at } = closures[0].attempts[0];
  await user.open('Explore', 'Task stream');
  const clock = await user.page.evaluate((ms) => new Date(ms).toTimeString().slice(0, 8), at);
  await user.at('stream-at').fill(clock);
  await user.page.waitForURL(/from=\d+&to=\d+/);
  const { searchParams } = new URL(user.page.url());
  assert.ok(Number(searchParams.get('from')) <= at && at <= Number(searchParams.get('to')));
  await user.page.locator('#visible-rows, [data-testid$="-row"]').filter({ hasText: 'worker:2' }).filter({ hasText: SLEEP }).first().waitFor();
});

question('which worker uses the most memory', 2, 'keyboard', async (user) => {
  await user.open('Fleet');
  await user.click(user.at('sort-memory'));
  await user.page.waitForURL(/sort=memory&order=desc/);
  await user.at('task-row').nth(2).waitFor();
  const shown = await user.at('task-row').evaluateAll((all) => all.map((row) => row.dataset.task));
  const { hosts } = await get('hosts');
  const { workers } = hosts.find(({ host }) => host === 'near');
  const [most] = [...workers].sort((a, b) => b.process_memory_bytes - a.process_memory_bytes);
  assert.ok(shown.indexOf(most.task) < shown.indexOf(workers.find(({ task }) => task !== most.task).task), shown.join());
});

question('how do I get a trace for Perfetto', 3, '', async (user) => {
  await ended(await job('traced', naps(2, 20, 1)));
  await user.open('Explore', 'Task stream');
  const [file] = await Promise.all([user.page.waitForEvent('download'), user.click(user.page.locator('#stream a[download]'))]);
  const { traceEvents } = JSON.parse(await readFile(await file.path(), 'utf8'));
  assert.ok(traceEvents.some(({ name }) => name === SLEEP));
});

question('cancel a job and retry it', 5, 'phone keyboard', async (user) => {
  const id = await job(`too long ${user.kind}`, naps(2, 600_000, 1));
  await user.open('Work');
  await user.click(user.at('work-row', `[data-run="${id}"]`).locator('a').first());
  await user.click(user.at('cancel-job'));
  await user.click(user.at('question-yes'));
  await user.at('job', `[data-job="${id}"][data-state="CANCELLED"]`).waitFor();
  await user.click(user.at('retry-job'));
  await user.page.waitForFunction((old) => (document.querySelector('[data-testid="job"]')?.dataset.job ?? old) !== old, id);
  await cluster.cancel(await user.at('job').getAttribute('data-job'));
});

question('cordon a worker and uncordon it', 4, 'phone keyboard', async (user) => {
  await user.open('Fleet');
  await user.click(user.at('task-row', '[data-task="worker:1"]').locator('a'));
  await user.click(user.at('cordon'));
  await user.reads('standing', /cordoned/);
  await user.click(user.at('uncordon'));
  await user.at('cordon').waitFor();
});

for (const kind of KINDS)
  describe(kind, () => {
    after(() => leave());
    for (const { text, clicks, kinds, answer } of asked)
      if (kinds.includes(kind))
        test(`${text}: ${clicks} ${clicks === 1 ? 'click' : 'clicks'}`, async () => {
          const user = await User.at(kind, clicks);
          await answer(user);
          assert.equal(await user.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'no horizontal scrolling');
          assert.deepEqual(user.seen.faults.splice(0), []);
        });
  });

describe('screen readers', () => {
  test('a polite live region announces each new alert once', async () => {
    const { page, seen } = await User.at('mouse', 0);
    await seen.at('attention-item').first().waitFor();
    await page.evaluate(() => {
      globalThis.said = [];
      const region = document.querySelector('p[role="status"].unseen');
      new MutationObserver(() => globalThis.said.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
    });
    const region = page.locator('p[role="status"].unseen'); // the role is polite unless aria-live says otherwise
    assert.equal(await region.getAttribute('aria-live'), null);
    for (const name of ['first', 'second']) {
      await job(`${name} silent`, [fail(`${name} reason`)]);
      await page.waitForFunction((title) => globalThis.said.some((text) => /^New alerts?\. /.test(text) && text.includes(title)), `: Job ${name} silent failed`);
    }
    const said = await page.evaluate(() => globalThis.said.join('\n'));
    for (const name of ['first', 'second']) assert.equal(said.split(`Job ${name} silent failed`).length, 2, said);
  });

  test('the heading has the focus after navigation', async () => {
    const { page, seen } = await User.at('mouse', 0);
    const focused = (text) => page.waitForFunction((words) => document.activeElement?.tagName === 'H1' && document.activeElement.textContent.includes(words), text);
    await seen.navigate('Work');
    await focused('Work');
    await seen.at('work-row', `[data-run="${ids.table}"]`).locator('a').first().click();
    await focused('table');
    await page.goBack();
    await focused('Work');
    await seen.navigate('Explore', 'Events');
    await focused('Events');
  });
});
