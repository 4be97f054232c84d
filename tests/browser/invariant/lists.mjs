// The pages that list things.

import { ended, on, rest, short, sum } from './reading.mjs';
import { hasPython, MODEL } from './scene.mjs';

/** Compares the numbers of a page, by its address. FROM and TO stand for the time of the script. */
export const pages = {};
const FAILED = () => MODEL.sweep.failed + MODEL.again.failed + MODEL.flaky.failed + (on.session ? MODEL.session.failed : 0);
const SUCCEEDED = () => MODEL.sweep.succeeded + MODEL.blobs.succeeded + (on.session ? MODEL.session.succeeded + MODEL.builders : 0);
const CLOSURES = () => FAILED() + SUCCEEDED() + MODEL.stopped.cancelled + MODEL.waits.queued + MODEL.slow.running;

pages['/now'] = async (r) => {
  const [overview, attention, { clusters }, work] = await Promise.all([rest('overview'), rest('attention'), rest('clusters'), rest('work')]);
  const { closures, jobs } = overview;
  const by = (name) => clusters.find((c) => c.name === name);
  const running = await r.text('now-running');
  r.counts('running closures', running, /^Running ([\d,]+) closures/, closures.running);
  r.same('running closures of the script', closures.running, MODEL.slow.running);
  r.counts('running jobs and programs', running, /([\d,]+) job, ([\d,]+) program of ([\d,]+) ranks/, jobs.running, 1, MODEL.programs.runs);
  r.counts('waiting closures', await r.text('now-waiting'), /^Waiting ([\d,]+) closures/, closures.queued + closures.blocked);
  r.same('waiting closures of the script', closures.queued + closures.blocked, MODEL.waits.queued);
  const failed = await r.text('now-failed');
  r.counts('failed in the last hour', failed, /hour ([\d,]+) closures/, closures.failed);
  r.same('failed closures of the script', closures.failed, FAILED());
  r.counts('failed jobs and programs', failed, /([\d,]+) jobs.* ([\d,]+) program$/, jobs.failed, 1);
  r.same('alerts', await r.seen.at('attention').getAttribute('data-alerts'), String(attention.items.length));
  const counted = work.facets.states.find(({ value }) => value === 'FAILED').runs;
  r.same('failed runs beside Work', await r.text('rail-failed'), String(counted));
  r.same('failed runs of the script', counted, 4);
  const [starts, failures, restarts] = (await r.seen.at('now-timeline').getAttribute('data-marks')).split(' ').map(Number);
  const { events } = await rest('events?limit=1000');
  const of = (...kinds) => events.filter(({ kind }) => kinds.includes(kind)).length;
  r.same('starts in the timeline', starts, of('worker_attached', 'generation_started') + work.runs.length);
  r.same('failures in the timeline', failures, 3 + 1 + 1); // jobs, a program and a worker
  r.same('restarts in the timeline', restarts, of('server_started'));
  for (const name of ['default', 'train']) {
    const row = await r.text('cluster-row', `[data-cluster="${name}"]`);
    r.counts(`tasks of ${name}`, row, /([\d,]+) of ([\d,]+) connected/, by(name).tasks.connected, by(name).tasks.total);
    if (name === 'train') r.counts('barriers and run of train', row, /([\d,]+) running barrier run ([\d,]+)/, by(name).generation.barriers.running, by(name).generation.number);
    else r.counts('closure workers', row, /([\d,]+) closure workers/, overview.tasks.total);
  }
  for (const item of attention.items.slice(0, 3)) {
    const rows = await r.all(`[data-testid="attention-item"][data-kind="${item.rule}"]`);
    const row = rows.find((text) => text.includes(item.detail));
    if (row) r.since(`age of “${item.title}”`, /(\S+ \S+|\S+) (?:Retry|Explain|Seen)/.exec(row)?.[1]?.replace(/^\D*(?=\d)/, '') ?? row, item.since_ms);
  }
};

