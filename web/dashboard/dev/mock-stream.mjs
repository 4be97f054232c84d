// Invented answers for activity charts: bars, minutes, samples, the graph of a job, stragglers. `bars` is the number of bars in
// the last ten minutes; perf.mjs uses 50,000.

const FUNCTIONS = ['train_step', 'load_shard', 'push_gradients', 'eval_step', 'checkpoint', 'report'];

export class MockStream {
  constructor({ scenario, bars = 6000, lanes = 24 }) {
    this.empty = scenario === 'empty';
    this.lanes = this.empty ? 0 : lanes;
    this.start = Date.now();
    this.seed = 11;
    this.bars = [];
    this.busyUntil = Array.from({ length: this.lanes }, () => this.start - 600_000);
    this.scale = (600_000 * lanes) / bars;
    if (!this.empty) this.grow(this.start);
  }

  rand() {
    this.seed = (Math.imul(this.seed, 1_664_525) + 1_013_904_223) >>> 0;
    return this.seed / 2 ** 32;
  }

  grow(now) {
    const fresh = [];
    for (let lane = 0; lane < this.lanes; ++lane)
      while (this.busyUntil[lane] < now) {
        const of = Math.floor(this.rand() ** 2 * FUNCTIONS.length);
        const start = this.busyUntil[lane] + this.rand() * this.scale * 0.3;
        const took = this.scale * (0.25 + this.rand() * 0.9) * (lane === 7 ? 2.5 : 1);
        const luck = this.rand();
        const state = luck < 0.01 ? 1 : luck < 0.013 ? 2 : luck < 0.016 ? 3 : 0;
        this.busyUntil[lane] = start + took;
        const count = of === 5 ? 40 : 1;
        fresh.push({ lane, start, end: start + took, of, state, count, closure: count > 1 ? '' : `cl_${String(this.bars.length + fresh.length).padStart(16, '0')}` });
      }
    fresh.sort((a, b) => a.end - b.end);
    this.bars.push(...fresh);
  }

  stream(query) {
    const now = Date.now();
    if (!this.empty) this.grow(now);
    const since = this.start - 600_000;
    const from = Number(query.get('from_ms') ?? 0);
    const to = Number(query.get('to_ms') ?? Infinity);
    const limit = Number(query.get('limit') ?? 1000);
    const tasks = query.get('tasks')?.split(',');
    const mine = (lane) => !tasks || tasks.includes(`worker:${lane}`);
    let next = Number(query.get('after') ?? 0);
    const sent = [];
    for (; next < this.bars.length && sent.length < limit; ++next) {
      const bar = this.bars[next];
      if (bar.end <= now && bar.end >= from && bar.start <= to && mine(bar.lane)) sent.push(bar);
      if (bar.end > now) break;
    }
    const running = this.bars.filter((bar) => bar.end > now && bar.start <= now && mine(bar.lane));
    const us = (ms) => Math.round((ms - from) * 1000);
    const minutes = { lane: [], start_ms: [], count: [], failed: [], busy_ms: [], function: [] };
    for (let at = Math.floor(from / 60_000) * 60_000; at < since; at += 60_000)
      for (let lane = 0; lane < this.lanes && at > since - 3_000_000; ++lane) {
        if (!mine(lane)) continue;
        for (const [key, value] of Object.entries({
          lane,
          start_ms: at,
          count: 40 + lane,
          failed: (at / 60_000 + lane) % 17 === 0 ? 1 : 0,
          busy_ms: 20_000 + ((at / 60_000 + lane * 7) % 40) * 1000,
          function: lane % 3,
        }))
          minutes[key].push(value);
      }
    return {
      now_ms: now,
      base_ms: from,
      since_ms: this.empty ? 0 : since,
      next,
      more: next < this.bars.length && this.bars[next].end <= now,
      lanes: Array.from({ length: this.lanes }, (_, lane) => ({ lane, task: `worker:${lane}`, cluster: '' })).filter(({ lane }) => mine(lane)),
      functions: FUNCTIONS,
      jobs: ['', 'job_0000000000000001'],
      bars: {
        lane: sent.map((b) => b.lane),
        start_us: sent.map((b) => us(b.start)),
        duration_us: sent.map((b) => Math.round((b.end - b.start) * 1000)),
        function: sent.map((b) => b.of),
        state: sent.map((b) => b.state),
        count: sent.map((b) => b.count),
        closure: sent.map((b) => b.closure),
        job: sent.map((b) => (b.count > 1 ? 0 : 1)),
      },
      running: { lane: running.map((b) => b.lane), start_us: running.map((b) => us(b.start)), function: running.map((b) => b.of), closure: running.map((b) => b.closure), job: running.map(() => 1) },
      ...(from < since && { minutes }),
    };
  }

