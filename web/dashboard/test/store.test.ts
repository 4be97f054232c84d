// Checks that all ways to split a history into messages lead to the same state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listOrder } from '../src/shared/model/order';
import { TASK_STATES, type Hello, type HistoryPoints, type TaskRows, type TasksMessage } from '../src/shared/model/protocol';
import { Store } from '../src/shared/model/store';

const hello = (boot: string): Hello => ({
  t: 'hello',
  proto: 'muster.v1',
  boot,
  now: 0,
  version: '0',
  cluster: 'default',
  heartbeat_ms: 5000,
  late_ms: 12_500,
  timeout_ms: 15_000,
  limits: { message_bytes: 4096, subscriptions: 32 },
});

interface Row {
  id: number;
  state: number;
  finished: number;
}

function rows(from: readonly Row[]): TaskRows {
  return {
    i: from.map((r) => r.id),
    job: from.map((r) => (r.id % 3 === 0 ? 'ps' : 'worker')),
    index: from.map((r) => r.id),
    state: from.map((r) => TASK_STATES[r.state]!),
    seen: from.map(() => 0),
    since: from.map(() => 0),
    incarnation: from.map((r) => `inc${r.id}`),
    host: from.map((r) => `node-${r.id % 4}`),
    slots: from.map(() => 4),
    running: from.map(() => 0),
    finished: from.map((r) => r.finished),
    error: from.map((r) => (r.state === 4 ? 'lost' : '')),
  };
}

const snap = (seq: number, from: readonly Row[]): TasksMessage => ({ t: 'snap', topic: 'tasks', seq, now: seq, rows: rows(from), gone: [] });
const delta = (from: number, seq: number, changed: readonly Row[], gone: number[] = []): TasksMessage => ({
  t: 'd',
  topic: 'tasks',
  from,
  seq,
  now: seq,
  rows: rows(changed),
  gone,
});
const row = (id: number, state = 0, finished = 0): Row => ({ id, state, finished });

function greeted(): Store {
  const store = new Store();
  store.greet(hello('a'));
  return store;
}

// Returns all visible data of the tasks, in a canonical order.
function picture(store: Store): unknown {
  const { tasks } = store;
  const ids = [...listOrder(tasks)].sort((a, b) => a - b);
  return { rows: ids.map((id) => tasks.view(id)), counts: [...tasks.counts], problems: [...tasks.problems].sort((a, b) => a - b) };
}

test('a delta before any snapshot is a gap', () => {
  assert.equal(greeted().apply(delta(1, 2, [row(1)])), 'gap');
});

test('a delta from the future is a gap and changes nothing', () => {
  const store = greeted();
  store.apply(snap(5, [row(1)]));
  const before = picture(store);
  assert.equal(store.apply(delta(6, 7, [row(1, 4)])), 'gap');
  assert.deepEqual(picture(store), before);
  assert.equal(store.seq('tasks'), 5);
});

test('duplicates and late arrivals are ignored', () => {
  const store = greeted();
  store.apply(snap(5, [row(1)]));
  assert.equal(store.apply(delta(5, 6, [row(1, 2)])), 'applied');
  assert.equal(store.apply(delta(5, 6, [row(1, 2)])), 'old');
  assert.equal(store.apply(delta(3, 5, [row(1, 4)])), 'old');
  assert.equal(store.tasks.view(1)!.state, 'LATE');
});

test('a delta that reaches further back than needed is applied', () => {
  const store = greeted();
  store.apply(snap(5, [row(1), row(2)]));
  assert.equal(store.apply(delta(2, 8, [row(1, 4), row(2, 2)])), 'applied');
  assert.equal(store.seq('tasks'), 8);
});

test('another boot drops sequence numbers and keeps rows until a snapshot', () => {
  const store = greeted();
  store.apply(snap(50, [row(1), row(2, 4)]));
  assert.equal(store.greet(hello('a')), false);
  assert.equal(store.seq('tasks'), 50);
  assert.equal(store.greet(hello('b')), true);
  assert.equal(store.seq('tasks'), null);
  assert.equal(store.tasks.size, 2);
  assert.equal(store.apply(delta(50, 51, [row(1)])), 'gap');
  assert.equal(store.apply(snap(1, [row(7)])), 'applied');
  assert.deepEqual([...listOrder(store.tasks)], [7]);
  assert.equal(store.tasks.problems.size, 0);
});