pages['/now/charts'] = async (r) => {
  const [overview, { clusters }, { tasks }, { jobs }, holders] = await Promise.all([rest('overview'), rest('clusters'), rest('clusters/default/tasks'), rest('jobs'), rest('remote_values/holders')]);
  const { closures, remote_values: values, progress, durable } = overview;
  const all = (state) => sum(clusters.map((c) => c.tasks[state] ?? 0));
  r.counts('tasks connected', await r.text('key-tasks'), /connected ([\d,]+) of ([\d,]+) ([\d,]+) error ([\d,]+) not/, all('connected'), all('total'), all('error'), all('missing') + all('registering'));
  r.counts('queue', await r.text('key-queue'), /depth ([\d,]+) ([\d,]+) running/, closures.queued, closures.running);
  r.counts('remote values', await r.text('key-values'), /values ([\d,]+) ready ([\d,]+) not ready/, values.ready, values.not_ready);
  r.counts('legend of the map', await r.text('map-legend'), /Connected ([\d,]+) Late ([\d,]+) Not connected yet ([\d,]+) Error ([\d,]+) Disconnected ([\d,]+)/, all('connected'), all('late'), all('missing') + all('registering'), all('error'), all('disconnected'));
  for (const w of tasks.filter(({ kind }) => kind === 'worker')) {
    const row = await r.text('task-row', `[data-task="${w.job}:${w.index}"]`);
    r.counts(`${w.job}:${w.index}: running, slots, finished, failed`, row, / ([\d,]+) \/ ([\d,]+) ([\d,]+) ([\d,]+)(?: |$)/, w.running, w.slots, w.finished, w.failed);
  }
  for (const row of await r.rows('[data-testid="job-row"]')) {
    const { name, counts } = jobs.find(({ id }) => id === row.job) ?? (await rest(`jobs/${row.job}`));
    r.same(`${name}: ended`, await r.text('job-row', `[data-job="${row.job}"] [data-testid="job-ended"]`), `${ended(counts)} of ${counts.total} ended · ${on.format.percent(ended(counts), counts.total)}`);
    const text = await r.text('job-row', `[data-job="${row.job}"]`);
    if (counts.failed > 0) r.counts(`${name}: failed`, text, /([\d,]+) failed/, counts.failed);
    if (counts.total > ended(counts)) r.counts(`${name}: running and waiting`, text, /([\d,]+) running · ([\d,]+) waiting/, counts.running, counts.queued + counts.blocked);
  }
  for (const f of progress.functions) {
    const text = await r.text('function-row', `[data-function="${f.name}"]`);
    const waiting = f.queued + f.waiting;
    const total = waiting + f.running + ended(f);
    r.counts(`${f.name}: ended, total, running and waiting`, text, /([\d,]+) of ([\d,]+) ended · [\d.]+% ([\d,]+) running · ([\d,]+) waiting/, ended(f), total, f.running, waiting);
    r.same(`${f.name}: percent`, /ended · (\S+)/.exec(text)?.[1], on.format.percent(ended(f), total));
    if (f.failed > 0) r.counts(`${f.name}: failed`, text, /([\d,]+) failed/, f.failed);
  }
  r.same('closures of all functions', sum(progress.functions.map((f) => f.waiting + f.queued + f.running + ended(f))), CLOSURES());
  for (const [id, n] of [['ready', values.ready - values.errors], ['errors', values.errors], ['not-ready', values.not_ready], ['aborted', values.aborted]]) r.same(`values: ${id}`, await r.text(`values-${id}`), String(n));
  r.same('values that are errors, of the script', values.errors, FAILED() + MODEL.stopped.cancelled);
  r.counts('values in all', (await r.all('#values .note'))[0], /^([\d,]+) in total/, CLOSURES());
  const held = (await r.all('#values .foot'))[0];
  r.same('stored values', held, `${on.format.plural(values.held, 'value')} stored on this server, ${on.format.bytes(values.held_bytes)}`);
  r.same('bytes of values, of all holders', values.held_bytes, sum(holders.holders.map((h) => h.value_bytes + h.spilled_bytes + h.blob_bytes)));
  r.same('durable data', (await r.text('kept-bytes')).split(',')[0], on.format.bytes(durable.disk_bytes + durable.blob_bytes + durable.history_bytes));
  r.same('state and blobs', await r.text('kept-parts'), `State ${on.format.bytes(durable.disk_bytes)} Blobs ${on.format.bytes(durable.blob_bytes)}`);
  r.counts('server starts', await r.text('kept'), /server start ([\d,]+)/, durable.epoch);
};

