// A mock server for the development of the dashboard: serves dist/ and sends invented data over the WebSocket protocol. The
// browser tests run against the real server.
//
//   node dev/mock.mjs [--tasks 10000] [--port 8477] [--scenario full|small|empty] [--rate 2] [--all]
//   curl -X POST 'localhost:8477/mock/kill?task=worker:1'      also /mock/revive?task=…, /mock/reboot, /mock/drop

import { createServer } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { MockClusters } from './mock-clusters.mjs';
import { MockRest } from './mock-rest.mjs';
import { MockStream } from './mock-stream.mjs';

const SERVER_HEALTH = {
  version: '0.1.0',
  uptime_ms: 3_600_000,
  window_ms: 60_000,
  engine: { responding: true, lag_now_us: 60, lag_p50_us: 70, lag_p99_us: 900, lag_max_us: 4_200 },
  process: { resident_bytes: 180e6, memory_bytes: 16e9, busy_cores: 0.4, cores: 8, open_files: 40, open_files_max: 1024 },
  queue: { calls: 120, changes: 3 },
  disk: { syncs: 212, sync_p50_us: 1_100, sync_p99_us: 6_400, sync_max_us: 9_000, waiting_bytes: 0 },
  history: { bytes: 42e6, dropped: 0, unreadable: 0 },
};

const dist = process.env.MUSTER_WEB_OUT || fileURLToPath(new URL('../dist', import.meta.url));

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

const HEARTBEAT = 5000;
const TIMEOUT = 15_000;

