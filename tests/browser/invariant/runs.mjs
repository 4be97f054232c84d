// The pages of one run and of one call, and the dialog of the server.

import { ended, on, rest, sum } from './reading.mjs';
import { MODEL } from './scene.mjs';

export async function job(r, id, model) {
  const [it, durations, { closures }] = await Promise.all([rest(`jobs/${id}`), rest(`jobs/${id}/durations`).catch(() => ({ executions: 0 })), rest(`jobs/${id}/closures?limit=1000`)]);
  const { counts } = it;
  const progress = await r.text('job-progress');
  r.counts('ended and total', progress, /^([\d,]+) of ([\d,]+) ended/, ended(counts), counts.total);
  r.same('percent', /· (\S+%)/.exec(progress)?.[1], on.format.percent(ended(counts), counts.total));
  for (const word of ['succeeded', 'failed', 'cancelled']) if (counts[word] > 0) r.counts(word, progress, new RegExp(`([\\d,]+) ${word}`), counts[word]);
  for (const [name, n] of Object.entries(model)) if (name in counts) r.same(`${name}, of the script`, counts[name], n);
  const headline = await r.text('run-headline');
  if (counts.failed > 0) r.counts('failed in the headline', headline, /([\d,]+)(?: of [\d,]+ calls)? failed/, counts.failed);
  if (it.state === 'SUCCEEDED') r.lasts('took in the headline', / in (.+)$/.exec(headline)?.[1] ?? '', it.finished_ms - it.created_ms);
  if (it.state === 'CANCELLED') r.lasts('took in the headline', /after (.+?):/.exec(headline)?.[1] ?? '', it.finished_ms - it.created_ms);
  const facts = await r.facts('#job .facts-line, #job dl');
  r.since('started', facts.started ?? '', it.created_ms);
  if (it.finished_ms) r.lasts('took', facts.took ?? '', it.finished_ms - it.created_ms);
  else r.since('open for', facts['open for'] ?? facts['runs for'] ?? '', it.created_ms);
  if (it.value_bytes !== undefined) r.same('holds', facts.holds, `${on.format.plural(it.values, 'value')}, ${on.format.bytes(it.value_bytes)}`);
  if (it.retried) r.counts('retried', facts.retried, /^([\d,]+) time/, it.retried);
  for (const [id_, word] of [['SUCCEEDED', 'succeeded'], ['FAILED', 'failed'], ['QUEUED', 'queued'], ['RUNNING', 'running'], ['CANCELLED', 'cancelled']]) if (counts[word] > 0) r.same(`filter ${word}`, await r.text(`state-${id_}`), `${word} ${counts[word]}`);
  r.counts('listed closures', await r.text('count-line'), /^([\d,]+) closures?/, closures.length);
  const workers = new Set(closures.flatMap((c) => c.attempts.map((a) => a.worker))).size;
  const timeline = (await r.all('#when .note'))[0];
  if (timeline !== undefined) r.counts('workers in the timeline', timeline, /^([\d,]+) workers?/, workers);
  if (durations.executions > 1) {
    const said = await r.text('durations');
    for (const [word, us] of [['median', durations.p50_us], ['90% took at most', durations.p90_us], ['99% at most', durations.p99_us], ['the longest', durations.max_us]]) r.lasts(word, said.split(' · ').find((part) => part.startsWith(word))?.slice(word.length + 1) ?? said, us / 1000);
    r.counts('executions', (await r.all('#picture .note'))[0], /^([\d,]+) executions/, durations.executions);
    const bars = await r.seen.page.locator('[data-testid="histogram"] > div').evaluateAll((all) => all.map((bar) => Number(bar.dataset.n)));
    r.same('executions in the histogram', sum(bars), durations.executions);
    for (const [table, groups] of [['by-function', durations.functions], ['by-worker', durations.workers]]) {
      const rows = await r.all(`[data-testid="${table}"] tbody tr`);
      for (const g of groups) {
        const name = g.name.replace(/^__main__\./, '') || 'others';
        r.same(`${name}: ended, failed, median, longest, total`, rows.find((row) => row.startsWith(`${name} `)), `${name} ${g.executions} ${g.failed} ${on.format.duration(g.p50_us)} ${on.format.duration(g.max_us)} ${on.format.duration(g.busy_us)}`);
      }
    }
  }
  for (const row of (await r.rows('[data-testid="closures-row"]')).slice(0, 12)) {
    const c = closures.find((each) => each.id === row.closure);
    r.same(`#${c?.index}: tries`, row.Tries, c?.attempts.length ? String(c.attempts.length) : '–');
    const last = c?.attempts.at(-1);
    if (last?.took_us !== undefined) r.lasts(`#${c.index}: ran`, row.Ran ?? '', last.took_us / 1000);
  }
}