async function work(r, kind) {
  const before = await rest(`work?${kind && `kind=${kind}`}`);
  const facets = before.facets;
  const of = (list, ...names) => sum(list.filter(({ value }) => names.includes(value)).map(({ runs }) => runs));
  for (const each of ['job', 'session', 'program']) r.same(`number of ${each}s`, await r.text(`kind-${each}`), [`${each}s`, of(facets.kinds, each) || ''].join(' ').trim());
  const states = [['UNFINISHED', 'unfinished', 'QUEUED', 'RUNNING', 'PENDING', 'STARTING', 'RESTARTING', 'STOPPING'], ['FAILED', 'failed', 'FAILED'], ['SUCCEEDED', 'succeeded', 'SUCCEEDED'], ['CANCELLED', 'cancelled', 'CANCELLED']];
  for (const [id, word, ...names] of states) r.same(`${word} runs`, await r.text(`state-${id}`), [word, of(facets.states, ...names) || ''].join(' ').trim());
  r.counts('matching runs', await r.text('selected-count'), /^([\d,]+) runs? match/, before.matching);
  const rows = await r.rows('[data-testid="work-row"]');
  r.same('rows', rows.length, before.runs.length);
  const { runs } = await rest(`work?${kind && `kind=${kind}`}`); // durations after the rows were read
  for (const [n, run] of before.runs.entries()) {
    const row = rows.find((each) => each.run === run.id) ?? {};
    const { counts, name } = run;
    r.same(`${name}: ended`, row.Ended, counts.total === 0 ? 'empty' : `${counts.ended} of ${counts.total} · ${on.format.percent(counts.ended, counts.total)}`);
    r.same(`${name}: failed`, row.Failed, counts.failed === undefined ? '–' : String(counts.failed));
    r.lasts(`${name}: took`, row.Took ?? '', run.duration_ms - 3000 * Number(!run.ended_ms), runs[n].duration_ms + 1500 * Number(!run.ended_ms));
    r.since(`${name}: began`, row.Began ?? '', run.created_ms);
    if (run.kind === 'session' && kind) {
      r.same(`${name}: values`, row.Values, String(run.values));
      r.same(`${name}: memory`, row.Memory, on.format.bytes(run.value_bytes));
    }
    if (run.kind === 'session' && !kind) r.counts(`${name}: values`, row.Name, /([\d,]+) values/, run.values);
    if (run.kind === 'program' && kind) {
      r.same(`${name}: ranks`, row.Ranks, run.ended_ms ? String(counts.total) : `${counts.running} of ${counts.total}`);
      r.same(`${name}: ranks of the script`, counts.total, MODEL.programs[name]);
      r.same(`${name}: attempt and restarts`, `${row.Attempt} ${row.Restarts}`, `${run.attempt} ${run.restarts}`);
    }
  }
}
for (const kind of ['', 'job', 'session', 'program']) pages[`/work${kind && `?kind=${kind}`}`] = (r) => work(r, kind);

