import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerHealth } from 'muster-rest';
import { rowsOf } from '../src/shell/model/server-advice';
import { FIGURES, LIMITS, levelOf, worst } from '../src/shell/model/server-health';

const calm: ServerHealth = {
  version: '1.2.3',
  uptime_ms: 60_000,
  window_ms: 60_000,
  engine: { responding: true, lag_now_us: 40, lag_p50_us: 35, lag_p99_us: 1200, lag_max_us: 9_000 },
  process: { resident_bytes: 120e6, memory_bytes: 8e9, busy_cores: 0.25, cores: 4, open_files: 30, open_files_max: 1024 },
  queue: { calls: 12, changes: 0 },
  disk: { syncs: 20, sync_p50_us: 900, sync_p99_us: 4_000, sync_max_us: 6_000, waiting_bytes: 0 },
  history: { bytes: 5_000_000, dropped: 0, unreadable: 0 },
};
const row = (h: ServerHealth, figure: string) => rowsOf(h).find((each) => each.figure === figure)!;

test('a calm server is healthy, and each figure has a value in its unit', () => {
  assert.equal(worst(calm), 'ok');
  assert.deepEqual(
    rowsOf(calm).map(({ name, value, detail }) => [name, value, detail]),
    [
      ['Event-loop lag', 'p99 1.2 ms', 'p50 35 µs, longest 9.0 ms'],
      ['Engine queue', '0 changes', '12 calls waiting for a worker'],
      ['Disk sync', 'p99 4.0 ms', 'p50 900 µs, longest 6.0 ms, 20 writes'],
      ['Memory', '120 MB', '1.5% of 8.0 GB'],
      ['CPU', '0.25 cores', '6.2% of 4 cores'],
      ['Lost history', '0 records', '5.0 MB stored'],
    ],
  );
});

test('a figure becomes amber at its first limit and red at its second', () => {
  const lag = (us: number) => levelOf('lag', { ...calm, engine: { ...calm.engine, lag_p99_us: us } });
  const [warn, bad] = LIMITS.lag;
  assert.deepEqual([lag(warn - 1), lag(warn), lag(bad - 1), lag(bad)], ['ok', 'warn', 'warn', 'bad']);
  const memory = (part: number) => levelOf('memory', { ...calm, process: { ...calm.process, resident_bytes: 8e9 * part } });
  assert.deepEqual([memory(0.7), memory(0.75), memory(0.9)], ['ok', 'warn', 'bad']);
  const lost = { ...calm, history: { ...calm.history!, dropped: 1 } };
  assert.equal(levelOf('history', lost), 'warn');
  assert.equal(worst(lost), 'warn');
  assert.equal(row(lost, 'history').value, '1 record');
});

test('a blocked engine, a failing disk and a full disk are red', () => {
  const blocked = { ...calm, engine: { ...calm.engine, responding: false, lag_now_us: 12_000_000 } };
  delete blocked.disk;
  delete blocked.queue;
  assert.equal(worst(blocked), 'bad');
  assert.equal(row(blocked, 'lag').value, 'blocked for 12 s');
  assert.match(row(blocked, 'disk').normal, /Unknown until/);
  for (const state of [{ failure: 'no cable' }, { full: '12 bytes are free' }]) {
    const broken = { ...calm, disk: { ...calm.disk!, ...state } };
    assert.equal(levelOf('disk', broken), 'bad');
    assert.equal(row(broken, 'disk').detail, Object.values(state)[0]);
  }
});

test('figures that the server does not have are not judged', () => {
  const { disk, history, ...memoryOnly } = calm;
  assert.equal(levelOf('disk', memoryOnly), undefined);
  assert.equal(levelOf('history', memoryOnly), undefined);
  assert.equal(worst(memoryOnly), 'ok');
  assert.match(row(memoryOnly, 'disk').normal, /--data-dir/);
  assert.equal(levelOf('cpu', { ...calm, process: { ...calm.process, cores: 0 } }), 'ok');
  assert.ok(disk && history);
});

test('each figure has a sentence about normal values and an advice', () => {
  assert.equal(rowsOf(calm).length, FIGURES.length);
  for (const { normal, advice } of rowsOf(calm)) assert.ok(normal.endsWith('.') && advice.endsWith('.'));
});
