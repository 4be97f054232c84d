// A scripted cluster whose numbers are known: C++ and Python workers and clients, failures, retries, builders, blobs,
// programs, agents, an object, and a restart of the server. `MODEL` counts what the script did.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { Agent } from '../agent.mjs';

const root = join(import.meta.dirname, '../../..');
export const python = process.env.MUSTER_PYTHON || join(root, 'build/python/environment/bin/python');
export const hasPython = existsSync(python);

const BLOB = 1_500_000; // bytes
const LARGE = 3_000_000; // bytes of a value of client.py
export const MODEL = {
  sweep: { total: 40, succeeded: 33, failed: 7 },
  again: { total: 7, succeeded: 0, failed: 7 }, // the retry of `sweep`
  flaky: { total: 3, succeeded: 0, failed: 3, attempts: 9 },
  blobs: { total: 2, succeeded: 2, bytes: BLOB },
  stopped: { total: 4, cancelled: 4 },
  waits: { total: 5, queued: 5 },
  slow: { total: 2, running: 2 },
  // Two phases of 20 calls that succeed and 4 that fail, 3 calls with a built value, and one with a large value.
  session: { succeeded: 2 * 20 + 3 + 1, failed: 2 * 4, bytes: LARGE, objectCalls: 5 },
  builders: 2, // one for each Python worker
  programs: { good: 3, bad: 2, runs: 2 }, // ranks
  agents: 3,
  barriers: 3,
  keys: 4,
};

const fail = (message, options) => ({ function: 'muster.fail', args: [message], options });
const sleep = (time) => ({ function: 'muster.sleep', args: [time], options: { labels: { kept: 'yes' } } }); // on a worker that is not killed
const times = (n, of) => Array.from({ length: n }, (_, at) => of(at));
const pause = (ms) => new Promise((later) => setTimeout(later, ms));

export class Scene {
  ids = {};
  agents = [];
  children = [];

  constructor(cluster) {
    this.cluster = cluster;
  }

  async play() {
    const { cluster } = this;
    const flags = ['--data-dir', join(cluster.folder, 'data')];
    await cluster.serve(...flags);
    for (const index of [0, 1]) cluster.worker(index, '--slots', '2', '--host', 'box', '--label', 'kept=yes', '--allow-programs');
    cluster.worker(2, '--slots', '1', '--host', 'other');
    if (hasPython) for (const index of [3, 4]) this.#python(['-m', 'muster', 'worker', '--server', cluster.grpc, '--index', String(index), '--processes', '1']);
    await this.until(async () => (await cluster.get('/api/v1/overview')).tasks.connected === (hasPython ? 5 : 3));
    await this.#jobs();
    const client = hasPython ? this.#python([join(import.meta.dirname, 'client.py'), cluster.grpc]) : null;
    await client?.says('first');
    await this.#programs();
    await cluster.stopServer(); // a crash could lose what the history recorded in its last second
    await cluster.serve(...flags);
    await this.until(async () => (await cluster.get('/api/v1/overview')).tasks.connected === (hasPython ? 5 : 3));
    client?.go();
    await client?.says('second');
    await this.#later();
    await this.#agents();
    await cluster.killWorker(2);
    await this.until(async () => (await cluster.get('/api/v1/overview')).tasks.connected === (hasPython ? 4 : 2));
  }

  end() {
    for (const agent of this.agents) agent.end();
    for (const child of this.children) child.kill('SIGKILL');
    this.cluster.end();
  }

  async until(holds) {
    while (!(await holds())) await pause(50);
  }

  async ended(id) {
    await this.cluster.get(`/api/v1/jobs/${id}/join?timeout=60s`);
  }

  async #jobs() {
    const { cluster, ids } = this;
    ids.sweep = await cluster.submitAll('sweep', [...times(33, (n) => ({ function: 'muster.echo', args: [n] })), ...times(7, (n) => fail(`shard ${n} is missing`))], { on_error: 'continue' });
    ids.flaky = await cluster.submitAll('flaky', times(3, () => fail('no route', { max_retries: 2, retry_delay: '20ms' })), { on_error: 'continue' });
    const blob = await cluster.putBlob(Buffer.alloc(BLOB, 7));
    ids.blobs = await cluster.submitAll('blobs', [{ function: 'muster.echo', args: [{ $blob: blob, bytes: BLOB }] }, { function: 'muster.echo', args: ['x'.repeat(20_000)] }]);
    for (const id of [ids.sweep, ids.flaky, ids.blobs]) await this.ended(id);
  }

  async #programs() {
    const { cluster, ids } = this;
    const program = (name, script, count) => cluster.program({ name, command: ['sh', '-c', script], tasks: { worker: { count } }, grace: '1s', step_pattern: 'step (\\d+)' });
    ids.good = await program('good', 'for n in 1 2 3; do echo "step $n"; sleep 0.1; done', 3);
    ids.bad = await program('bad', '[ "$RANK" = 1 ] && exit 3; exec sleep 600', 2);
    for (const id of [ids.good, ids.bad]) await this.until(async () => (await cluster.get(`/api/v1/programs/${id}`)).finished_ms);
    ids.runs = await program('runs', 'n=0; while :; do n=$((n+1)); echo "step $n"; sleep 0.5; done', 2);
    await this.until(async () => (await cluster.get(`/api/v1/programs/${ids.runs}`)).alive === 2);
  }

  async #later() {
    const { cluster, ids } = this;
    const retry = await fetch(`${cluster.url}/api/v1/jobs/${ids.sweep}/retry`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
    ids.again = (await retry.json()).id;
    await this.ended(ids.again);
    const nowhere = (name, n) => cluster.submitAll(name, times(n, () => ({ function: 'muster.noop', options: { labels: { rack: 'none' } } })));
    ids.stopped = await nowhere('stopped', 4);
    await cluster.cancel(ids.stopped);
    await this.ended(ids.stopped);
    ids.waits = await nowhere('waits', 5);
    ids.slow = await cluster.submitAll('slow', times(2, () => sleep('600s')));
    await this.until(async () => (await cluster.get(`/api/v1/jobs/${ids.slow}`)).counts.running === 2);
  }

  async #agents() {
    const { cluster, agents } = this;
    const { address } = await cluster.declare('train', { worker: MODEL.agents });
    for (let task = 0; task < MODEL.agents; ++task) agents.push(new Agent(address, task));
    await Promise.all(agents.map((agent) => agent.register()));
    for (let step = 0; step < 2; ++step) {
      const first = [0, 1].map((task) => agents[task].barrier(`step/${step}`, 600_000));
      await cluster.arrived('train', `step/${step}`, 2);
      await Promise.all([...first, agents[2].barrier(`step/${step}`, 600_000)]);
    }
    for (const task of [0, 2]) agents[task].barrier('epoch/1', 600_000).catch(() => {}); // pending until the server ends
    await cluster.arrived('train', 'epoch/1', 2);
    for (let n = 0; n < MODEL.keys; ++n) await cluster.put('train', `config/${n}`, 'x'.repeat(100 * (n + 1)));
  }

  #python(words) {
    const env = { ...process.env, PYTHONPATH: join(root, 'python'), PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1' };
    const child = spawn(python, words, { stdio: ['pipe', 'pipe', 'inherit'], env });
    this.children.push(child);
    const lines = [];
    let news = () => {};
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      news();
    });
    return {
      go: () => child.stdin.write('\n'),
      says: (line) =>
        new Promise((done) => {
          news = () => lines.includes(line) && done();
          news();
        }),
    };
  }
}