pages['/queue'] = async (r) => {
  const { queue, entries, closures } = await rest('queue');
  r.counts('waiting closures', await r.text('queue-head'), /^([\d,]+) closures wait/, closures);
  r.same('waiting closures of the script', closures, MODEL.waits.queued);
  r.counts('entries', await r.text('count-line'), /^([\d,]+) row/, entries);
  for (const [n, entry] of queue.entries()) {
    r.counts('wanted and free', (await r.texts('queue-wanted'))[n], /([\d,]+) wanted, ([\d,]+) free/, entry.wanted, entry.free);
    const text = (await r.texts('queue-entry'))[n];
    r.counts('closures of an entry', text, /([\d,]+) closures of/, entry.waiting);
    r.since('age of the oldest', /submitted ([^ ]+(?: \S+)?) ago/.exec(text)?.[1] ?? text, entry.since_ms);
    const facts = await r.facts('[data-testid="queue-facts"]');
    r.same('matching workers', facts['Matching workers'], String(entry.workers));
    r.same('free slots', facts['Free slots'], String(entry.free));
    r.same('slots of matching workers', facts['Slots of the matching workers'], String(entry.slots));
  }
};

pages['/fleet'] = async (r) => {
  const { hosts } = await rest('hosts');
  const workers = hosts.flatMap((h) => h.workers);
  r.counts('hosts and workers', (await r.all('#hosts .note, #fleet .note, .panel-head .note')).join(' ') || (await r.all('.panel')).join(' '), /([\d,]+) hosts, ([\d,]+) workers/, hosts.length, workers.length);
  const states = (...names) => workers.filter(({ state }) => names.includes(state)).length;
  r.same('all', await r.text('show-all'), `all ${workers.length}`);
  r.same('connected', await r.text('show-connected'), `connected ${states('CONNECTED')}`);
  r.same('lost', await r.text('show-lost'), `lost ${states('ERROR', 'DISCONNECTED')}`);
  for (const { host, workers: its } of hosts) {
    const [row] = await r.rows(`[data-testid="host-row"][data-host="${host}"]`);
    const there = its.filter(({ state }) => state !== 'ERROR' && state !== 'DISCONNECTED');
    r.same(`${host}: workers`, row?.['1'], on.format.plural(its.length, 'worker'));
    r.same(`${host}: running`, row?.Running, `${sum(its.map((w) => w.running))} of ${sum(there.map((w) => w.slots))}`);
    r.same(`${host}: queued`, row?.Queued, String(sum(its.map((w) => w.sent_ahead))));
    r.same(`${host}: values`, row?.Values, on.format.bytes(sum(its.map((w) => w.value_bytes ?? 0))));
    r.same(`${host}: failed`, row?.['Failed, 1 h'], String(sum(its.map((w) => w.failed_last_hour))));
    for (const w of its) {
      const [line] = await r.rows(`[data-testid="task-row"][data-task="${w.task}"]`);
      r.same(`${w.task}: running`, line?.Running, `${w.running} of ${w.slots}`);
      r.same(`${w.task}: queued`, line?.Queued, String(w.sent_ahead));
      r.same(`${w.task}: values`, line?.Values, on.format.bytes(w.value_bytes));
      r.same(`${w.task}: failed`, line?.['Failed, 1 h'], String(w.failed_last_hour));
    }
  }
  r.same('failed executions of the script', sum(workers.map((w) => w.failed_last_hour)), FAILED() - MODEL.flaky.failed + MODEL.flaky.attempts);
};

