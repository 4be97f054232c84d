// Clusters for measurements of pages. Each has a `url` and an `end()`, which ends its processes.
import { spawn } from 'node:child_process';

import { Agent, openSession } from '../../tests/browser/agent.mjs';
import { Cluster } from '../../tests/browser/cluster.mjs';

// The value of `muster bench heartbeats`, which registers the tasks.
const FIRST_INCARNATION = 0x5eed_0000_0000n;
const STREAMS = 100; // calls that one connection may have open
const PAUSE_MS = 100; // between changes of rows: ten per second
const BATCH_MS = 250; // between batches of closures
const WAIT_MS = 3000; // longer than the page's threshold for "waiting"
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(true_at_last, seconds = 120) {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end; await sleep(200)) if (await true_at_last()) return;
  throw new Error(`not so after ${seconds} s: ${true_at_last}`);
}

/** Starts a server whose processes always end with this one. */
async function server(...flags) {
  const cluster = new Cluster();
  process.on('exit', () => cluster.end());
  await cluster.serve('--log-level', 'warn', ...flags);
  return cluster;
}

/** Runs `agents` tasks with a heartbeat every five seconds, `waiting` of them at one barrier. Ten rows times `speed` change per second. */
export async function crowd(agents, waiting, speed = 1) {
  const cluster = await server();
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2');
  // A long timeout, so that a busy host causes no failure.
  const { address } = await cluster.declare('train', { worker: agents }, { heartbeat_timeout: '600s' });
  const beats = spawn(process.env.MUSTER_BINARY, ['bench', 'heartbeats', '--server', address, '--agents', `${agents}`, '--seconds', '36000'], { stdio: ['ignore', 'ignore', 'inherit'] });
  process.on('exit', () => beats.kill());
  const row = async () => (await cluster.get('/api/v1/clusters')).clusters.find((c) => c.name === 'train');
  await until(async () => (await row()).generation?.agents?.connected === agents);
  const sessions = Array.from({ length: Math.ceil(agents / STREAMS) }, () => openSession(address));
  const all = Array.from({ length: agents }, (_, task) => new Agent(address, task, FIRST_INCARNATION + BigInt(task), sessions[Math.floor(task / STREAMS)]));
  await all[0].register(); // repeats the registration to get the service's incarnation
  for (const agent of all) agent.service = all[0].service;
  for (const agent of all.slice(0, waiting)) agent.barrier('epoch/7', 36_000_000).catch(() => {});
  await until(async () => (await arrived(cluster)) === waiting);
  const changes = setInterval(meetings(all.slice(waiting)), PAUSE_MS / speed);
  await sleep(WAIT_MS);
  return {
    url: cluster.url,
    cluster,
    /** Throws unless all tasks are still connected. */
    async check() {
      const { agents: of } = (await row()).generation;
      if (of.connected + of.late !== agents) throw new Error(`not all agents are connected: ${JSON.stringify(of)}`);
    },
    end() {
      clearInterval(changes);
      beats.kill();
      for (const session of sessions) session.destroy();
      cluster.end();
    },
  };
}

// Returns the arrivals at epoch/7, which exists only after the first arrival.
const arrived = (cluster) => cluster.get('/api/v1/clusters/train/barriers/epoch%2F7').then(
  (barrier) => barrier.arrived_count,
  () => 0,
);

/** Makes pairs of tasks meet at a barrier, where the second arrives after WAIT_MS. */
function meetings(agents) {
  let n = 0;
  return () => {
    const [first, second] = [agents[n % agents.length], agents[(n + 1) % agents.length]];
    const among = [first.task, second.task];
    const id = `pair/${n}`;
    n += 2;
    first.barrier(id, 60_000, among).catch(() => {});
    setTimeout(() => second.barrier(id, 60_000, among).catch(() => {}), WAIT_MS);
  };
}

/** Submits `rate` closures a second, as a job for each quarter of a second; `job` is one of them. */
export async function flooded(rate) {
  const cluster = await server();
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2', '--credits', '256');
  await until(async () => (await cluster.get('/api/v1/overview')).tasks.connected === 2);
  const batch = () => cluster.submit('muster.noop', [], Math.round((rate * BATCH_MS) / 1000), 'flood');
  const job = await batch();
  let due = Date.now();
  const timer = setInterval(() => {
    for (; due <= Date.now(); due += BATCH_MS) batch().catch((error) => console.error(error.message));
  }, 20);
  return {
    url: cluster.url,
    job,
    ended: async () => (await cluster.get('/api/v1/overview')).closures.succeeded,
    end() {
      clearInterval(timer);
      cluster.end();
    },
  };
}

/** Runs a job of `count` closures on two workers, one of which fails. */
export async function longJob(count) {
  const cluster = await server('--queue-capacity', `${count + 1}`);
  for (const index of [0, 1]) cluster.worker(index, '--slots', '2', '--credits', '256');
  const failed = Math.floor(count * 0.765);
  const closures = Array.from({ length: count }, (_, n) => (n === failed ? { function: 'muster.fail', args: ['no such column: price'] } : { function: 'muster.noop' }));
  const job = await cluster.submitAll('a million', closures, { on_error: 'continue' });
  await until(async () => ['FAILED', 'SUCCEEDED'].includes((await cluster.get(`/api/v1/jobs/${job}`)).state), 600);
  return { url: cluster.url, job, failed, count, end: () => cluster.end() };
}

/** Runs at least `count` closures of 10 ms on eight workers of four slots: one bar each. */
export async function bars(count) {
  const cluster = await server();
  for (let index = 0; index < 8; ++index) cluster.worker(index, '--slots', '4');
  await until(async () => (await cluster.get('/api/v1/overview')).tasks.connected === 8);
  const from = Date.now();
  const job = await cluster.submit('muster.sleep', [10], count, 'bars');
  await until(async () => (await cluster.get(`/api/v1/jobs/${job}`)).state === 'SUCCEEDED', 600);
  return { url: cluster.url, from, to: Date.now(), end: () => cluster.end() };
}