// A small seeded generator, so that every screenshot shows the same cluster.
function random(seed) {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let x = Math.imul(s ^ (s >>> 15), s | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Cluster {
  constructor({ tasks, scenario, uptime = 93_780_000 }) {
    this.rand = random(7);
    this.scenario = scenario;
    this.boot = this.hex();
    this.started = Date.now() - (scenario === 'full' ? uptime : 48_000);
    this.seq = { counters: 1000, tasks: 8000, jobs: 40 };
    this.rows = [];
    this.changed = new Map(); // task sequence number by row
    this.jobsChanged = new Map();
    this.history = { t: [], queued: [], running: [], finished: [], failed: [], hb_p99: [] };
    this.done = scenario === 'full' ? 16_300_000 : 0;
    this.failed = scenario === 'full' ? 16 : 0;
    this.putBack = scenario === 'full' ? 4 : 0;
    this.aborted = scenario === 'full' ? 127 : 0;
    this.jobs = [];
    this.fill(tasks);
    const now = Math.floor(Date.now() / 1000) * 1000;
    for (let s = 300; s > 0; --s) this.point(now - s * 1000, s);
  }

  hex() {
    return Array.from({ length: 16 }, () => '0123456789abcdef'[Math.floor(this.rand() * 16)]).join('');
  }

  fill(total) {
    if (this.scenario === 'empty') return;
    const now = Date.now();
    const shares =
      this.scenario === 'small'
        ? [['worker', total]]
        : [
            ['trainer', Math.round(total * 0.8192)],
            ['reader', Math.round(total * 0.1536)],
            ['evaluator', Math.round(total * 0.0256)],
            ['ps', total - Math.round(total * 0.8192) - Math.round(total * 0.1536) - Math.round(total * 0.0256)],
          ];
    for (const [job, count] of shares) {
      for (let index = 0; index < count; ++index) {
        this.rows.push({
          i: this.rows.length + 1,
          job,
          index,
          state: 'CONNECTED',
          seen: now - Math.floor(this.rand() * 900),
          since: this.started + 2000 + Math.floor(this.rand() * 4000),
          incarnation: this.hex(),
          host:
            this.scenario === 'small'
              ? `node-${index + 1}`
              : `rack${String(Math.floor(this.rows.length / 256)).padStart(2, '0')}-node${String(Math.floor(this.rows.length / 8) % 32).padStart(2, '0')}`,
          slots: this.scenario === 'small' ? 4 : 8,
          running: 0,
          finished: this.scenario === 'small' ? 0 : Math.floor(1200 + this.rand() * 900),
          cordoned: job === 'worker' && index === 3 ? 1 : 0,
          error: '',
        });
      }
    }
    if (this.scenario === 'small') {
      this.jobs = [
        { id: 'job_0000000000000001', name: 'word-count', total: 600, succeeded: 180, failed: 0, cancelled: 0, state: 'RUNNING', created_ms: now - 31_000, finished_ms: 0, error: '', speed: 2 },
        { id: 'job_0000000000000002', name: '', total: 12, succeeded: 12, failed: 0, cancelled: 0, state: 'SUCCEEDED', created_ms: now - 44_000, finished_ms: now - 40_000, error: '', speed: 0 },
      ];
    } else {
      const job = (id, name, total, part, state, extra = {}) => ({
        id,
        name,
        total,
        succeeded: Math.floor(total * part),
        failed: 0,
        cancelled: 0,
        state,
        created_ms: now - 5_400_000 - total / 10,
        finished_ms: 0,
        error: '',
        speed: total / 200_000,
        ...extra,
      });
      this.jobs = [
        job('job_0000000000000003', 'train llm-70b', 8_390_000, 0.97, 'RUNNING', { failed: 12 }),
        job('job_0000000000000004', 'load shards', 524_300, 0.768, 'RUNNING', { failed: 3 }),
        job('job_0000000000000005', 'eval', 41_000, 0.501, 'RUNNING', { failed: 1 }),
        job('job_0000000000000006', 'checkpoint', 64, 0.484, 'RUNNING'),
        job('job_0000000000000007', 'tokenize nightly', 98_000, 0.412, 'FAILED', {
          failed: 1,
          cancelled: 40_000,
          finished_ms: now - 640_000,
          error: 'tokenize: UnicodeDecodeError: byte 0xff at 10418 of s3-part-0093',
        }),
        job('job_0000000000000008', 'warm-up', 8192, 1, 'SUCCEEDED', { finished_ms: now - 5_000_000 }),
        job('job_0000000000000009', 'smoke', 16, 1, 'SUCCEEDED', { finished_ms: now - 5_100_000 }),
      ];
      for (let n = 0; n < 9; ++n) this.set(this.pick(), 'DISCONNECTED', 725_000, 'left: the agent was shut down');
      for (let n = 0; n < 19; ++n) this.set(this.pick(), 'LATE', 14_000, '');
      for (let n = 2560; n < 2568 && n < this.rows.length; ++n) this.set(this.rows[n], 'LATE', 14_000, '');
      for (const n of [1207, 1208, 1209, 1210, 4471]) if (this.rows[n]) this.set(this.rows[n], 'ERROR', 43_000, 'heartbeat timeout after 15.0 s; 4 closures were requeued');
    }
    for (const row of this.rows) this.changed.set(row, this.seq.tasks);
    for (const job of this.jobs) this.jobsChanged.set(job, this.seq.jobs);
  }

  pick() {
    return this.rows[Math.floor(this.rand() * this.rows.length)];
  }

  set(row, state, ago, error) {
    Object.assign(row, { state, since: Date.now() - ago, error });
    if (state !== 'CONNECTED') Object.assign(row, { seen: Date.now() - ago - (state === 'ERROR' ? TIMEOUT : 0), running: 0 });
    this.changed.set(row, this.seq.tasks + 1);
  }

  find(name) {
    return this.rows.find((row) => `${row.job}:${row.index}` === name);
  }

  count(state) {
    return this.rows.reduce((n, row) => n + (row.state === state), 0);
  }

  load(at) {
    if (this.scenario === 'empty') return { queued: 0, running: 0, finished: 0, failed: 0 };
    if (this.scenario === 'small') {
      const job = this.jobs[0];
      const left = job.total - job.succeeded;
      const running = Math.min(left, this.count('CONNECTED') * 4);
      return { queued: left - running, running, finished: left > 0 ? 1 + Math.round(3 + 2 * Math.sin(at / 9000)) : 0, failed: 0 };
    }
    const age = (Date.now() - at) / 1000;
    const dip = age > 95 && age < 115; // an incident two minutes ago
    const drain = age < 95 ? Math.exp(-(95 - age) / 18) : dip ? (115 - age) / 20 : 0;
    const wave = Math.sin(at / 7000) * 700 + Math.sin(at / 31_000) * 2500;
    return {
      queued: Math.round(12_300 + wave * 0.3 + 26_000 * drain + this.rand() * 500),
      running: Math.round(dip ? 22_500 + this.rand() * 300 : 37_000 + this.rand() * 500),
      finished: Math.round(dip ? 15_300 + this.rand() * 500 : 47_500 + wave + this.rand() * 1600),
      failed: Math.floor(this.rand() * 3),
    };
  }

  point(t, back) {
    const h = this.history;
    const empty = this.scenario !== 'full' && back > 40;
    if (empty) return;
    const load = this.load(t);
    h.t.push(t);
    for (const key of ['queued', 'running', 'finished', 'failed']) h[key].push(load[key]);
    h.hb_p99.push(this.rows.length === 0 ? 0 : this.scenario === 'full' && back > 200 ? 2300 : 4700 + Math.floor(this.rand() * 300));
    for (const key of Object.keys(h)) if (h[key].length > 300) h[key].shift();
  }

  tick(changeAll) {
    const now = Date.now();
    const last = this.history.t.at(-1) ?? 0;
    if (now - last >= 1000) {
      this.point(Math.floor(now / 1000) * 1000, 0);
      const load = this.load(now);
      this.done += load.finished;
      for (const job of this.jobs) {
        if (job.state !== 'RUNNING') continue;
        job.succeeded = Math.min(job.total - job.failed, job.succeeded + Math.max(1, Math.round(job.speed)));
        if (job.succeeded + job.failed >= job.total) Object.assign(job, { state: 'SUCCEEDED', finished_ms: now });
        this.jobsChanged.set(job, this.seq.jobs + 1);
      }
    }
    const some = changeAll ? this.rows.length : Math.min(this.rows.length, this.scenario === 'full' ? Math.ceil(this.rows.length / 10) : 3);
    this.next = (this.next ?? 0) % Math.max(1, this.rows.length);
    for (let n = 0; n < some; ++n) {
      const row = this.rows[(this.next + n) % this.rows.length];
      if (row.state !== 'CONNECTED') continue;
      row.running = Math.floor(this.rand() * (row.slots + 1));
      row.finished += 1;
      row.seen = now - Math.floor(this.rand() * 900);
      this.changed.set(row, this.seq.tasks + 1);
    }
    this.next += some;
    // Sometimes a task is late, and recovers some seconds later.
    if (this.scenario === 'full' && this.rand() < 0.05) {
      const row = this.pick();
      if (row?.state === 'CONNECTED') this.set(row, 'LATE', 12_500, '');
      const late = this.rows.filter((r) => r.state === 'LATE');
      if (late.length > 27) this.set(late[0], 'CONNECTED', 0, '');
    }
    for (const topic of Object.keys(this.seq)) ++this.seq[topic];
  }

  hello() {
    return {
      t: 'hello',
      proto: 'muster.v1',
      boot: this.boot,
      now: Date.now(),
      version: '0.1.0',
      cluster: this.scenario === 'full' ? 'llm-70b' : 'default',
      heartbeat_ms: HEARTBEAT,
      late_ms: 2.5 * HEARTBEAT,
      timeout_ms: TIMEOUT,
      limits: { message_bytes: 4096, subscriptions: 32 },
    };
  }

  data() {
    const now = Date.now();
    const load = this.load(now);
    const full = this.scenario === 'full';
    const f = (name, succeeded, running, queued, failed) => ({ name, waiting: 0, queued, running, succeeded, failed });
    const [a, b, c, d] = this.jobs;
    const functions =
      this.scenario === 'empty'
        ? []
        : full
          ? [
              f('train_step', a.succeeded, 31_426, 5400, 12),
              f('load_shard', b.succeeded, 1455, 2200, 3),
              f('push_gradients', a.succeeded - 20_000, 4268, 310, 0),
              f('eval_step', c.succeeded, 247, 4096, 1),
              f('checkpoint', d.succeeded, 1, 0, 0),
            ]
          : [f('text.word_count', a.succeeded, load.running, load.queued, 0), f('muster.echo', 12, 0, 0, 0)];
    return {
      uptime_ms: now - this.started,
      tasks: { connected: this.count('CONNECTED'), late: this.count('LATE'), error: this.count('ERROR'), disconnected: this.count('DISCONNECTED'), total: this.rows.length },
      closures: { blocked: full ? 96 : 0, queued: load.queued, running: load.running, succeeded: this.done, failed: this.failed, cancelled: 0, put_back: this.putBack },
      rates: { finished: load.finished, failed: load.failed },
      remote_values: full
        ? { not_ready: load.queued + 26_000, ready: 2_420_000 + (this.done % 9000), aborted: this.aborted, held: 41_200, held_bytes: 3.4e9 }
        : {
            not_ready: load.queued + load.running,
            ready: this.jobs.reduce((n, j) => n + j.succeeded, 0),
            aborted: this.aborted,
            held: this.rows.length ? 192 : 0,
            held_bytes: this.rows.length ? 48_230 : 0,
          },
      heartbeat_age_ms: { p50: 2400, p99: this.history.hb_p99.at(-1) ?? 0, max: 43_000 },
      jobs: {
        running: this.jobs.filter((j) => j.state === 'RUNNING').length,
        succeeded: this.jobs.filter((j) => j.state === 'SUCCEEDED').length,
        failed: this.jobs.filter((j) => j.state === 'FAILED').length,
        cancelled: 0,
      },
      sessions: full ? 3 : 0,
      stalled: { since_ms: 0, oldest: [] },
      durable: {
        store: 'rocksdb',
        data_dir: '/var/lib/muster',
        epoch: 3,
        restored_in_ms: 900,
        changes: 12_000,
        changes_waiting: 0,
        waiting_bytes: 0,
        disk_bytes: 212_000_000,
        history_since_ms: now - 86_400_000,
        history_bytes: 48_000_000,
        history_dropped: 0,
      },
      alone: { count: 0, oldest: [] },
      functions,
      progress: { functions: functions.map(({ workers, ever_had, ...shown }) => ({ ...shown, cancelled: 0 })), more: full ? 3 : 0 },
    };
  }

  // Returns the changes since `from`, or everything if `from` is null.
  body(topic, from, watched) {
    if (topic === 'counters') {
      const h = this.history;
      const first = from === null ? 0 : Math.max(0, h.t.length - 2); // because the dashboard drops points that it already has
      const history = { step_ms: 1000 };
      for (const key of Object.keys(h)) history[key] = h[key].slice(first);
      return { data: this.data(), history };
    }
    if (topic === 'jobs') {
      const load = this.load(Date.now());
      const jobs = this.jobs
        .filter((job) => from === null || this.jobsChanged.get(job) > from)
        .map(({ speed, ...job }) => {
          const left = job.state === 'RUNNING' ? job.total - job.succeeded - job.failed - job.cancelled : 0;
          const running = Math.min(left, load.running);
          return { ...job, running, queued: left - running };
        });
      return { jobs: jobs.sort((x, y) => y.created_ms - x.created_ms), gone: [] };
    }
    const rows = this.rows.filter((row) => from === null || this.changed.get(row) > from || watched.has(row.i));
    const columns = {};
    for (const key of ['i', 'job', 'index', 'state', 'seen', 'since', 'incarnation', 'host', 'slots', 'running', 'finished', 'failed', 'cordoned', 'error'])
      columns[key] = rows.map((row) => row[key] ?? (row.i % 17 === 5 ? row.i % 13 : 0));
    return { rows: columns, gone: [] };
  }
}

// A job that logs about one line per tick, and its closures.
class MockLog {
  closures = ['RUNNING', 'RUNNING', 'FAILED', 'SUCCEEDED', 'QUEUED'].map((state, index) => ({
    id: `cl_000000010000000${index}`,
    index,
    function: 'muster.exec',
    state,
    attempts: state === 'QUEUED' ? [] : [{ attempt: 1, worker: `worker:${index}`, started_ms: Date.now() - 43_000, ended_ms: state === 'RUNNING' ? 0 : Date.now() - 3000 }],
    ...(index < 2 && { progress: { fraction: 0.31 + index / 4, text: `step ${31 + index * 25} of 100`, attempt: 1, time_ms: Date.now() } }),
    ...(state === 'FAILED' && { error: { kind: 'USER', message: 'ValueError: no such column: price' } }),
  }));
  lines = [];
  say() {
    const seq = (this.lines.at(-1)?.seq ?? 0) + 1;
    const of = this.closures[seq % 3];
    const level = seq % 23 === 0 ? 'error' : seq % 9 === 0 ? 'stderr' : seq % 31 === 0 ? 'dropped' : 'stdout';
    const text = {
      error: 'cannot read shard 17: no such file or directory',
      stderr: 'warning: 3 rows have no timestamp',
      dropped: '… 212 lines dropped',
      stdout: `[${seq}] epoch 3, step ${seq}: loss 0.${4000 - seq} (12.4 k rows/s)`,
    }[level];
    this.lines.push({ seq, time_ms: Date.now(), closure: of.id, index: of.index, attempt: 1, worker: `worker:${of.index}`, level, text });
    this.lines = this.lines.slice(-500);
  }
  body(topic, from) {
    const mine = topic.startsWith('logs:cl_') ? this.lines.filter((l) => topic.endsWith(l.closure)) : this.lines;
    return { lines: mine.filter((l) => from === null || l.seq > from), earlier: true, dropped: 120, ended: false, known: true };
  }
}

const NAMED = ['clusters', 'agents', 'barriers', 'events', 'attention'];
const isNamed = (topic) => NAMED.includes(topic) || topic === 'programs' || topic.startsWith('program:');

export function startMock({ tasks = 10_000, port = 0, scenario = 'full', rate = 10, all = false, bars = 6000, still = false } = {}) {
  const stream = new MockStream({ scenario, bars });
  const named = new MockClusters({ scenario });
  let cluster = new Cluster({ tasks, scenario });
  const log = new MockLog();
  const things = new MockRest({ scenario });
  for (let n = 0; n < 60; ++n) log.say();
  const clients = new Set();

  const handle = (request, response) => {
    const url = new URL(request.url, 'http://mock');
    const send = (status, type, body, extra = {}) => {
      response.writeHead(status, { ...HEADERS, 'Content-Type': type, ...extra });
      response.end(body);
    };
    if (url.pathname === '/api/v1/overview') return send(200, 'application/json', JSON.stringify(cluster.data()));
    if (url.pathname === '/api/v1/server/health') return send(200, 'application/json', JSON.stringify(SERVER_HEALTH));
    const one = things.answer(url);
    if (one) return send(200, 'application/json', JSON.stringify(one));
    const job = /^\/api\/v1\/jobs\/([^/]+)$/.exec(url.pathname)?.[1]; // a job that the list does not contain
    if (job) return send(404, 'application/problem+json', JSON.stringify({ status: 404, detail: `there is no ${decodeURIComponent(job)}` }));
    if (url.pathname.startsWith('/mock/') && request.method === 'POST') return send(200, 'text/plain', control(url));
    const ran = stream.rest(url);
    if (ran) return send(200, 'application/json', JSON.stringify(ran));
    const keys = named.rest(url);
    if (keys?.raw !== undefined) return send(200, 'text/plain; charset=utf-8', keys.raw);
    if (keys) return send(200, 'application/json', JSON.stringify(keys));
    const manifest = JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8'));
    const asset = manifest.find((entry) => entry.path === (/^\/[a-z-]+(\/|$)/.test(url.pathname) && !url.pathname.startsWith('/api/') ? '/' : url.pathname));
    if (!asset || !existsSync(join(dist, asset.file))) return send(404, 'text/plain', 'not found');
    return send(200, asset.type, readFileSync(join(dist, `${asset.file}.gz`)), {
      'Content-Encoding': 'gzip',
      'Cache-Control': asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    });
  };
  const control = (url) => {
    const row = cluster.find(url.searchParams.get('task'));
    switch (url.pathname) {
      case '/mock/kill':
        named.lost = [url.searchParams.get('task')];
        cluster.set(row, 'ERROR', 0, 'connection closed by the worker; 3 closures were requeued');
        cluster.putBack += 3;
        return 'killed';
      case '/mock/revive':
        named.lost = [];
        cluster.set(row, 'CONNECTED', 0, '');
        row.incarnation = cluster.hex();
        return 'revived';
      case '/mock/error':
        cluster.set(row, 'ERROR', 0, url.searchParams.get('text'));
        return 'done';
      case '/mock/reboot':
        cluster = new Cluster({ tasks, scenario });
        for (const client of clients) client.socket.terminate();
        return 'rebooted';
      case '/mock/drop':
        for (const client of clients) client.socket.terminate();
        return 'dropped';
      default:
        return 'unknown';
    }
  };

  const http = createServer(handle);
  const sockets = new WebSocketServer({ server: http, path: '/api/v1/ws', handleProtocols: (names) => (names.has('muster.v1') ? 'muster.v1' : false), maxPayload: 4096 });
  sockets.on('connection', (socket) => {
    const client = { socket, topics: new Map(), watched: new Set(), named: new Map() }; // topic -> seq last sent, null for a snapshot
    clients.add(client);
    socket.on('close', () => clients.delete(client));
    socket.send(JSON.stringify(cluster.hello()));
    socket.on('message', (text) => {
      const message = JSON.parse(text);
      if (message.t === 'sub') client.topics.set(message.topic, null);
      else if (message.t === 'unsub') client.topics.delete(message.topic);
      else if (message.t === 'resume') for (const [topic, seq] of Object.entries(message.topics)) client.topics.set(topic, message.boot === cluster.boot ? seq : null);
      else if (message.t === 'rows') client.watched = new Set(message.ids);
      else return;
      publish(client, true);
    });
  });

  const publish = (client, due) => {
    for (const [topic, from] of client.topics) {
      if (topic.startsWith('logs:')) {
        const newest = log.lines.at(-1).seq;
        if (from === newest) continue;
        const head = from === null ? { t: 'snap', topic, seq: newest } : { t: 'd', topic, seq: newest, from };
        client.socket.send(JSON.stringify({ ...head, now: Date.now(), ...log.body(topic, from) }));
        client.topics.set(topic, newest);
        continue;
      }
      if (isNamed(topic)) {
        if (due || from === null) publishNamed(client, topic, from);
        continue;
      }
      if (topic === 'counters' && !due && from !== null) continue;
      const seq = cluster.seq[topic];
      if (from !== null && from >= seq) continue;
      const body = cluster.body(topic, from, client.watched);
      const changed = topic === 'counters' || from === null || (body.jobs ?? body.rows.i).length > 0;
      if (!changed) continue;
      const head = from === null ? { t: 'snap', topic, seq } : { t: 'd', topic, seq, from };
      client.socket.send(JSON.stringify({ ...head, now: Date.now(), ...body }));
      client.topics.set(topic, seq);
    }
  };

  // Sends a snapshot first, then the differences from the last message to this client.
  const publishNamed = (client, topic, from) => {
    const rows = things.rows(topic) ?? named.rows(topic);
    const sent = from === null ? {} : (client.named.get(topic) ?? {});
    const texts = Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, JSON.stringify(row)]));
    const changed = Object.fromEntries(Object.entries(rows).filter(([name]) => texts[name] !== sent[name]));
    const gone = Object.keys(sent).filter((name) => !(name in rows));
    if (from !== null && Object.keys(changed).length + gone.length === 0) return;
    client.named.set(topic, texts);
    const seq = (from ?? 0) + 1;
    const head = from === null ? { t: 'snap', topic, seq } : { t: 'd', topic, seq, from };
    client.socket.send(JSON.stringify({ ...head, now: Date.now(), rows: changed, gone, more: 0 }));
    client.topics.set(topic, seq);
  };

  let ticks = 0;
  const timer = setInterval(() => {
    if (still)
      ++cluster.seq.counters; // shows only that the server is alive
    else cluster.tick(all);
    if (!still && ticks % 5 === 0) log.say();
    const due = ++ticks % Math.max(1, Math.round(rate / 2)) === 0;
    for (const client of clients) publish(client, due);
  }, 1000 / rate);

  return new Promise((resolve) => {
    http.listen(port, '127.0.0.1', () => {
      resolve({
        url: `http://localhost:${http.address().port}`,
        post: (path) => control(new URL(path, 'http://mock')),
        close: () => {
          clearInterval(timer);
          for (const client of clients) client.socket.terminate();
          return new Promise((done) => http.close(done));
        },
      });
    });
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, otherwise) => {
    const at = process.argv.indexOf(`--${name}`);
    return at < 0 ? otherwise : process.argv[at + 1];
  };
  const mock = await startMock({
    tasks: Number(option('tasks', 10_000)),
    port: Number(option('port', 8477)),
    scenario: option('scenario', 'full'),
    rate: Number(option('rate', 10)),
    all: process.argv.includes('--all'),
  });
  console.log(mock.url);
}