async function worker(r, index) {
  const path = `clusters/default/tasks/worker/${index}`;
  const [w, hour, { hosts }, held] = await Promise.all([rest(`${path}?kind=worker`), rest(`${path}/history`), rest(`hosts?task=worker:${index}`), rest(`${path}/closures`)]);
  const facts = await r.facts('#worker .facts-line');
  const [figures] = hosts[0].workers;
  r.same('ended', facts['ended since the server started'], String(w.finished));
  r.same('failed', facts['of them failed'], String(w.failed));
  r.same('failed in the last hour', facts['failed executions, 1 h'], String(figures.failed_last_hour));
  r.same('failed in the chart', sum(hour.failed), figures.failed_last_hour);
  r.same('values', facts.values, on.format.bytes(figures.value_bytes));
  r.same('process', facts.process, String(w.pid));
  r.same('restarts', facts.restarts, String(w.restarts));
  r.same('reconnects', facts.reconnects, String(w.reconnects));
  r.since('since', facts.since ?? '', w.since_ms);
  r.counts('last hour', (await r.all('#hour .foot'))[0], /^([\d,]+) executions? ended in the last 1h 00m, ([\d,]+) of them failed/, sum(hour.finished), sum(hour.failed));
  r.counts('running', (await r.all('#runs .note'))[0], /^([\d,]+) closures?/, held.running.length);
  r.counts('slots', await r.text('resources'), /slots ([\d,]+) of ([\d,]+) · ([\d,]+) free/, w.running, w.slots, w.slots - w.running);
  const functions = await r.all('[data-testid="functions"] li');
  r.same('functions', functions.length, w.functions.length);
  if (held.running.length > 0) r.since('running for', /running for (.+)$/.exec((await r.all('[data-testid="running"] tr'))[0])?.[1] ?? '', held.running[0].since_ms);
}
for (const index of [0, 1, 2, ...(hasPython ? [3, 4] : [])]) pages[`/fleet/worker:${index}`] = (r) => worker(r, index);

pages['/fleet?cluster=train'] = async (r) => {
  const cluster_ = await rest('clusters/train');
  r.counts('connected agents', (await r.texts('only-connected'))[0] ?? (await r.all('.panel')).join(' '), /([\d,]+) connected/, cluster_.tasks.connected);
  r.counts('timeline', (await r.all('.panel')).join(' '), /([\d,]+) agents, ([\d,]+) run, ([\d,]+) restarts/, MODEL.agents, cluster_.generation.number, 0);
  r.same('tasks that wait', await r.seen.at('run-timeline').getAttribute('data-waits'), '2');
};

pages['/agreement?cluster=train'] = async (r) => {
  const [train, { barriers }, stragglers] = await Promise.all([rest('clusters/train'), rest('clusters/train/barriers'), rest('clusters/train/stragglers')]);
  const { generation, tasks } = train;
  const row = await r.text('agreeing', '[data-cluster="train"]');
  r.counts('members, barriers, keys, run', row, /([\d,]+) of ([\d,]+) connected ([\d,]+) waiting barrier ([\d,]+) keys run ([\d,]+)/, tasks.connected, tasks.total, generation.barriers.running, generation.keys, generation.number);
  r.same('keys of the script', generation.keys, MODEL.keys);
  const [waits] = barriers.filter(({ state }) => state === 'RUNNING' || !state.match(/PASSED|FAILED/));
  const detail = await rest(`clusters/train/barriers/${encodeURIComponent(waits.id)}`);
  const standing = await r.text('barrier-standing');
  r.counts('arrived', standing, /^([\d,]+) of ([\d,]+) arrived/, waits.arrived_count, waits.participants);
  const arrivals = [...detail.arrivals].sort((a, b) => a.came_ms - b.came_ms);
  const shown = await r.seen.at('arrived').evaluateAll((all) => all.map((li) => [li.querySelector('code').textContent, Number(li.dataset.came)]));
  r.same('arrivals', JSON.stringify(shown), JSON.stringify(arrivals.map((a) => [short(a.task), a.came_ms])));
  r.lasts('second arrival', /\+(.+)$/.exec((await r.texts('arrived'))[1])?.[1] ?? '', arrivals[1].came_ms - arrivals[0].came_ms);
  r.since('missing for', /missing for (.+)$/.exec(standing)?.[1] ?? '', arrivals.at(-1).came_ms);
  for (const b of barriers.filter(({ state }) => state === 'PASSED')) {
    const text = await r.text('ended-row', `[data-barrier="${b.id}"]`);
    r.counts(`${b.id}: arrived`, text, / ([\d,]+) of ([\d,]+) /, b.arrived_count, b.participants);
    const [, age, took] = / ((?:\S+ )*?\S+) ago ((?:< )?\d\S*(?: \S+)??(?: ms| s| µs)?) \d+ of/.exec(text) ?? [];
    r.since(`${b.id}: ended`, age?.replace(/^.*?(?=\d[\d.]* (?:ms|s)$|\d+m )/, '') ?? text, b.ended_ms);
    r.lasts(`${b.id}: took`, took ?? text, b.ended_ms - b.started_ms);
    const late = stragglers.barriers.find(({ id }) => id === b.id);
    if (late) r.lasts(`${b.id}: last to arrive`, /((?:< )?\S+ \S+) after the first/.exec(text)?.[1] ?? text, late.spread_ms);
  }
  r.same('barriers of the script', barriers.length, MODEL.barriers + 1); // and the one at which agents register
};

