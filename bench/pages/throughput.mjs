// The server's cost of open pages: closures per second without and with pages, alternating.
//
// A page here is a WebSocket that subscribes, acknowledges and discards messages like the overview,
// without drawing. Fifty real tabs on the same host would measure Chromium.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { Cluster } from '../../tests/browser/cluster.mjs';

const WebSocket = createRequire(join(process.env.MUSTER_DASHBOARD, 'package.json'))('ws');
// The topics of '/' in web/dashboard/src/shared/model/pages.ts.
const TOPICS = ['counters', 'clusters', 'tasks', 'agents', 'jobs', 'attention'];
const TICKS = 100; // of CPU time, per second
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

function openPage(http) {
  const socket = new WebSocket(`ws://${http}/api/v1/ws`, 'muster.v1');
  const page = { bytes: 0, close: () => (clearInterval(acks), socket.close()) };
  socket.on('open', () => TOPICS.forEach((topic) => socket.send(JSON.stringify({ t: 'sub', topic }))));
  socket.on('message', (text) => (page.bytes += text.length));
  socket.on('error', (error) => {
    throw error;
  });
  const acks = setInterval(() => socket.readyState === 1 && socket.send('{"t":"ack"}'), 1000);
  return page;
}

const cpuSeconds = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
};

export async function throughput({ pages, turns }, say) {
  const server = new Cluster();
  process.on('exit', () => server.end());
  // Pages of the previous round may still be closing.
  await server.serve('--log-level', 'warn', '--websocket-clients-max', `${2 * pages}`);
  // With --server the bench starts no workers.
  for (const index of [0, 1]) server.worker(index, '--slots', '1', '--credits', '256');
  while ((await server.get('/api/v1/overview')).tasks.connected < 2) await sleep(50);
  const finished = async () => (await server.get('/api/v1/overview')).closures.succeeded;
  const closures = async () => {
    const [cpu, done] = [cpuSeconds(server.server.pid), await finished()];
    const { stdout } = await promisify(execFile)(process.env.MUSTER_BINARY, ['bench', 'closures', '--server', server.grpc, '--workers', '2', '--credits', '256', '--seconds', '3', '--output', 'json']);
    const rate = JSON.parse(stdout)[0].closures_per_second;
    if (!(rate > 0)) throw new Error('no closure came back: is there a worker?');
    return { rate, cpu: 1e6 * (cpuSeconds(server.server.pid) - cpu) / ((await finished()) - done) };
  };
  await closures(); // windows open, buffers grow
  const ratios = { rate: [], cpu: [] };
  for (let turn = 0; turn < turns; ++turn) {
    const order = turn % 2 ? ['with', 'without'] : ['without', 'with'];
    const now = {};
    let received;
    for (const which of order) {
      const open = which === 'with' ? Array.from({ length: pages }, () => openPage(server.http)) : [];
      await sleep(1500);
      const [bytes, began] = [open.reduce((sum, page) => sum + page.bytes, 0), Date.now()];
      now[which] = await closures();
      if (open.length) received = (open.reduce((sum, page) => sum + page.bytes, 0) - bytes) / pages / (Date.now() - began);
      open.forEach((page) => page.close());
    }
    for (const what of ['rate', 'cpu']) ratios[what].push(now.with[what] / now.without[what]);
    const both = (what, digits) => `${now.without[what].toFixed(digits)}, ${now.with[what].toFixed(digits)}: ${ratios[what].at(-1).toFixed(2)}`;
    say(`turn ${turn + 1}: closures/s, no page, ${pages} pages`, `${both('rate', 0)}; us of the server each ${both('cpu', 2)} (${received.toFixed(1)} KB/s a page)`);
  }
  say(`with ${pages} pages of without, median of ${turns}`, `closures/s ${median(ratios.rate).toFixed(2)}, CPU of the server a closure ${median(ratios.cpu).toFixed(2)}`);

  const cpu = async () => {
    const before = cpuSeconds(server.server.pid);
    await sleep(10_000);
    return 10 * (cpuSeconds(server.server.pid) - before);
  };
  const alone = await cpu();
  const open = Array.from({ length: pages }, () => openPage(server.http));
  await sleep(1500);
  say(`CPU of the idle server, no page, ${pages} pages`, `${alone.toFixed(1)}, ${(await cpu()).toFixed(1)} % of a core`);
  open.forEach((page) => page.close());
  server.end();
}
