// Invented REST answers for the detail pages: jobs, closures, values, workers, gangs, sessions.

import { timelineOf } from './mock-timeline.mjs';

const HOLDERS = [
  { task: 'worker:1', bytes: 2.1e9, values: 3 },
  { task: 'worker:2', bytes: 900e6, values: 2 },
];

const JOB = 'job_0000000000000005';
const FUNCTIONS = ['train_step', 'load_shard', 'eval_step'];
const TOTAL = 50_000;
const FAILED = 43_217;
const TRACEBACK = `Traceback (most recent call last):
  File "/srv/train/step.py", line 217, in train_step
    batch = table["price"]
  File "/srv/train/table.py", line 40, in __getitem__
    raise KeyError(f"no such column: {name}")
KeyError: 'no such column: price'`;
const two = (n) => n.toString(16).padStart(8, '0');
const closureId = (index) => `cl_00000005${two(index)}`;

function stateOf(index) {
  if (index === FAILED) return 'FAILED';
  return index < 44_000 ? 'SUCCEEDED' : index < 44_016 ? 'RUNNING' : index < 49_000 ? 'QUEUED' : 'BLOCKED';
}

// Most closures take about half a second, some much longer.
const tookOf = (index) => Math.round(180 * 2 ** (((index * 7919) % 97) / 24 + ((index * 31) % 53 === 0 ? 3 : 0)));

function closure(index, began) {
  const state = stateOf(index);
  const ran = state === 'SUCCEEDED' || state === 'FAILED' || state === 'RUNNING';
  const started = began + Math.floor(index / 16) * 900;
  const worker = `worker:${index % 8}`;
  return {
    id: closureId(index),
    job: JOB,
    index,
    function: FUNCTIONS[index % 3],
    state,
    cancel_requested: false,
    alone: false,
    remote_value: closureId(index).replace('cl_', 'rv_'),
    value_status: state === 'SUCCEEDED' || state === 'FAILED' ? 'READY' : 'NOT_READY',
    args: ['s3://data/part-0017', { lr: 0.001, batch: 256 }],
    ...(state === 'SUCCEEDED' && { value_bytes: 1200 + (index % 900) }),
    ...(state === 'QUEUED' && index < 44_032 && { sent_to: worker }),
    ...(state === 'BLOCKED' && { inputs_missing: 2, inputs: [closureId(44_001).replace('cl_', 'rv_'), closureId(44_002).replace('cl_', 'rv_')] }),
    ...(state === 'RUNNING' && { progress: { fraction: 0.31, text: 'step 31 of 100', attempt: 1, time_ms: Date.now() }, dependents: [closureId(49_000).replace('cl_', 'rv_')] }),
    ...(state === 'FAILED' && { error: { kind: 'USER', type: 'KeyError', message: 'no such column: price', traceback: TRACEBACK, worker, attempt: 2 } }),
    created_ms: began,
    finished_ms: state === 'SUCCEEDED' || state === 'FAILED' ? started + tookOf(index) : 0,
    attempts: ran
      ? [
          ...(state === 'FAILED'
            ? [{ attempt: 1, worker: 'worker:3', host: 'rack07-node02', started_ms: started - 9000, ended_ms: started - 4000, outcome: 'worker lost: heartbeat timeout after 15.0 s' }]
            : []),
          {
            attempt: state === 'FAILED' ? 2 : 1,
            worker,
            host: `rack0${index % 8}-node01`,
            started_ms: started,
            ended_ms: state === 'RUNNING' ? 0 : started + tookOf(index),
            outcome: state === 'RUNNING' ? '' : state.toLowerCase(),
          },
        ]
      : [],
  };
}

const WHY = {
  BLOCKED: 'it is waiting for 2 of 2 inputs, including cl_000000050000abe1, which is RUNNING.',
  QUEUED: "8 workers with 'train_step' are busy or about to receive work; the function has 5000 queued and 16 running.",
};