pages['/agreement/stragglers?cluster=train'] = async (r) => {
  const { barriers, tasks, hosts } = await rest('clusters/train/stragglers');
  const grid = async (id) => (await r.all(`#${id} [role="row"]`)).slice(1);
  for (const [n, h] of hosts.entries()) r.same(`${h.host}: last, mean and most late`, (await grid('late-hosts'))[n], `${h.host} ${h.last} ${on.format.age(h.late_mean_ms)} ${on.format.age(h.late_max_ms)}`);
  for (const [n, t] of tasks.entries()) r.same(`${t.task}: last, barriers, mean and most late`, (await grid('late-tasks'))[n], `${t.task} ${t.host} ${t.last} ${t.barriers} ${on.format.age(t.late_mean_ms)} ${on.format.age(t.late_max_ms)}`);
  for (const [n, b] of barriers.entries()) r.same(`${b.id}: late, spread and tasks`, (await grid('late-barriers'))[n]?.replace(/ \S+( \S+)? ago$/, ''), `${b.id} ${b.last} ${b.host} ${on.format.age(b.late_ms)} ${on.format.age(b.spread_ms)} ${b.participants}`);
};

pages['/agreement/keys?cluster=train&prefix=config/'] = async (r) => {
  const { keys } = await rest('clusters/train/kv?prefix=config/');
  const rows = await r.texts('key');
  r.same('keys', rows.length, keys.length);
  for (const [n, k] of keys.entries()) r.same(`${k.key}: size`, /(\d\S* K?B)/.exec(rows[n] ?? '')?.[1], on.format.bytes(k.size));
};

pages['/explore/events'] = async (r) => {
  const { events } = await rest('events?limit=1000');
  r.counts('events', (await r.all('#events .note'))[0], /· ([\d,]+) events/, events.length);
  const times = (await r.texts('times')).map((text) => Number(text.slice(1)));
  const rows = await r.all('[data-testid="events-row"]');
  r.same('events of all rows', sum(times) + rows.length - times.length, events.length);
};

pages['/explore/stream?from=FROM&to=TO'] = async (r) => {
  const rows = await r.rows('[data-testid="sums-row"]');
  const of = (name, column) => sum(rows.filter((row) => row.function === name).map((row) => Number(row[column].replace('–', '0').replaceAll(',', ''))));
  const expected = {
    'muster.echo': [MODEL.sweep.succeeded + MODEL.blobs.succeeded, 0, 0],
    'muster.fail': [MODEL.sweep.failed + MODEL.again.failed + MODEL.flaky.attempts, MODEL.sweep.failed + MODEL.again.failed + MODEL.flaky.attempts, 0],
    'muster.sleep': [0, 0, MODEL.slow.running],
    ...(on.session && { '__main__.divide': [48, 8, 0], '__main__.weigh': [3, 0, 0], '__main__.large': [1, 0, 0] }),
  };
  for (const [name, [n, failed, running]] of Object.entries(expected)) {
    r.same(`${name}: executions`, of(name, 'Closures'), n);
    r.same(`${name}: failed`, of(name, 'Failed, lost'), failed);
    r.same(`${name}: running`, of(name, 'Running'), running);
  }
  r.counts('workers', (await r.all('.panel .note')).join(' '), /([\d,]+) workers, /, (await r.texts('lane')).length);
};

