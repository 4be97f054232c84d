// Invented clusters for the mock server: agents, barriers, keys and events, with names that are hard to display.

const LONG = 'a-rather-long-job-name-that-somebody-generated-from-a-branch-and-a-date-2026-11-21';

export class MockClusters {
  constructor({ scenario, agents = 1000 }) {
    this.start = Date.now();
    this.empty = scenario === 'empty';
    this.agents = this.empty ? 0 : agents;
  }

  rows(topic) {
    const now = Date.now();
    const t = (ago) => this.start - ago;
    switch (topic) {
      case 'clusters':
        return {
          default: this.cluster('default', { tasks: this.agents, state: this.empty ? 'WAITING' : 'RUNNING', started: this.empty ? 0 : t(3_900_000) }),
          ...(this.empty ? {} : { 'prod-east.llm-70b': this.failed(t) }),
        };
      case 'agents':
        return Object.fromEntries([...this.list(now, t)].map((a) => [`${a.cluster}/${a.job}:${a.index}`, a]));
      case 'barriers':
        return Object.fromEntries(this.barriers(now, t).map((b) => [`${b.cluster}/${b.id}`, b]));
      case 'attention':
        return Object.fromEntries(this.attention().map((a) => [`${a.rule} `, a]));
      case 'events':
        return Object.fromEntries(this.events(t).map((e) => [e.number, e]));
    }
  }

  cluster(name, more) {
    const n = this.agents;
    const agents = this.empty
      ? { missing: 0, registering: 0, connected: 0, late: 0, error: 0, disconnected: 0 }
      : { missing: 2, registering: 1, connected: n - 15, unheard: 6, late: 3, error: 8, disconnected: 1 };
    return {
      name,
      main: name === 'default',
      address: '127.0.0.1:8476',
      has_workers: name === 'default',
      generation: 1,
      agents,
      barriers: this.empty ? 0 : 3,
      keys: this.empty ? 0 : 48_214,
      key_waits: this.empty ? 0 : 1003,
      ...more,
    };
  }

  failed(t) {
    return this.cluster('prod-east.llm-70b', {
      address: '10.12.0.4:9001',
      tasks: 12,
      state: 'FAILED',
      generation: 3,
      started: t(760_000),
      agents: { missing: 0, registering: 0, connected: 0, late: 0, error: 12, disconnected: 0 },
      barriers: 0,
      cause: { task: '/job:trainer/task:7', message: 'CUDA error 700: an illegal memory access was encountered in step 81,920', at: t(43_000) },
    });
  }

  *list(now, t) {
    for (let n = 0; n < this.agents; ++n) {
      const row = {
        cluster: 'default',
        job: n < this.agents - 20 ? 'worker' : LONG,
        index: n < this.agents - 20 ? n : n - this.agents + 20,
        state: 'CONNECTED',
        incarnation: String(4_611_686_018_427n * 1000n + BigInt(n * 7919)),
        address: `10.4.${n >> 8}.${n & 255}:4711`,
        registered: now - ((n * 37) % 48_000),
        devices: 8,
        waits: n % 3 ? ['barrier step_81920'] : ['key RECEIVED_PREEMPTION_NOTICE'],
      };
      if (n === 41)
        Object.assign(row, {
          state: 'ERROR',
          code: 'UNAVAILABLE',
          error: 'Task /job:worker/task:41 heartbeat timeout. This indicates that the task has failed or was preempted.',
          casualty: false,
          waits: [],
          registered: t(140_000),
          seen: t(43_000),
        });
      else if (n > 41 && n < 49)
        Object.assign(row, { state: 'ERROR', code: 'INTERNAL', error: 'Barrier failed because: Task /job:worker/task:41 heartbeat timeout. Barrier Id: step_81919::0', casualty: true, waits: [] });
      else if (n > 50 && n < 57) Object.assign(row, { unheard: true, waits: [] });
      else if (n > 60 && n < 64) Object.assign(row, { state: 'LATE', late_for: 'step_81920', late_since: t(61_000), waits: [] });
      else if (n === 70 || n === 71) Object.assign(row, { state: 'MISSING', incarnation: '0', address: '', registered: 0, devices: 0, waits: [] });
      else if (n === 72) Object.assign(row, { state: 'REGISTERING' });
      else if (n === 73) Object.assign(row, { state: 'DISCONNECTED', waits: [] });
      yield row;
    }
    if (this.empty) return;
    for (let n = 0; n < 12; ++n)
      yield {
        cluster: 'prod-east.llm-70b',
        job: 'trainer',
        index: n,
        state: 'ERROR',
        incarnation: '7',
        address: `10.9.0.${n}:80`,
        registered: t(50_000),
        devices: 8,
        code: 'INTERNAL',
        error: n === 7 ? 'CUDA error 700' : 'another task failed',
        casualty: n !== 7,
        waits: [],
      };
  }