// Programs: one program with a thousand ranks, two running programs, a failed program and a waiting program.
function programs(began) {
  const program = (n, name, state, ranks, more = {}) => ({
    id: `prog_${n.toString(16).padStart(16, '0')}`,
    cluster: 'llm-70b',
    name,
    state,
    attempt: 1,
    restarts: 0,
    ranks,
    started: ranks,
    alive: state === 'RUNNING' ? ranks : 0,
    created_ms: began,
    command: ['python', 'train.py', '--config', 'a b.yaml'],
    tasks: { worker: { min: ranks || 8, max: ranks || 8, resources: { gpu: 4 } } },
    env: ['WANDB_API_KEY', 'XLA_FLAGS'],
    max_restarts: 3,
    grace_ms: 10_000,
    restart_grace_ms: 1000,
    submitted_by: 'ada',
    ...more,
  });
  const cause = {
    kind: 'EXIT_STATUS',
    rank: 3,
    task: 'worker:3',
    host: 'rack07-node03',
    exit_status: 1,
    text: 'rank 3 (worker:3 on rack07-node03) ended with status 1',
    coordination: { code: 'UNAVAILABLE', task: 'worker:3', message: 'the connection to /job:worker/task:3 broke' },
    stderr: ['Traceback (most recent call last):', '  File "train.py", line 41, in <module>', 'RuntimeError: \x1b[31mCUDA out of memory\x1b[0m'],
  };
  return [
    program(4, 'eval nightly', 'PENDING', 0, { attempt: 0, waits_for: 'there is room for 3 of its 8 ranks on the 2 workers that run programs', created_ms: Date.now() - 95_000 }),
    program(3, 'train-70b', 'RUNNING', 1000, { coordination_cluster: 'llm-70b' }),
    program(2, 'finetune', 'RUNNING', 16, { attempt: 2, restarts: 1 }),
    program(5, 'pretrain', 'RUNNING', 64, { coordination_cluster: 'prog_0000000000000005' }),
    program(1, 'train-8b', 'FAILED', 8, { attempt: 2, restarts: 3, finished_ms: began + 900_000, cause }),
  ];
}

// Objects: one in each state, one with a disconnected task, and one with waiting calls.
function objects(began) {
  const object = (n, task, state, more = {}) => ({
    id: `obj_${n.toString(16).padStart(16, '0')}`,
    class: 'Weights',
    task,
    state,
    detached: false,
    concurrency: 1,
    session: 'job_0000000000000005',
    calls: { waiting: 0, executing: 0, answered: n * 1217 },
    ...(state === 'READY' && { incarnation: '00000000000000a7' }),
    created_ms: began,
    since_ms: Date.now() - n * 31_000,
    ...more,
  });
  const lost = { reason: 'TASK_AWAY', error: "UNAVAILABLE: object 'weights.2' was lost together with ps:2: it was disconnected for longer than 10000 ms" };
  return [
    object(8, 'ps:3', 'PENDING', { name: 'weights.3', calls: { waiting: 4, executing: 0, answered: 0 } }),
    object(7, 'ps:1', 'STARTING', { class: 'Tokenizer', calls: { waiting: 1, executing: 0, answered: 0 } }),
    object(6, 'ps:2', 'LOST', { name: 'weights.2', ...lost }),
    object(5, 'ps:0', 'READY', {
      name: 'weights.0',
      calls: { waiting: 211, executing: 4, answered: 48_211 },
      concurrency: 4,
      detached: true,
      submitted_by: 'ada',
      last_error: 'ValueError: operands could not be broadcast together with shapes (1000,) (999,)',
    }),
    object(4, 'ps:1', 'READY', { name: 'weights.1', incarnation: undefined }),
    object(3, 'worker:7', 'FAILED', { name: 'reader', class: 'ShuffledReader', reason: 'RAISED', error: 'FileNotFoundError: /data/train/part-00017.tfrecord' }),
    object(2, 'ps:0', 'READY', { name: 'metrics', class: 'MetricsAccumulatorOfAllTheWorkers' }),
  ];
}

function ranksOf(p) {
  return Array.from({ length: p.ranks }, (_, rank) => {
    const ended = p.state === 'FAILED';
    const state = ended ? (rank === 3 ? 'FAILED' : 'STOPPED') : rank % 97 === 96 ? 'STARTING' : 'RUNNING';
    return {
      rank,
      task: `worker:${rank}`,
      state,
      worker: `worker:${rank >> 2}`,
      host: `rack0${(rank >> 5) % 8}-node${(rank >> 2) % 8}`,
      address: `10.0.0.${(rank >> 2) % 250}:41000`,
      pid: 4000 + rank,
      started_ms: p.created_ms,
      resources: { gpu: 4 },
      ...(ended && { ended_ms: p.finished_ms, exit_status: rank === 3 ? 1 : 0, ...(rank !== 3 && { signal: 15 }) }),
      ...(state !== 'STARTING' && {
        last_line: `step ${4000 + (Math.floor(Date.now() / 1000) % 900) - (rank % 7)} loss ${(2.31 + rank / 1000).toFixed(4)} 12.4k tok/s${rank % 9 === 4 ? ' waiting for the data loader, which is late again and says so at length' : ''}`,
      }),
      ...(late(p, rank) && { agent: { state: 'LATE', late_for: 'step_4031', late_since: Date.now() - 14_000 } }),
    };
  });
}
const late = (p, rank) => p.state === 'RUNNING' && p.ranks > 16 && rank % 23 === 11;