  samples(query) {
    const [step, n] = { '5m': [1000, 300], '1h': [10_000, 360], '24h': [60_000, 1440] }[query.get('span') ?? '5m'];
    const end = Math.floor(Date.now() / step) * step;
    const t = this.empty ? [] : Array.from({ length: n }, (_, k) => end - (n - 1 - k) * step);
    const wave = (base, swing, period) => t.map((at) => Math.round(base + swing * Math.sin(at / period) + (at % 977) / 40));
    return {
      step_ms: step,
      t,
      queued: wave(12_000, 4000, step * 31),
      running: wave(37_000, 900, step * 17),
      finished: wave(47_000, 5000, step * 23),
      failed: t.map(() => 1),
      hb_p99: wave(2300, 200, step * 9),
      wait_p50_ms: wave(180, 60, step * 31),
      wait_p99_ms: wave(900, 300, step * 31),
      run_p50_ms: wave(40, 4, step * 11),
      run_p99_ms: wave(300, 80, step * 19),
    };
  }

  graph(id) {
    if (id.endsWith('3')) {
      const counts = (total, succeeded, failed) => ({ total, succeeded, failed, blocked: 0, queued: 0, running: total - succeeded - failed, cancelled: 0 });
      return {
        grouped: true,
        groups: [
          ['load_shard', 524_300, 402_600, 3],
          ['train_step', 8_390_000, 8_130_000, 12],
          ['push_gradients', 8_390_000, 8_110_000, 0],
          ['eval_step', 41_000, 20_500, 1],
          ['checkpoint', 64, 31, 0],
        ].map(([name, ...n]) => ({ function: name, counts: counts(...n) })),
        edges: [
          [0, 1, 8_390_000],
          [1, 2, 8_390_000],
          [2, 3, 41_000],
          [2, 4, 64],
        ],
      };
    }
    const widths = id.endsWith('6') ? [400, 600, 600, 399, 1] : [12, 24, 24, 8, 3, 1];
    const nodes = { index: [], closure: [], function: [], state: [] };
    const edges = [];
    let before = 0;
    for (const [layer, width] of widths.entries()) {
      const first = nodes.index.length;
      for (let n = 0; n < width; ++n) {
        const me = first + n;
        nodes.index.push(me);
        nodes.closure.push(`cl_${String(me).padStart(16, '0')}`);
        nodes.function.push(layer);
        nodes.state.push(layer < 2 ? (n === 5 ? 4 : 3) : layer === 2 ? [2, 1, 0][n % 3] : 0);
        if (layer > 0) for (let k = 0; k < (width === 1 ? before : 2); ++k) edges.push([first - before + ((n + k * 3) % before), me]);
      }
      before = width;
    }
    return {
      grouped: false,
      nodes,
      functions: ['load_shard', 'tokenize', 'train_step', 'merge', 'eval_step', 'report'].slice(0, widths.length),
      states: ['BLOCKED', 'QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'],
      edges,
    };
  }

  stragglers() {
    if (this.empty) return { generation: 1, barriers: [], tasks: [], hosts: [] };
    const now = Date.now();
    const barriers = Array.from({ length: 64 }, (_, k) => {
      const bad = k % 3 !== 2;
      return {
        id: `step_${81_919 - k}`,
        counter: 0,
        ended_ms: now - 7000 - k * 9000,
        participants: 1000,
        last: bad ? `worker:${k % 2 ? 41 : 44}` : `worker:${(k * 37) % 900}`,
        host: bad ? '10.4.0.41' : `10.4.1.${k}`,
        late_ms: bad ? 1700 + k * 11 : 140 + k,
        spread_ms: 2100 + k * 7,
      };
    });
    const task = (n, host, last, mean) => ({ task: `worker:${n}`, host, last, barriers: 64, late_mean_ms: mean, late_max_ms: mean * 2.3 });
    return {
      generation: 1,
      barriers,
      tasks: [
        task(44, '10.4.0.41', 22, 1480),
        task(41, '10.4.0.41', 21, 1390),
        task(7, '10.4.1.3', 3, 120),
        task(100, '10.4.1.9', 2, 96),
        ...Array.from({ length: 16 }, (_, n) => task(200 + n, `10.4.1.${n}`, 1, 60 - n)),
      ],
      hosts: [
        { host: '10.4.0.41', tasks: 4, last: 43, late_mean_ms: 1435, late_max_ms: 3404 },
        { host: '10.4.1.3', tasks: 8, last: 3, late_mean_ms: 120, late_max_ms: 276 },
        { host: '10.4.1.9', tasks: 8, last: 2, late_mean_ms: 96, late_max_ms: 220 },
      ],
    };
  }

  // Returns the answer as JSON, or null for other paths.
  rest(url) {
    const { pathname, searchParams } = url;
    if (pathname === '/api/v1/stream') return this.stream(searchParams);
    if (pathname === '/api/v1/samples') return this.samples(searchParams);
    if (/^\/api\/v1\/clusters\/[^/]+\/stragglers$/.test(pathname)) return this.stragglers();
    const job = /^\/api\/v1\/jobs\/([^/]+)\/graph$/.exec(pathname)?.[1];
    return job ? this.graph(job) : null;
  }
}
