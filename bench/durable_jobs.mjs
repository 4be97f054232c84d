#!/usr/bin/env node
// The cost of durable jobs, and the time of a start. Kills a real server with a data directory by
// SIGKILL, with two real workers, over REST.
//
//   bench/durable_jobs.mjs                        everything, with build/release/bin/muster
//   bench/durable_jobs.mjs --only throughput --closures 100000 --turns 5
//   bench/durable_jobs.mjs --only restart --queued 1000000 --keys 100000
//
// Prints one result per line. The directory is created below --scratch, which selects the disk.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '..');
const { values: options } = parseArgs({
  options: {
    binary: { type: 'string', default: process.env.MUSTER_BINARY ?? join(root, 'build/release/bin/muster') },
    only: { type: 'string', default: 'throughput,restart' },
    closures: { type: 'string', default: '100000' },
    turns: { type: 'string', default: '5' },
    queued: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '100000' },
    scratch: { type: 'string', default: tmpdir() },
  },
});
const BATCH = 100_000; // closures per request
const WRITERS = 64; // concurrent writes of keys
const scratch = mkdtempSync(join(options.scratch, 'muster-bench-'));
const children = new Set();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));
const say = (what, figure) => console.log(`${what.padEnd(52)} ${figure}   (load ${loadavg()[0].toFixed(1)})`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function start(...words) {
  const child = spawn(options.binary, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.told = '';
  child.stderr.on('data', (text) => (child.told += text));
  child.ended = new Promise((done) => child.on('exit', done));
  children.add(child);
  return child;
}

async function serve(directory) {
  const ready = join(scratch, `ready-${Math.random()}`);
  const begun = performance.now();
  const child = start('serve', '--data-dir', directory, '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0', '--ready-file', ready, '--queue-capacity', '2000000');
  for (;;) {
    try {
      const { grpc, http } = JSON.parse(readFileSync(ready, 'utf8'));
      return { child, grpc, url: `http://${http}`, took: performance.now() - begun };
    } catch {
      if (child.exitCode !== null) throw new Error(child.told);
      await sleep(2);
    }
  }
}

async function ask(server, method, path, body) {
  const answer = await fetch(server.url + path, { method, body, headers: body ? { 'content-type': 'application/json' } : {} });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.status === 204 ? undefined : answer.json();
}

const noops = (count) => Array.from({ length: count }, () => []);

async function job(server, count, fields) {
  let job;
  for (let left = count; left > 0; left -= BATCH) {
    const body = { map: { function: 'muster.noop', args: noops(Math.min(left, BATCH)) }, ...fields };
    job = await ask(server, 'POST', '/api/v1/jobs', JSON.stringify(body));
  }
  return job;
}

async function throughput() {
  const server = await serve(join(scratch, 'throughput'));
  for (const index of ['0', '1']) start('worker', '--server', server.grpc, '--index', index, '--slots', '1', '--credits', '256');
  while ((await ask(server, 'GET', '/api/v1/overview')).tasks.connected !== 2) await sleep(20);
  const count = Number(options.closures);
  const run = async (durable) => {
    const begun = performance.now();
    const { id } = await job(server, count, { durable });
    const end = await ask(server, 'GET', `/api/v1/jobs/${id}/join?timeout=120s`);
    const rate = (1000 * count) / (performance.now() - begun);
    if (end.state !== 'SUCCEEDED') throw new Error(JSON.stringify(end));
    await ask(server, 'DELETE', `/api/v1/jobs/${id}`);
    return rate;
  };
  await run(true);
  const ratios = [], rates = [];
  for (let turn = 0; turn < Number(options.turns); ++turn) {
    const without = await run(false);
    const kept = await run(true);
    ratios.push(kept / without), rates.push(kept);
  }
  const middle = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
  say(`jobs of ${count} no-ops over REST, ${options.turns} turns`, `${Math.round(middle(rates))} closures/s durable, ${middle(ratios).toFixed(2)} of not durable`);
  server.child.kill('SIGKILL');
  await server.child.ended;
}

async function restart() {
  const directory = join(scratch, 'restart');
  const server = await serve(directory);
  const begun = performance.now();
  await job(server, Number(options.queued), {});
  say(`${options.queued} queued, accepted`, `${((performance.now() - begun) / 1000).toFixed(1)} s`);
  let next = 0;
  const writer = async () => {
    while (next < Number(options.keys)) await ask(server, 'PUT', `/api/v1/clusters/default/kv/k%2F${next++}`, '1');
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  const { durable } = await ask(server, 'GET', '/api/v1/overview');
  server.child.kill('SIGKILL');
  await server.child.ended;
  const again = await serve(directory);
  const now = await ask(again, 'GET', '/api/v1/overview');
  if (now.closures.queued !== Number(options.queued)) throw new Error(JSON.stringify(now.closures));
  const took = /took_ms=(\d+)/.exec(again.child.told)?.[1];
  say(`start with them and ${options.keys} keys`, `serving after ${(again.took / 1000).toFixed(2)} s, of which reading ${took} ms; ${(durable.disk_bytes / 1e6).toFixed(0)} MB on the disk`);
  again.child.kill('SIGKILL');
  await again.child.ended;
}

const wanted = options.only.split(',');
if (wanted.includes('throughput')) await throughput();
if (wanted.includes('restart')) await restart();
process.exit(0);
