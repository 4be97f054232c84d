// A real server with a load that shows every page: jobs, a session of Python, programs, barriers, keys and values.
//
//   MUSTER_BINARY=… [MUSTER_PYTHON=PYTHON_WITH_MUSTER] node dev/scene.mjs     prints the address, and runs until Ctrl-C

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

process.env.MUSTER_DASHBOARD ??= fileURLToPath(new URL('..', import.meta.url));
process.env.MUSTER_PAGE ??= join(process.env.MUSTER_DASHBOARD, 'dist');
const tests = new URL('../../../tests/browser/', import.meta.url);
const { Cluster } = await import(new URL('cluster.mjs', tests));
const { Agent } = await import(new URL('agent.mjs', tests));

const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const DAY = 86_400_000;

const SESSION = `
import sys, time
import muster

def load(part):
    time.sleep(0.02)
    return b"x" * (1 << 20) if part % 8 == 0 else {"part": part, "rows": 4096, "columns": ["price", "volume"]}

def clean(price, divisor):
    ratio = price / divisor
    return round(ratio, 3)

class Counter:
    def __init__(self, start):
        self.n = start

    def add(self, k):
        self.n += k
        return self.n

with muster.ClusterCoordinator(sys.argv[1]) as c:
    parts = [c.submit(load, n) for n in range(64)]
    bad = c.submit(clean, 41, divisor=0)
    counter = c.create(Counter, (5,), task="ps:0", name="weights", detached=True)
    for n in range(20):
        counter.add(n)
    tokenizer = c.create_per_worker_value(lambda: {"model": "loaded"})
    c.fetch(parts)
    print("holds its values", flush=True)
    time.sleep(7200)
`;

// Prints a step every 200 ms. The rank STOPS sleeps after step 12, and the other ranks after step 14; the rank FAILS ends with an error.
const TRAIN = `n=0
while [ $n -lt \${LAST:-100000} ]; do
  n=$((n+1)); echo "step $n loss 2.$((1000-n%900)) tokens/s 12400"; sleep 0.2
  if [ -n "$STOPS" ]; then
    if [ "$RANK" = "$STOPS" ] && [ $n = 12 ] || [ $n = 14 ]; then exec sleep 7200; fi
  fi
  if [ "$RANK" = "$FAILS" ] && [ $n = 12 ]; then
    printf 'Traceback (most recent call last):\n  File "train.py", line 41, in step\nRuntimeError: CUDA out of memory\n' >&2
    exit 1
  fi
done`;

// Rank 1 stops while it loads a batch, so the other ranks wait for it.
const STUCK = `import os, threading, time
import muster

def load_batch(path):
    threading.Event().wait()

def all_reduce(gradients):
    threading.Event().wait()

rank = int(os.environ["RANK"])
for step in range(1, 100):
    muster.step(step)
    print(f"step {step} loss {2.4 - step / 50:.3f} tokens/s 12400", flush=True)
    time.sleep(0.2)
    if step == 12 and rank == 1:
        load_batch("part-0017")
    if step == 13:
        all_reduce([])
`;