  attention() {
    if (this.empty) return [];
    const now = this.start;
    const lost = (this.lost ?? []).map((name) => ({
      rule: 'worker-lost',
      severity: 'error',
      title: `${name} is lost`,
      detail: 'connection closed by the worker',
      since_ms: now,
      count: 1,
      link: `/workers/${name}`,
    }));
    return [
      ...lost,
      {
        rule: 'unmeetable',
        severity: 'error',
        title: '40 closures of train_step want a label that no worker has',
        detail: 'gpu=h200: no connected worker has it',
        since_ms: now - 1_140_000,
        count: 40,
        link: '/gangs',
        command: 'muster worker --server HOST:8476 --label gpu=h200',
      },
      {
        rule: 'job-failed',
        severity: 'error',
        title: 'Job tokenize nightly failed',
        detail: 'tokenize: UnicodeDecodeError: byte 0xff at 10418',
        since_ms: now - 640_000,
        count: 1,
        link: '/jobs/job_0000000000000007?state=FAILED',
        command: 'muster retry job_0000000000000007',
      },
      {
        rule: 'barrier-stuck',
        severity: 'warning',
        title: '5 tasks missing at barrier step_81920',
        detail: 'worker:60, worker:61 and 3 more; 995 of 1000 tasks are waiting in cluster default',
        since_ms: now - 61_000,
        count: 5,
        link: '/barriers?cluster=default',
      },
    ];
  }

  barriers(now, t) {
    if (this.empty) return [];
    const base = { cluster: 'default', counter: 0, state: 'RUNNING', of: this.agents, ended: 0, first: '/job:worker/task:3', error: '', missing: [] };
    const missing = (from, n) =>
      Array.from({ length: n }, (_, k) => ({ task: `/job:worker/task:${from + k}`, address: k % 4 ? `10.4.0.${from + k}:4711` : '', seen: k % 4 ? now - 1300 - k * 900 : 0 }));
    const done = (k) => ({
      ...base,
      id: `step_${81_919 - k}`,
      state: k === 1 ? 'FAILED' : 'PASSED',
      arrived: k === 1 ? 999 : this.agents,
      started: t(100_000 + k * 9000),
      ended: t(93_000 + k * 9000),
      deadline: 0,
      error: k === 1 ? 'Barrier timed out. Id: step_81918::0. This usually happens because a task triggered the barrier too early or too slowly.' : '',
    });
    return [
      { ...base, id: 'step_81920', arrived: this.agents - 5, started: t(61_000), deadline: this.start + 59_000, missing: missing(60, 5) },
      { ...base, id: 'reader/epoch_12', counter: 4, of: 256, arrived: 7, started: t(11_000), deadline: this.start + 300_000, missing: missing(100, 50) },
      { ...base, id: `checkpoint/${LONG}/${LONG}`, of: 16, arrived: 15, started: t(108_000), deadline: this.start + 12_000, missing: missing(9, 1) },
      ...Array.from({ length: 40 }, (_, k) => done(k)),
    ];
  }