function attemptsOf(p) {
  if (p.attempt === 0) return [];
  const one = (attempt, end, more) => ({
    attempt,
    end,
    ranks: p.ranks,
    hosts: Math.ceil(p.ranks / 4),
    begun_ms: p.created_ms + attempt * 60_000,
    running_ms: p.created_ms + attempt * 60_000 + 900,
    ...more,
  });
  const lost = { kind: 'WORKER_LOST', host: 'rack07-node01', text: 'worker:1 on rack07-node01 was disconnected for longer than --program-lease' };
  const last = p.state === 'FAILED' ? one(p.attempt, 'FAILED', { ended_ms: p.finished_ms, cause: p.cause }) : one(p.attempt, 'NONE', {});
  return p.attempt > 1 ? [one(1, 'LOST', { ended_ms: p.created_ms + 100_000, cause: lost }), last] : [last];
}

// One rank has a different stack, and one rank is stopped.
function stacksOf(p) {
  const of = (ranks, state, process, stack) => ({
    state,
    stack,
    ranks: ranks.map((rank) => ({ rank, task: `worker:${rank}`, worker: `worker:${rank >> 2}`, host: `rack00-node0${rank >> 2}`, process })),
  });
  const all = Array.from({ length: p.alive ?? 0 }, (_, rank) => rank);
  const line = (file, n, f) => `  File "${file}", line ${n} in ${f}\n`;
  const wait = `Current thread (most recent call first):\n${line('/srv/train.py', 41, 'all_reduce')}${line('/srv/train.py', 88, 'step')}${line('/srv/train.py', 120, '<module>')}`;
  return [
    of(all.slice(2, 3), 'NATIVE', 'R', `Thread train (most recent call first):\n${line('/srv/loader.cpp', 212, 'decode(batch const&)')}  File "libc.so.6" in __libc_start_main\n`),
    of(all.slice(3, 4), 'STOPPED', 'T in do_signal_stop'),
    of([...all.slice(0, 2), ...all.slice(4)], 'TAKEN', 'S in futex_wait_queue', wait),
  ].filter((g) => g.ranks.length > 0);
}

function seenOf(a) {
  if (!a) return null;
  const ended =
    a.end === 'NONE' ? [] : [{ rank: 3, task: 'worker:3', host: 'rack00-node00', ended_ms: a.ended_ms - 1200, exit_status: 1, stderr: ['RuntimeError: loss is NaN'], stdout: ['step 4031 loss nan'] }];
  const stacks =
    a.end === 'NONE'
      ? []
      : [
          {
            state: 'TAKEN',
            stack: 'Current thread (most recent call first):\n  File "train.py", line 41 in all_reduce\n',
            ranks: [0, 1, 2].map((rank) => ({ rank, task: `worker:${rank}`, host: 'rack00-node00', process: 'S in futex_wait_queue' })),
          },
        ];
  const events = a.end === 'LOST' ? [{ at_ms: a.begun_ms + 20_000, kind: 'WORKER_LOST', about: 'worker:1', text: 'connection lost' }] : [];
  const span = (a.ended_ms ?? Date.now()) - a.begun_ms;
  const barriers = Array.from({ length: 40 }, (_, n) => ({
    id: `step_${4031 - n}`,
    counter: 0,
    ended_ms: Math.round(a.begun_ms + span * (1 - (n + 1) / 42)),
    participants: a.ranks,
    last: `worker:${n % 7 === 3 ? 3 : n % a.ranks}`,
    host: 'rack00-node00',
    late_ms: n % 7 === 3 ? 24_000 : 80 + n,
    spread_ms: 901,
  }));
  return { ...a, events, barriers, latecomers: [{ task: 'worker:3', host: 'rack00-node00', last: 7, barriers: 9, late_mean_ms: 640, late_max_ms: 812 }], stacks, ended };
}