test('removed rows disappear, including the last, unknown and returning ones', () => {
  const store = greeted();
  store.apply(snap(1, [row(1), row(2, 4), row(3)]));
  store.apply(delta(1, 2, [], [3, 99, 1]));
  assert.deepEqual([...listOrder(store.tasks)], [2]);
  store.apply(delta(2, 3, [row(1, 2)], [2]));
  assert.deepEqual([...listOrder(store.tasks)], [1]);
  assert.deepEqual([...store.tasks.problems], [1]);
});

test('property: a snapshot and any split of the deltas give the same rows', () => {
  let seed = 1;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 48_271) >>> 0) % 0x7fffffff;
    return seed % below;
  };
  for (let round = 0; round < 200; ++round) {
    // A history: at each step some rows are changed, added or removed.
    const model = new Map<number, Row>();
    const changedAt = new Map<number, number>();
    const states: Map<number, Row>[] = [];
    const steps = 1 + random(12);
    for (let seq = 0; seq <= steps; ++seq) {
      for (let n = random(8); n >= 0; --n) {
        const id = 1 + random(20);
        if (random(4) === 0) model.delete(id);
        else model.set(id, row(id, random(TASK_STATES.length), random(1000)));
        changedAt.set(id, seq);
      }
      states.push(new Map(model));
    }
    const between = (from: number, to: number): TasksMessage => {
      const at = states[to]!;
      const touched = [...at.keys(), ...[...changedAt.keys()].filter((id) => !at.has(id))];
      // Rows of step `to` that differ from step `from`, as the server finds them by sequence number.
      const different = touched.filter((id) => states[from]!.get(id) !== at.get(id));
      return delta(
        from,
        to,
        different.filter((id) => at.has(id)).map((id) => at.get(id)!),
        different.filter((id) => !at.has(id)),
      );
    };

    const whole = greeted();
    whole.apply(snap(steps, [...states[steps]!.values()]));
    const parts = greeted();
    parts.apply(snap(0, [...states[0]!.values()]));
    for (let at = 0; at < steps; ) {
      const next = Math.min(steps, at + 1 + random(4));
      assert.equal(parts.apply(between(at, next)), 'applied');
      if (random(3) === 0) assert.equal(parts.apply(between(at, next)), 'old');
      at = next;
    }
    assert.deepEqual(picture(parts), picture(whole), `round ${round}`);
  }
});

test('history keeps a fixed number of points without duplicates', () => {
  const store = greeted();
  const points = (from: number, to: number): HistoryPoints => {
    const t = Array.from({ length: to - from }, (_, n) => (from + n) * 1000);
    return { step_ms: 1000, t, queued: t, running: t, finished: t, failed: t, hb_p99: t };
  };
  store.history.append(points(0, 300));
  store.history.append(points(299, 301));
  assert.equal(store.history.seconds.length, 301);
  store.history.append(points(301, 2000));
  assert.equal(store.history.seconds.length, 330);
  assert.equal(store.history.series.queued.length, 330);
  assert.equal(store.history.seconds.at(-1), 1999);
});

test('a healthy heartbeat is never older than the next reported age threshold', () => {
  const { tasks } = greeted();
  const one = rows([row(1)]);
  one.seen[0] = 10_000;
  tasks.apply(one, [], 11_000, 5000);
  assert.deepEqual(tasks.heartbeatAge(0, 12_000), { ms: 2000, exact: true });
  assert.deepEqual(tasks.heartbeatAge(0, 60_000), { ms: 5000, exact: false });
  const late = rows([row(1, 2)]);
  late.seen[0] = 10_000;
  tasks.apply(late, [], 23_000, 5000);
  assert.deepEqual(tasks.heartbeatAge(0, 60_000), { ms: 50_000, exact: true });
});

test('a state that this page does not know is marked, not an alarm and not healthy', () => {
  const { tasks } = greeted();
  const odd = rows([row(1)]);
  odd.state[0] = 'MEDITATING';
  tasks.apply(odd, [], 0, 5000);
  assert.equal(tasks.view(1)!.state, 'REGISTERING');
});