  events(t) {
    if (this.empty) return [];
    const kinds = [
      ['ERROR', 'task_error', '/job:worker/task:41', 'heartbeat timeout after 100 s: the task has crashed, hangs, or its machine is gone'],
      ['WARNING', 'barrier_failed', 'step_81918', 'Barrier timed out. Id: step_81918::0. 999 of 1000 tasks have arrived; missing /job:worker/task:41'],
      ['INFO', 'task_registered', '/job:worker/task:5', 'from 10.4.0.5:4711'],
      ['INFO', 'worker_attached', 'worker:3', 'attached'],
      ['WARNING', 'worker_lost', `${LONG}:17`, 'connection closed by the worker'],
    ];
    return Array.from({ length: 300 }, (_, k) => {
      const [severity, kind, subject, text] = kinds[(k * 7) % (k % 11 ? 4 : 5)];
      return { number: 900 + k, time_ms: t((300 - k) * 4000), severity, kind, cluster: kind.startsWith('worker') ? '' : 'default', subject, text };
    });
  }

  barrier(id) {
    const b = this.barriers(Date.now(), (ago) => this.start - ago).find((one) => one.id === id && one.state === 'RUNNING');
    if (!b) return null;
    const named = new Set(b.missing.map((m) => m.task));
    const all = Array.from({ length: b.of }, (_, n) => `/job:worker/task:${n}`).filter((task) => !named.has(task));
    const missing = [...b.missing.map(({ task }) => ({ task })), ...all.slice(b.arrived).map((task) => ({ task }))];
    return {
      id,
      counter: b.counter,
      state: b.state,
      participants: b.of,
      started_ms: b.started,
      arrivals: all.slice(0, b.arrived).map((task, n) => ({ task, came_ms: b.started + ((n * 37) % 900) })),
      missing,
    };
  }

  // Returns the REST answers for key-values and barriers; null for other paths.
  rest(url) {
    const id = /^\/api\/v1\/clusters\/[^/]+\/barriers\/([^/]+)$/.exec(url.pathname)?.[1];
    if (id) return this.barrier(decodeURIComponent(id));
    const [, cluster, what, rest] = /^\/api\/v1\/clusters\/([^/]+)\/(kv_waits|kv)(?:\/(.*))?$/.exec(url.pathname) ?? [];
    if (!cluster) return null;
    if (what === 'kv_waits') return this.waits();
    if (rest !== undefined) return { raw: decodeURIComponent(rest) === 'config/mesh' ? '{"axes":["data","model"],"shape":[256,8],"devices":2048}' : 'a plain value' };
    if (this.empty) return { folders: [], keys: [] };
    const prefix = url.searchParams.get('prefix');
    const key = (name, size) => ({ key: prefix + name, size, changed_ms: this.start - size * 13 });
    if (prefix === '')
      return { folders: ['autotune_results/', 'config/', 'cpu:local_topology/', 'tensorstore_checkpoint/'], keys: [key('jax/process_id', 4), key('RECEIVED_NOTHING', 0), key(LONG, 1_048_576)] };
    return { folders: [`${prefix}deeper/`], keys: [key('mesh', 54), ...Array.from({ length: 40 }, (_, n) => key(`shard-${String(n).padStart(5, '0')}`, 128 + n * 37))] };
  }

  waits() {
    if (this.empty) return { keys: [], tasks: [], more: false };
    const waiter = (n) => ({ task: `/job:worker/task:${n}`, since_ms: this.start, waiting_ms: 61_000 + n });
    const all = Array.from({ length: 100 }, (_, n) => waiter(n));
    const keys = [
      { key: 'RECEIVED_PREEMPTION_NOTICE', count: 1000, waiters: all },
      { key: `cpu:local_topology/${LONG}/41`, count: 3, waiters: all.slice(0, 3) },
    ];
    const tasks = all.map((w, n) => ({ task: w.task, keys: keys.slice(0, n < 3 ? 2 : 1).map((k) => k.key) }));
    return { keys, tasks, more: false };
  }
}
