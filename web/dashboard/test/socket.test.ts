import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientMessage } from '../src/shared/model/protocol';
import { Socket, type SocketEnv, type Wire } from '../src/shared/socket';
import { Store } from '../src/shared/model/store';

class FakeWire implements Wire {
  onopen = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: (() => void) | null = null;
  readonly protocol = 'muster.v1';
  sent: ClientMessage[] = [];
  closed = false;
  send(text: string): void {
    this.sent.push(JSON.parse(text) as ClientMessage);
  }
  close(): void {
    this.closed = true;
  }
  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  // Returns the messages sent since the last call, without acks.
  take(): ClientMessage[] {
    const all = this.sent.filter((message) => message.t !== 'ack');
    this.sent = [];
    return all;
  }
}

class Bench implements SocketEnv {
  time = 0;
  wires: FakeWire[] = [];
  links: string[] = [];
  reboots = 0;
  changes = 0;
  store = new Store();
  socket: Socket;
  private timers: { at: number; call: () => void }[] = [];

  constructor() {
    this.socket = new Socket(this.store, this, {
      changed: () => ++this.changes,
      link: (link) => this.links.push(link),
      rebooted: () => ++this.reboots,
    });
    this.socket.connect();
  }
  open(): Wire {
    const wire = new FakeWire();
    this.wires.push(wire);
    return wire;
  }
  now(): number {
    return this.time;
  }
  random(): number {
    return 0.5;
  }
  after(ms: number, call: () => void): () => void {
    const timer = { at: this.time + ms, call };
    this.timers.push(timer);
    return () => (this.timers = this.timers.filter((t) => t !== timer));
  }
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((t) => t !== next);
      this.time = next.at;
      next.call();
    }
    this.time = end;
  }
  get wire(): FakeWire {
    return this.wires.at(-1)!;
  }
  greet(boot = 'a'): void {
    this.wire.say({ t: 'hello', proto: 'muster.v1', boot, now: 0, version: '0', cluster: 'c', heartbeat_ms: 5000, late_ms: 12_500, timeout_ms: 15_000, limits: {} });
  }
  jobs(seq: number, from?: number): void {
    this.wire.say({ ...(from === undefined ? { t: 'snap' } : { t: 'd', from }), topic: 'jobs', seq, now: 0, jobs: [], gone: [] });
  }
}

const SUBS = ['counters', 'tasks', 'jobs'].map((topic) => ({ t: 'sub', topic }));

test('subscribes after hello, goes live with the first data', () => {
  const bench = new Bench();
  assert.deepEqual(bench.wire.take(), []);
  bench.greet();
  assert.deepEqual(bench.wire.take(), SUBS);
  assert.deepEqual(bench.links, []);
  bench.jobs(1);
  assert.deepEqual(bench.links, ['live']);
  assert.equal(bench.changes, 1);
});

test('acknowledges once a second, as messages come', () => {
  const bench = new Bench();
  bench.greet();
  bench.wire.sent = [];
  for (let n = 0; n < 20; ++n) {
    bench.pass(250);
    bench.jobs(n + 1, n === 0 ? undefined : n);
  }
  assert.equal(bench.wire.sent.filter((message) => message.t === 'ack').length, 5);
});

test('a gap is requested once, and as a snapshot if that fails', () => {
  const bench = new Bench();
  bench.greet();
  bench.jobs(10);
  bench.wire.take();
  bench.jobs(13, 12);
  bench.jobs(14, 13);
  assert.deepEqual(bench.wire.take(), [{ t: 'resume', boot: 'a', topics: { jobs: 10 } }]);
  bench.pass(1500);
  bench.jobs(15, 14);
  assert.deepEqual(bench.wire.take(), []);
  bench.pass(1000);
  assert.ok(bench.wire.take().some((message) => message.t === 'sub' && message.topic === 'jobs'));
  bench.jobs(16);
  bench.jobs(17, 16);
  assert.equal(bench.store.seq('jobs'), 17);
});

test('three seconds of silence end the connection, and the same boot is resumed', () => {
  const bench = new Bench();
  bench.greet();
  bench.jobs(10);
  bench.pass(3600);
  assert.deepEqual(bench.links, ['live', 'lost']);
  assert.equal(bench.wires[0]!.closed, true);
  bench.pass(300);
  assert.equal(bench.wires.length, 2);
  bench.greet();
  assert.deepEqual(bench.wire.take(), [
    { t: 'sub', topic: 'counters' },
    { t: 'sub', topic: 'tasks' },
    { t: 'resume', boot: 'a', topics: { jobs: 10 } },
  ]);
  assert.equal(bench.reboots, 0);
  bench.jobs(12, 10);
  assert.deepEqual(bench.links, ['live', 'lost', 'live']);
});