export async function program(r, id, ranks) {
  const [it, { ranks: all }, { attempts }] = await Promise.all([rest(`programs/${id}`), rest(`programs/${id}/ranks`), rest(`programs/${id}/attempts`)]);
  const facts = await r.facts('#program .facts-line, #program dl');
  r.same('ranks of the script', it.ranks, ranks);
  r.same('attempts', facts.attempts, String(it.attempt));
  r.same('hosts', facts.hosts, String(new Set(all.map(({ host }) => host)).size));
  r.since('started', facts.started ?? '', it.created_ms);
  if (it.finished_ms) r.lasts('took', facts.took ?? '', it.finished_ms - it.created_ms);
  else r.since('age', facts.age ?? '', it.created_ms);
  r.counts('ranks, attempts and restarts', (await r.all('.panel-head .note, .panel .note')).join(' '), /([\d,]+) ranks, ([\d,]+) attempt, ([\d,]+) restarts/, it.ranks, attempts.length, it.restarts);
  r.same('all ranks', await r.text('only-all'), `all ${all.length}`);
  for (const state of new Set(all.map((rank) => rank.state))) r.same(`${state} ranks`, await r.text(`only-${state}`), `${state.toLowerCase()} ${all.filter((rank) => rank.state === state).length}`);
  r.same('ranks', (await r.texts('rank')).length, all.length);
  for (const { rank, exit_status: status, signal, ended_ms: over } of all) if (over) r.same(`rank ${rank}: end`, /(exit|signal) \d+/.exec(await r.text('rank', `[data-rank="${rank}"]`))?.[0], signal ? `signal ${signal}` : `exit ${status ?? 0}`);
  for (const [n, a] of [...attempts].reverse().entries()) {
    const row = (await r.texts('attempt'))[n] ?? '';
    r.counts(`attempt ${a.attempt}: number, ranks and hosts`, row, /^([\d,]+) .*?([\d,]+) ranks? ([\d,]+) hosts? /, a.attempt, a.ranks, a.hosts);
    const took = /ago ((?:< )?[\d.]+ (?:ms|s)|\d+[hm] \d\d[ms])/.exec(row)?.[1] ?? row;
    if (a.ended_ms) r.lasts(`attempt ${a.attempt}: took`, took, a.ended_ms - (a.started_ms ?? a.created_ms ?? a.begun_ms));
    else r.since(`attempt ${a.attempt}: took`, took, a.started_ms ?? a.created_ms ?? a.begun_ms);
  }
}

export async function closure(r, id) {
  const c = await rest(`closures/${id}`);
  const facts = await r.facts('[data-testid="closure"]');
  const rows = await r.all('[data-testid="attempts"] tbody tr');
  r.same('attempts', rows.length, c.attempts.length);
  r.same('attempts of the script', c.attempts.length, MODEL.flaky.attempts / MODEL.flaky.total);
  c.attempts.forEach((a, n) => r.lasts(`attempt ${a.attempt}: ran`, /ago (.+?) (?:failed|succeeded|lost)/.exec(rows[n])?.[1] ?? rows[n], a.took_us / 1000));
  r.since('submitted', facts.submitted ?? '', c.created_ms);
  r.since('ended', facts.ended ?? '', c.finished_ms);
  r.lasts('waited', facts.waited ?? '', c.attempts[0].started_ms - c.created_ms);
  r.lasts('ran', facts.ran ?? '', c.attempts.at(-1).took_us / 1000);
  r.counts('retries', facts.retries, /^([\d,]+) of ([\d,]+)/, c.attempts.length - 1, c.max_retries ?? 2);
}

export async function health(r) {
  const before = await rest('server/health');
  const text = async (figure) => r.text('server-figure', `[data-figure="${figure}"]`);
  const value = async (figure) => r.text('server-figure', `[data-figure="${figure}"] [data-testid="server-value"]`);
  const shown = { memory: await value('memory'), queue: await value('queue'), calls: await text('queue'), history: await value('history'), disk: await text('disk'), cpu: await text('cpu'), uptime: await r.text('server-dialog') };
  const now = await rest('server/health');
  r.counts('queue', shown.queue, /^([\d,]+) change/, now.queue.changes);
  r.counts('calls that wait', shown.calls, /([\d,]+) calls? waiting/, now.queue.calls);
  r.same('calls that wait, of the script', now.queue.calls, MODEL.waits.queued);
  r.counts('lost history', shown.history, /^([\d,]+) record/, now.history.dropped);
  r.counts('cores', shown.cpu, /of ([\d,]+) cores/, now.process.cores);
  const megabytes = Number(/^(\d+(?:\.\d)?) MB/.exec(shown.memory)?.[1]);
  r.same('memory', Math.abs(megabytes * 1e6 - now.process.resident_bytes) < 0.2 * now.process.resident_bytes || shown.memory, true);
  if (now.disk.syncs > 0 && before.disk.syncs === now.disk.syncs) r.counts('writes', shown.disk, /([\d,]+) writes?/, now.disk.syncs);
  r.lasts('uptime', /, up (.+?),/.exec(shown.uptime)?.[1] ?? '', before.uptime_ms - 6000, now.uptime_ms);
}