pages['/explore/values'] = async (r) => {
  const [overview, { holders }, blobs, values, jobs] = await Promise.all([rest('overview'), rest('remote_values/holders'), rest('blobs'), rest('remote_values?limit=1000'), rest('jobs')]);
  const { held, held_bytes } = overview.remote_values;
  r.same('stored values', (await r.all('#holders .note')).find((text) => /^\d/.test(text)), `${on.format.plural(held, 'value')}, ${on.format.bytes(held_bytes)}`);
  for (const h of holders) {
    const text = await r.text('holder', `[data-job="${h.job}"]`);
    r.same(`${h.name}: bytes`, text.slice(h.name.length + 1).split(/,| ·/)[0], on.format.bytes(h.value_bytes + h.spilled_bytes + h.blob_bytes));
    if (h.blob_bytes > 0) r.same(`${h.name}: blobs`, /of which (.+?) as blobs/.exec(text)?.[1], on.format.bytes(h.blob_bytes));
    r.counts(`${h.name}: values`, text, /· ([\d,]+) values?/, h.values);
    const job = jobs.jobs.find(({ id }) => id === h.job) ?? (await rest(`jobs/${h.job}`));
    r.same(`${h.name}: values of the job`, h.values, job.values);
    r.same(`${h.name}: bytes of the job`, h.value_bytes + h.spilled_bytes + h.blob_bytes, job.value_bytes);
  }
  r.same('blobs', (await r.text('blobs')).split('.  ')[0], `${on.format.plural(blobs.blobs, 'blob')} of large arguments and values on the server: ${on.format.bytes(blobs.bytes)} of ${on.format.bytes(blobs.bytes_max)}; ${blobs.held} used by values or programs.`);
  r.counts('listed values', await r.text('count-line'), /of ([\d,]+) values/, values.total ?? values.of ?? values.remote_values.length);
  r.same('values of the script', values.remote_values.length, CLOSURES() - (on.session ? MODEL.builders : 0));
  for (const row of (await r.rows('[data-testid="values-row"]')).slice(0, 20)) {
    const v = values.remote_values.find(({ id }) => id === row.value);
    r.same(`${v?.id}: size`, row.Size, v?.place === 'none' ? '–' : on.format.bytes(v?.bytes));
  }
};

pages['/explore/objects'] = async (r) => {
  const { objects } = await rest('objects');
  for (const o of objects) r.counts(`${o.name}: calls`, (await r.all('[data-testid="objects-row"]'))[0], / ([\d,]+) ([\d,]+) ([\d,]+) /, o.calls.waiting, o.calls.executing, o.calls.answered);
  r.same('calls of the script', sum(objects.map((o) => o.calls.answered)), on.session ? MODEL.session.objectCalls : 0);
};

pages['/explore/per-worker'] = async (r) => {
  const { per_worker_values: all } = await rest('per_worker_values');
  for (const v of all) {
    const text = await r.text('per-worker-value', `[data-id="${v.id}"]`);
    r.counts(`${v.name}: workers`, text, /([\d,]+) of ([\d,]+) workers ready/, v.components.filter(({ status }) => status === 'READY').length, v.components.length);
    r.counts(`${v.name}: users`, text, /needed by ([\d,]+) closures/, v.users);
  }
  r.same('builders of the script', sum(all.map((v) => v.components.length)), on.session ? MODEL.builders : 0);
};