/** Starts the server and its load. Returns the cluster, the ids of what runs in it, and how to end it. */
export async function startScene({ empty = false } = {}) {
  const cluster = new Cluster();
  const agents = [];
  const children = [];
  let beats;
  const end = () => {
    clearInterval(beats);
    for (const agent of agents) agent.end();
    for (const child of children) child.kill('SIGKILL');
    cluster.end();
  };
  await cluster.serve('--data-dir', join(cluster.folder, 'data'));
  if (empty) return { cluster, ids: {}, end };

  const host = (n) => `rack07-node0${n}`;
  for (const index of [0, 1, 2]) cluster.worker(index, '--slots', '4', '--allow-programs', '--host', host(index >> 1), '--label', 'zone=a');
  cluster.worker(3, '--slots', '2', '--host', host(1));
  if (process.env.MUSTER_PYTHON) {
    const start = (...words) => children.push(spawn(process.env.MUSTER_PYTHON, words, { stdio: ['ignore', 'ignore', 'inherit'] }));
    start('-m', 'muster', 'worker', '--server', cluster.grpc, '--processes', '2', '--index', '8');
    start('-m', 'muster', 'worker', '--server', cluster.grpc, '--threads', '2', '--role', 'ps', '--index', '0');
    const session = join(cluster.folder, 'prepare_data.py');
    writeFileSync(session, SESSION);
    await wait(4000);
    start(session, cluster.grpc);
  }

  // A cluster with 6 agents. worker:5 is late at every step, and one barrier waits for worker:3.
  const { address } = await cluster.declare('training', { worker: 6 }, { stuck_after: '5s' });
  for (let task = 0; task < 6; ++task) agents.push(new Agent(address, task));
  await Promise.all(agents.map((agent) => agent.register()));
  beats = setInterval(() => Promise.allSettled(agents.map((agent) => agent.heartbeat())), 1000);
  for (let step = 0; step < 6; ++step) {
    const first = agents.slice(0, 5).map((agent) => agent.barrier(`step/${step}`, 60_000));
    await cluster.arrived('training', `step/${step}`, 5);
    await wait(60 + 60 * step);
    await Promise.all([...first, agents[5].barrier(`step/${step}`, 60_000)]);
  }
  for (const task of [0, 1, 2, 4, 5]) {
    agents[task].barrier('checkpoint/7', DAY).catch(() => {}); // waits until the server ends
    await wait(150);
  }
  for (const [key, value] of Object.entries({
    'config/mesh': '{"axes":["data","model"],"shape":[8,4]}',
    'config/seed': '17',
    'address/0': '10.0.0.4:41000',
    'address/1': '10.0.0.5:41000',
    epoch: '12',
  }))
    await cluster.put('training', key, value);

  const ids = {};
  const call = (name, ...args) => ({ function: name, args });
  const ended = (id) => cluster.get(`/api/v1/jobs/${id}/join?timeout=60s`);
  const nightly = (slow, last) =>
    cluster.submitAll('etl-nightly', [...Array.from({ length: 60 }, (_, n) => call('muster.sleep', n % 13 === 5 ? slow : 40 + ((n * 37) % 60))), last], {
      on_error: 'continue',
      metadata: { commit: slow > 500 ? 'b52e01' : 'a17c40', team: 'data' },
    });
  ids.before = await nightly(90, call('muster.echo', { rows: 4096, table: 'prices' }));
  await ended(ids.before);
  ids.failed = await nightly(900, call('muster.fail', 'KeyError: no such column: price\n  File "/srv/etl/clean.py", line 40, in select'));
  await ended(ids.failed);
  ids.gang = await cluster.submitAll(
    'allreduce',
    Array.from({ length: 20 }, () => ({ function: 'muster.noop', options: { gang: 'ring' } })),
  );
  ids.labelled = await cluster.submitAll('render', [{ function: 'muster.noop', options: { resources: { gpu: 4 } } }]);
  const script = join(cluster.folder, 'train.sh');
  writeFileSync(script, TRAIN);
  const train = (name, more = {}, env = {}) => cluster.program({ name, command: ['sh', script], tasks: { worker: 2 }, step_pattern: 'step (\\d+)', hang_after: '5s', grace: '1s', env, ...more });
  ids.good = await train('finetune', {}, { LAST: '30' });
  await wait(8000);
  ids.broken = await train('finetune', { tasks: { worker: 4 } }, { FAILS: '3' });
  await wait(6000);
  const stuck = join(cluster.folder, 'pretrain.py');
  writeFileSync(stuck, STUCK);
  const python = process.env.MUSTER_PYTHON;
  ids.hangs = await train('pretrain', { tasks: { worker: 4 }, ...(python && { command: [python, stuck], step_pattern: undefined }) }, python ? {} : { STOPS: '1' });
  ids.runs = await train('train-8b');
  ids.waits = await cluster.program({ name: 'train-70b', command: ['true'], tasks: { worker: { min: 8, max: 8, resources: { gpu: 8 } } } });
  ids.runsJob = await cluster.submitAll(
    'train-steps',
    Array.from({ length: 4000 }, (_, n) => call('muster.sleep', 60 + ((n * 7919) % 400))),
    { on_error: 'continue', metadata: { team: 'ml' } },
  );
  await wait(12_000);
  return { cluster, ids, end };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { cluster, ids, end } = await startScene({ empty: process.argv.includes('--empty') });
  console.log(JSON.stringify({ url: cluster.url, ...ids }));
  process.on('SIGINT', () => {
    end();
    process.exit(0);
  });
  process.on('SIGTERM', () => {
    end();
    process.exit(0);
  });
}