const PRINTED = `${Array.from({ length: 60 }, (_, n) => `step ${n} loss \x1b[36m${(4 / (n + 1)).toFixed(3)}\x1b[0m`).join('\n')}\n`;

function durations() {
  const all = (n, failed) => ({ executions: n, failed, busy_ms: n * 410, p50_us: 390_000, p90_us: 800_000, p99_us: 2_400_000, max_us: 22_000_000 });
  const buckets = Array.from({ length: 28 }, (_, k) => ({ up_to_us: Math.round(180_000 * 2 ** (k / 4)), executions: Math.round(9000 * Math.exp(-((k - 6) ** 2) / 30)), failed: k === 20 ? 1 : 0 }));
  return {
    ...all(43_999, 1),
    buckets,
    functions: FUNCTIONS.map((name, n) => ({ name, ...all(14_666, n === 0 ? 1 : 0) })),
    workers: Array.from({ length: 8 }, (_, n) => ({ name: `worker:${n}`, ...all(5500 - n, n === 1 ? 1 : 0) })),
  };
}

// Matching log lines; for ranks, every third line matches.
function logMatches(query, began) {
  const text = query.get('text');
  if (query.get('program'))
    return {
      lines: [],
      rank_lines: Array.from({ length: 5 }, (_, n) => ({ rank: 3 * n, attempt: 1, task: `worker:${3 * n}`, offset: 23 * n, text: `step ${n} loss \x1b[36mnan\x1b[0m ${text}` })),
      ...(query.get('program').endsWith('3') && { unread: ['rank 7: its worker is away'] }),
    };
  const levels = ['stdout', 'stderr', 'error', 'info', 'debug'];
  return {
    lines: Array.from({ length: 25 }, (_, n) => ({
      time_ms: began + 1000 * n,
      cluster: 'llm-70b',
      job: n % 9 === 4 ? 'job_0000000000000007' : JOB,
      closure: closureId(n),
      index: n,
      attempt: 1,
      worker: `worker:${n % 8}`,
      level: levels[n % 5],
      text: n === 7 ? `<img src=x onerror=alert(1)> \u202Egnp.exe ${text} ${'long '.repeat(300)}${text}` : `epoch 3, step ${n}: ${text} in shard ${n * 17}`,
    })),
    rank_lines: [],
    next_page_token: '1',
  };
}

// Returns a machine over an hour with a sample every 5 s, or over a range.
// Twelve hosts with eight workers each. One worker is slow, one is lost, one is cordoned.
function hosts(query) {
  const { machine: figures } = machine('worker:0', query);
  const worker = (n) => ({
    cluster: 'llm-70b',
    task: `worker:${n}`,
    state: n === 1 ? 'ERROR' : 'CONNECTED',
    since_ms: Date.now() - 3_600_000,
    draining: false,
    cordoned: n === 3,
    away: false,
    pid: 4711 + n,
    slots: 4,
    running: n === 1 ? 0 : n % 5,
    waiting_for_values: 0,
    sent_ahead: n % 3,
    finished: 12_345,
    failed: n === 2 ? 7 : 0,
    failed_last_hour: n === 2 ? 3 : 0,
    value_bytes: n * 1_250_000,
    slowness: n === 12 ? 2.1 : 0.9 + (n % 5) / 20,
    ...(n === 12 && { slow_since_ms: Date.now() - 18 * 60_000 }),
    error: n === 1 ? 'the connection broke and the worker did not reconnect within 5 s' : '',
  });
  const all = Array.from({ length: 12 }, (_, h) => ({ host: `rack07-node${String(h).padStart(2, '0')}`, machine: figures, workers: Array.from({ length: 8 }, (_, n) => worker(8 * h + n)) }));
  const task = query.get('task');
  return task ? [{ ...all[0], workers: [worker(Number(task.split(':')[1]))] }] : all;
}

function machine(task, query) {
  const n = Number(task.split(':')[1]) + 1;
  const [from, to] = ['from_ms', 'to_ms'].map((name) => Number(query.get(name)) / 1000);
  const now = Math.floor(to || Date.now() / 1000);
  const [many, each] = to ? [300, (to - from) / 300] : [720, 5];
  const column = (f) => Array.from({ length: many }, (_, k) => f(k));
  const samples = {
    seconds: column((k) => Math.round(now - each * (many - 1 - k))),
    cpu: column((k) => Number((4 + 3 * Math.sin(k / (9 + n))).toFixed(2))),
    memory_bytes: column((k) => Math.round(2e10 + 5e7 * k + 1e9 * n)),
    gpu_busy: column(() => null),
  };
  return {
    kind: 'worker',
    cluster: 'llm-70b',
    task,
    host: `rack00-node${n - 1}`,
    seen_ms: Date.now(),
    fresh: true,
    machine: {
      cpu: samples.cpu.at(-1),
      cpus: 8,
      memory_bytes: samples.memory_bytes.at(-1),
      memory_total_bytes: 6.8e10,
      received_per_s: 1e6,
      sent_per_s: 2e6,
      read_per_s: 0,
      written_per_s: 0,
      gpus: [],
    },
    samples,
  };
}

// Answers of a server on which nothing has run.
const EMPTY = {
  jobs: { jobs: [], counts: { jobs: {}, sessions: {} } },
  work: { runs: [], matching: 0, of: 0, facets: { kinds: [], states: [], users: [], labels: [] } },
  programs: { programs: [] },
  'remote_values/holders': { holders: [] },
  remote_values: { remote_values: [], looked_at: 0, of: 0 },
  objects: { objects: [] },
  machines: { machines: [] },
  hosts: { hosts: [] },
  per_worker_values: { per_worker_values: [] },
  queue: { queue: [], entries: 0, closures: 0, closures_startable: 0, programs: 0, blocked: 0, delayed: 0, sent_ahead: 0, complete: true },
  blobs: { blobs: 0, bytes: 0, bytes_max: 4e9, held: 0, elsewhere: { workers: [] } },
};

export class MockRest {
  began = Date.now() - 5_400_000;

  constructor({ scenario } = {}) {
    this.empty = scenario === 'empty';
  }

  counts() {
    return { total: TOTAL, blocked: 1000, queued: 4984, running: 16, succeeded: 43_999, failed: 1, cancelled: 0 };
  }

  job(id, name, state, more = {}) {
    return {
      id,
      cluster: 'llm-70b',
      name,
      state,
      open: false,
      stopping: false,
      streaming: false,
      on_error: 'continue',
      counts: this.counts(),
      put_back: 4,
      retried: 0,
      created_ms: this.began,
      finished_ms: 0,
      ...more,
    };
  }

  jobs() {
    const done = { total: 8192, blocked: 0, queued: 0, running: 0, succeeded: 8192, failed: 0, cancelled: 0 };
    const holding = { attached: true, detached: false, values: 41_000, value_bytes: 3.1e9 };
    const bad = { finished_ms: this.began + 900_000, retryable: true, error: { kind: 'USER', message: 'tokenize: UnicodeDecodeError: byte 0xff at 10418 of s3-part-0093' } };
    return [
      this.job(JOB, 'eval', 'RUNNING', { values: 44_000, value_bytes: 5.2e7 }),
      this.job('job_0000000000000007', 'tokenize nightly', 'FAILED', { ...bad, counts: { ...done, total: 98_000, succeeded: 57_999, failed: 1, cancelled: 40_000 } }),
      this.job('job_0000000000000008', 'warm-up', 'SUCCEEDED', { finished_ms: this.began + 400_000, counts: done }),
      this.job('job_0000000000000009', 'smoke', 'SUCCEEDED', { finished_ms: this.began + 4000, counts: { ...done, total: 16, succeeded: 16 }, retry_of: 'job_0000000000000007' }),
      this.job('job_000000000000000a', 'notebook of ada', 'RUNNING', { streaming: true, client: 'ipv4:10.0.0.7:51234', holding, values: 41_000, value_bytes: 3.1e9 }),
      this.job('job_000000000000000b', 'left overnight', 'RUNNING', { streaming: true, holding: { ...holding, attached: false, kept_until_ms: Date.now() + 40_000, values: 12, value_bytes: 8e6 } }),
    ];
  }

  closures(query) {
    const limit = Number(query.get('limit') ?? 100);
    const [state, name, worker, q] = ['state', 'function', 'worker', 'q'].map((key) => query.get(key) ?? '');
    const from = Number(query.get('page_token') ?? 0);
    const rows = [];
    let at = from;
    for (; at < TOTAL && rows.length < limit && at - from < 20_000; ++at) {
      const s = stateOf(at);
      if (state && s !== state && !(state === 'UNFINISHED' && ['BLOCKED', 'QUEUED', 'RUNNING'].includes(s))) continue;
      const c = closure(at, this.began);
      if ((name && c.function !== name) || (worker && c.attempts.at(-1)?.worker !== worker)) continue;
      if (q && ![c.function, c.id, c.error?.message ?? ''].some((text) => text.toLowerCase().includes(q.toLowerCase()))) continue;
      rows.push(c);
    }
    return { closures: rows, ...(at < TOTAL && { next_page_token: String(at) }), looked_at: at - from, of: TOTAL };
  }

  worker(index) {
    return {
      kind: 'worker',
      cluster: 'llm-70b',
      row: index,
      job: 'worker',
      index,
      state: 'CONNECTED',
      since_ms: this.began,
      last_seen_ms: Date.now() - 900,
      heartbeat_age_ms: 900,
      incarnation: '9f27c0de01020304',
      host: 'rack07-node02:41002',
      pid: 4711,
      version: '0.1.0',
      slots: 4,
      credits: 8,
      running: 3,
      sent_ahead: 2,
      finished: 12_345,
      failed: 1,
      restarts: 1,
      reconnects: 2,
      draining: false,
      away: false,
      cordoned: index === 3,
      functions: FUNCTIONS,
      labels: { zone: 'a', disk: 'nvme' },
      resources: { gpu: { total: 8, free: 2 } },
      error: '',
    };
  }

  // Returns the rows of a topic about programs, or null for other topics.
  rows(topic) {
    const all = programs(this.began);
    if (topic === 'programs') return Object.fromEntries(all.map((p) => [p.id, { ...p, cluster: '', command: undefined }]));
    if (!topic.startsWith('program:')) return null;
    const p = all.find(({ id }) => topic.endsWith(id));
    if (!p) return {};
    const ranks = ranksOf(p);
    const missing = ranks.filter((r) => r.agent).length;
    const barriers = missing > 0 ? [{ id: 'step_4031', arrived: p.ranks - missing, of: p.ranks, started: this.began + 5_386_000 }] : [];
    return { program: p, attempts: { attempts: attemptsOf(p) }, barriers: { barriers }, ...Object.fromEntries(ranks.map((r) => [r.rank, r])) };
  }

  // All runs in one list; newest first.
  work(query) {
    const countsOf = ({ total, running, succeeded, failed, cancelled }) => ({ total, ended: succeeded + failed + cancelled, running, succeeded, failed, cancelled });
    const jobs = this.jobs().map((j) => ({
      ...{ kind: j.streaming ? 'session' : 'job', id: j.id, cluster: j.cluster ?? '', name: j.name, state: j.state, created_ms: j.created_ms, ...(j.finished_ms ? { ended_ms: j.finished_ms } : {}) },
      ...{ duration_ms: (j.finished_ms || Date.now()) - j.created_ms, counts: countsOf(j.counts), error: j.error?.message, values: j.values ?? 0, value_bytes: j.value_bytes ?? 0, client: j.client },
      ...{ holding: j.holding, retryable: j.retryable },
    }));
    const all = programs(this.began).map((p) => ({
      ...{ kind: 'program', id: p.id, cluster: '', name: p.name, state: p.state, created_ms: p.created_ms, ...(p.finished_ms ? { ended_ms: p.finished_ms } : {}) },
      ...{ duration_ms: (p.finished_ms || Date.now()) - p.created_ms, counts: { total: p.ranks, ended: p.started - p.alive || 0, running: p.alive }, error: p.cause?.text, waits_for: p.waits_for },
      ...{ attempt: p.attempt, restarts: p.restarts, max_restarts: p.max_restarts },
    }));
    const q = (query.get('q') ?? '').toLowerCase();
    const among = (name, value) => !query.get(name) || query.get(name).split(',').includes(value) || (query.get(name) === 'UNFINISHED' && !/^(SUCC|FAIL|CANC)/.test(value));
    const runs = [...jobs, ...all].filter((r) => among('kind', r.kind) && among('state', r.state) && (!q || r.name.toLowerCase().includes(q) || r.id.includes(q)));
    const facet = (name) => [...new Set([...jobs, ...all].map((r) => r[name]))].map((value) => ({ value, runs: [...jobs, ...all].filter((r) => r[name] === value).length }));
    runs.sort((a, b) => b.created_ms - a.created_ms);
    return { runs: runs.slice(0, 50), matching: runs.length, of: jobs.length + all.length, facets: { kinds: facet('kind'), states: facet('state'), users: [], labels: [] } };
  }

  // Returns the answer, or null for other paths.
  answer(url) {
    const { pathname: path, searchParams: query } = url;
    const is = (pattern) => pattern.exec(path);
    const none = this.empty && EMPTY[path.replace('/api/v1/', '')];
    if (none) return none;
    if (path === '/api/v1/blobs') return { blobs: 12, bytes: 61e6, bytes_max: 4e9, held: 9, elsewhere: { workers: HOLDERS } };
    const [, generation, more_runs] = is(/^\/api\/v1\/clusters\/[^/]+(\/runs)?$/) ? [null, { number: 1, started_ms: this.began, state: 'RUNNING' }, path.endsWith('/runs')] : [];
    if (generation) return more_runs ? { runs: [generation] } : { generation };
    if (path === '/api/v1/jobs') {
      const q = (query.get('q') ?? '').toLowerCase();
      const fits = (j) =>
        (!query.get('state') || j.state === query.get('state')) && (!query.get('streaming') || String(j.streaming) === query.get('streaming')) && (!q || j.name.includes(q) || j.id.includes(q));
      const counts = (streaming) =>
        Object.fromEntries(['RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'].map((state) => [state.toLowerCase(), this.jobs().filter((j) => j.state === state && !!j.streaming === streaming).length]));
      return { jobs: this.jobs().filter(fits), counts: { jobs: counts(false), sessions: counts(true) } };
    }
    if (path === '/api/v1/work') return this.work(query);
    const [, program, more_of, number] = is(/^\/api\/v1\/programs(?:\/([^/]+)(?:\/(\w+)(?:\/(\d+))?)?)?$/) ?? [path];
    if (path.startsWith('/api/v1/programs')) {
      const all = programs(this.began);
      const [q, state] = ['q', 'state'].map((name) => query.get(name) ?? '');
      if (!program) return { programs: all.filter((p) => (!state || p.state === state) && (p.name.includes(q) || p.id.includes(q))) };
      const p = all.find(({ id }) => id === program);
      if (!p) return null;
      if (more_of === 'ranks') return { ranks: ranksOf(p) };
      if (more_of === 'stacks') return { attempt: p.attempt, groups: stacksOf(p) };
      if (more_of === 'timeline') return timelineOf(p, query);
      if (more_of === 'attempts' && number) return seenOf(attemptsOf(p).find(({ attempt }) => attempt === Number(number)));
      if (more_of === 'attempts') return { attempts: attemptsOf(p) };
      if (more_of === 'logs' && query.get('offset') && !query.get('from_end')) {
        const from = Number(query.get('offset'));
        const data = PRINTED.slice(from, from + Number(query.get('bytes')));
        return { known: true, offset: from, data, next_offset: from + data.length, size: PRINTED.length, complete: true };
      }
      if (more_of === 'logs')
        return {
          known: true,
          offset: query.get('from_end') ? 0 : PRINTED.length,
          data: query.get('from_end') ? PRINTED : '',
          next_offset: PRINTED.length,
          size: PRINTED.length,
          complete: p.state === 'FAILED',
        };
      return p;
    }
    const job = is(/^\/api\/v1\/jobs\/([^/]+)$/)?.[1];
    if (job) return this.jobs().find((j) => j.id === job) ?? null;
    if (is(/^\/api\/v1\/jobs\/[^/]+\/durations$/)) return durations();
    if (is(/^\/api\/v1\/jobs\/[^/]+\/closures$/)) return this.closures(query);
    const [, id, what] = is(/^\/api\/v1\/closures\/cl_00000005([0-9a-f]{8})(\/explain)?$/) ?? [];
    if (id) {
      const c = closure(parseInt(id, 16), this.began);
      return what
        ? {
            id: c.id,
            state: c.state,
            explanation: `${c.state} ${WHY[c.state] ? `for 3m 10s: ${WHY[c.state]}` : c.error ? `(USER) on ${c.error.worker}: ${c.error.message}. It was requeued 2m ago from worker:3 (worker lost).` : `on ${c.attempts.at(-1)?.worker}, attempt 1.`}`,
          }
        : c;
    }
    if (is(/\/preview$/)) return { id: '', status: 'READY', bytes: 48, encoding: 'json', text: '{"loss":0.3121,"rows":256,"part":"s3://data/17"}', truncated: false };
    if (path === '/api/v1/remote_values/holders')
      return {
        holders: this.jobs()
          .filter((j) => j.values)
          .map((j) => ({
            job: j.id,
            name: j.name,
            streaming: j.streaming,
            state: j.state,
            values: j.values,
            value_bytes: j.value_bytes,
            spilled_bytes: j.streaming ? 4e8 : 0,
            blob_bytes: j.streaming ? 12e6 : 0,
          }))
          .sort((a, b) => b.value_bytes - a.value_bytes),
      };
    const among = (status) => !query.get('status') || query.get('status').split(',').includes(status);
    if (path === '/api/v1/remote_values')
      return {
        remote_values: Array.from({ length: 60 }, (_, n) => ({
          id: `rv_00000005${two(n)}`,
          closure: closureId(n),
          job: JOB,
          function: FUNCTIONS[n % 3],
          index: n,
          status: n === 7 ? 'ABORTED' : 'READY',
          place: n % 9 === 4 ? 'disk' : n === 7 ? 'none' : n === 11 ? 'released' : 'memory',
          bytes: 9e6 / (n + 1),
          created_ms: this.began,
          finished_ms: this.began + n * 900,
          ...(n === 11 && { released: 'its job was the oldest that holds values' }),
          ...(n === 19 && { error: { kind: 'USER', message: "KeyError: 'no such column: price'" } }),
        })).filter((v) => among(v.error ? 'ERROR' : v.status)),
        looked_at: 60,
        of: 60,
      };
    if (path === '/api/v1/objects')
      return { objects: objects(this.began).filter((o) => ['state', 'task'].every((by) => !query.get(by) || o[by] === query.get(by)) && (o.name ?? o.id).includes(query.get('q') ?? '')) };
    if (path === '/api/v1/logs/search') return logMatches(query, this.began);
    if (path === '/api/v1/events') return { first: 1, last: 0, events: [] };
    if (path === '/api/v1/session') return { required: false, signed_in: true, role: 'admin' };
    if (path === '/api/v1/machines')
      return {
        machines: (query.get('task') ? [query.get('task')] : query.get('program') ? ['worker:0', 'worker:1', 'worker:2', 'worker:3'] : ['worker:0', 'worker:1']).map((task) => machine(task, query)),
      };
    if (path === '/api/v1/hosts') return { hosts: hosts(query) };
    if (path === '/api/v1/per_worker_values')
      return {
        per_worker_values: [
          {
            id: 'pw_0000000000000001',
            name: 'tokenizer',
            function: 'load_tokenizer',
            created_ms: this.began,
            released: false,
            users: 16,
            components: Array.from({ length: 8 }, (_, n) => ({
              task: `worker:${n}`,
              status: n === 3 ? 'ABORTED' : n === 5 ? 'NOT_READY' : 'READY',
              since_ms: Date.now() - 41_000,
              ...(n === 3 && { error: { kind: 'USER', message: 'OSError: no space left on device' } }),
            })),
          },
        ],
      };
    if (path === '/api/v1/queue') {
      const closures = (first, more) => ({
        kind: 'closures',
        priority: 0,
        needs: {},
        examined: 64,
        first: closureId(first),
        job: JOB,
        jobs: [{ id: JOB, name: 'etl-nightly' }],
        since_ms: Date.now() - 1_140_000,
        ...more,
      });
      const many = 5000;
      return {
        queue: [
          closures(44_000, {
            position: 1,
            waiting: many,
            wanted: many,
            free: 0,
            workers: 1024,
            workers_free: 0,
            slots: 8192,
            functions: [
              { name: 'parse_shard', waiting: 40 },
              { name: 'tokenize', waiting: 24 },
            ],
            why: "1,024 workers with 'parse_shard' are busy or about to receive work; the function has 5,000 closures queued and 8,192 running.",
            reason: 'BUSY',
          }),
          {
            kind: 'program',
            position: 2,
            priority: 0,
            wanted: 8,
            free: 6,
            workers: 1024,
            since_ms: Date.now() - 60_000,
            why: 'there is room for 6 of its 8 ranks on the 1024 workers that run programs',
            program: 'prog_0000000000000007',
            name: 'finetune',
          },
          closures(44_100, {
            kind: 'gang',
            gang: 'allreduce',
            ready: 20,
            waiting: 20,
            wanted: 20,
            free: 2,
            examined: 20,
            workers: 1,
            workers_free: 1,
            slots: 2,
            functions: [{ name: 'train_step', waiting: 20 }],
            why: "the connected workers have no room for the 20 closures of gang 'allreduce' at the same time, even when idle.",
            reason: 'GANG_TOO_LARGE',
          }),
          closures(44_200, {
            needs: { labels: { zone: 'mars' }, resources: { gpu: 9 } },
            waiting: 12,
            wanted: 12,
            free: 0,
            examined: 12,
            workers: 0,
            workers_free: 0,
            slots: 0,
            functions: [{ name: 'train_step', waiting: 12 }],
            why: "of 1,024 workers with 'train_step', none has the label zone=mars.",
            reason: 'UNSATISFIABLE',
          }),
        ],
        entries: 4,
        closures: many + 32,
        closures_startable: many,
        programs: 1,
        blocked: 120,
        delayed: 3,
        sent_ahead: 16,
        complete: true,
      };
    }
    const [, index, more] = is(/^\/api\/v1\/clusters\/[^/]+\/tasks\/worker\/(\d+)(\/\w+)?$/) ?? [];
    if (index === undefined) return null;
    if (more === '/closures')
      return {
        running: [44_000, 44_008, 44_009].map((n) => ({ id: closureId(n), job: JOB, index: n, function: FUNCTIONS[n % 3], since_ms: Date.now() - 43_000 })),
        sent_ahead: [44_016, 44_024].map((n) => ({ id: closureId(n), job: JOB, index: n, function: FUNCTIONS[n % 3], since_ms: Date.now() - 3000 })),
        more: 0,
      };
    if (more === '/history') {
      const at = (f) => Array.from({ length: 60 }, (_, n) => Math.round(f(n)));
      return {
        step_ms: 60_000,
        t: at((n) => Date.now() - (60 - n) * 60_000),
        finished: at((n) => 200 + 60 * Math.sin(n / 5)),
        failed: at((n) => (n === 41 ? 30 : 0)),
        busy_ms: at((n) => 180_000 + 50_000 * Math.sin(n / 9)),
        slowness: Array.from({ length: 60 }, (_, n) => (n < 8 ? null : Number((n < 42 ? 1 + 0.1 * Math.sin(n) : 2.1).toFixed(2)))),
        slowness_now: 2.1,
        slow_since_ms: Date.now() - 18 * 60_000,
      };
    }
    return this.worker(Number(index));
  }
}