test('another boot is subscribed again and reported to the page', () => {
  const bench = new Bench();
  bench.greet();
  bench.jobs(10);
  bench.wire.onclose!();
  bench.pass(300);
  bench.greet('b');
  assert.deepEqual(bench.wire.take(), SUBS);
  assert.equal(bench.reboots, 1);
});

test('reconnect delays grow to ten seconds, data resets them, and a bye sets its own', () => {
  const bench = new Bench();
  const waits: number[] = [];
  for (let n = 0; n < 8; ++n) {
    bench.wire.onclose!();
    const before = bench.time;
    const wires = bench.wires.length;
    while (bench.wires.length === wires) bench.pass(50);
    waits.push(bench.time - before);
  }
  assert.deepEqual(waits, [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  bench.greet();
  bench.jobs(1);
  bench.wire.say({ t: 'bye', reason: 'slow', retry_ms: 700 });
  assert.equal(bench.links.at(-1), 'lost');
  bench.pass(650);
  assert.equal(bench.wires.length, 9);
  bench.pass(100);
  assert.equal(bench.wires.length, 10);
});

test('a frozen page applies nothing but stays connected, and one resume catches up', () => {
  const bench = new Bench();
  bench.greet();
  bench.jobs(10);
  bench.wire.say({ t: 'snap', topic: 'tasks', seq: 5, now: 0, rows: emptyRows(), gone: [] });
  bench.wire.take();
  bench.socket.freeze(true);
  assert.deepEqual(bench.wire.take(), [
    { t: 'unsub', topic: 'tasks' },
    { t: 'unsub', topic: 'jobs' },
  ]);
  const { changes } = bench;
  for (let n = 0; n < 20; ++n) {
    bench.pass(500);
    bench.jobs(11, 10);
  }
  assert.equal(bench.changes, changes);
  assert.equal(bench.store.seq('jobs'), 10);
  assert.deepEqual(bench.links, ['live']);
  bench.wire.take();
  bench.socket.freeze(false);
  const resumed = bench.wire.take().filter((message) => message.t === 'resume');
  assert.deepEqual(resumed, [{ t: 'resume', boot: 'a', topics: { tasks: 5, jobs: 10 } }]);
});

test('a hidden page subscribes only to the counters', () => {
  const bench = new Bench();
  bench.greet();
  bench.jobs(10);
  bench.wire.take();
  bench.socket.want(['counters']);
  assert.deepEqual(bench.wire.take(), [
    { t: 'unsub', topic: 'tasks' },
    { t: 'unsub', topic: 'jobs' },
  ]);
  bench.socket.want(['counters', 'tasks', 'jobs']);
  assert.deepEqual(bench.wire.take(), [
    { t: 'sub', topic: 'tasks' },
    { t: 'resume', boot: 'a', topics: { jobs: 10 } },
  ]);
});

test('watched rows are sent once, at most 200, and again after a reconnect', () => {
  const bench = new Bench();
  bench.socket.watchRows([1, 2]);
  bench.greet();
  assert.deepEqual(bench.wire.take().at(-1), { t: 'rows', ids: [1, 2] });
  bench.socket.watchRows([1, 2]);
  assert.deepEqual(bench.wire.take(), []);
  bench.socket.watchRows(Array.from({ length: 500 }, (_, n) => n));
  const [rows] = bench.wire.take();
  assert.ok(rows?.t === 'rows' && rows.ids.length === 200);
  assert.ok(JSON.stringify({ t: 'rows', ids: Array.from({ length: 200 }, (_, n) => 1e9 + n) }).length < 4096, 'fits the limit of a message');
});

test('an invalid message ends the connection but not the page', () => {
  const bench = new Bench();
  const { warn } = console;
  console.warn = () => {};
  bench.wire.onmessage!({ data: 'garbage' });
  console.warn = warn;
  assert.equal(bench.wires[0]!.closed, true);
  bench.pass(300);
  assert.equal(bench.wires.length, 2);
});

function emptyRows(): object {
  const keys = ['i', 'job', 'index', 'state', 'seen', 'since', 'incarnation', 'host', 'slots', 'running', 'finished', 'error'];
  return Object.fromEntries(keys.map((key) => [key, []]));
}
