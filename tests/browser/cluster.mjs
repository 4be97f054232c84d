// Real `muster` processes for the browser tests: a server that can restart on its ports, and
// workers that can be killed.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const binary = process.env.MUSTER_BINARY;

// Binds two ports without listening, and prints them. A server can listen on them, and the system gives them to no
// other program while the server restarts. Node.js cannot bind without listening.
const RESERVE = `
import socket, sys
ports = [socket.socket() for _ in range(2)]
for port in ports:
    port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port.bind(("127.0.0.1", 0))
print(*(port.getsockname()[1] for port in ports), flush=True)
sys.stdin.read()
`;

export class Cluster {
  folder = mkdtempSync(join(tmpdir(), 'muster-browser-'));
  grpc;
  http;
  token = ''; // of requests; with `--auth on`, the admin's token after `serve`
  workers = new Map();
  server;
  #ports; // the process that holds them

  get url() {
    return `http://${this.http}`;
  }

  async serve(...flags) {
    if (!this.#ports) await this.#reservePorts();
    const ready = join(this.folder, 'ready.json');
    rmSync(ready, { force: true });
    const log = join(this.folder, 'serve.log');
    this.server = this.#run(['serve', '--grpc', this.grpc, '--http', this.http, '--ready-file', ready, ...this.#page(), ...flags], openSync(log, 'a'));
    const ended = once(this.server, 'exit').then(([code]) => {
      throw new Error(`muster serve ended with ${code} before it was ready: ${readFileSync(log, 'utf8')}`);
    });
    const watching = new AbortController();
    await Promise.race([fileAppears(this.folder, ready, watching.signal), ended]).finally(() => watching.abort());
    ended.catch(() => {}); // its later end is expected
    ({ grpc: this.grpc, http: this.http } = JSON.parse(readFileSync(ready, 'utf8')));
    if (flags.includes('--auth')) this.token = readFileSync(this.adminFile, 'utf8').trim();
  }

  async #reservePorts() {
    this.#ports = spawn('python3', ['-c', RESERVE], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = await once(createInterface({ input: this.#ports.stdout }), 'line');
    [this.grpc, this.http] = line.split(' ').map((port) => `127.0.0.1:${port}`);
    for (const handle of [this.#ports, this.#ports.stdin, this.#ports.stdout]) handle.unref(); // it ends with this process
  }

  get data() {
    return join(this.folder, 'data');
  }

  /** The file with the admin's token, if the server has `--data-dir` of `data`. */
  get adminFile() {
    return join(this.data, 'admin.token');
  }

  /** Creates a token. */
  createToken(...flags) {
    const made = spawnSync(binary, ['token', 'create', ...flags, '--url', this.url, '--token-file', this.adminFile], { encoding: 'utf8' });
    if (made.status !== 0) throw new Error(made.stderr);
    return made.stdout.trim();
  }

  /** Returns the cookies of a browser that has signed in with this token. */
  async signedIn(token = this.token) {
    const response = await this.#request('POST', '/api/v1/session', JSON.stringify({ token }), 'application/json');
    const [name, value] = response.headers.get('set-cookie').split(';')[0].split('=');
    return { cookies: [{ name, value, domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Strict' }], origins: [] };
  }

  /** With MUSTER_PAGE, the server serves the dashboard of this folder instead of its own. */
  #page() {
    return process.env.MUSTER_PAGE ? ['--dashboard-dir', process.env.MUSTER_PAGE] : [];
  }

  async stopServer() {
    const ended = once(this.server, 'exit');
    this.server.kill('SIGTERM');
    const [code] = await ended;
    return code;
  }

  /** Kills the server. `serve` then starts another on its ports. */
  async killServer() {
    const ended = once(this.server, 'exit');
    this.server.kill('SIGKILL');
    await ended;
  }

  /** Kills the server of a supervisor (`--supervise`), which restarts it. */
  killSupervised() {
    const parent = this.server.pid;
    const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(' ');
    process.kill(Number(children[0]), 'SIGKILL');
  }

  worker(index, ...flags) {
    const token = this.token ? ['--token-file', this.adminFile] : [];
    const child = this.#run(['worker', '--server', this.grpc, '--index', String(index), ...token, ...flags]);
    this.workers.set(index, child);
  }

  async killWorker(index) {
    const child = this.workers.get(index);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Submits a job of `count` closures; resolves with its id. */
  async submit(fn, args, count, name) {
    const body = { name, map: { function: fn, args: Array.from({ length: count }, () => args) } };
    return (await this.#send('POST', '/api/v1/jobs', JSON.stringify(body), 'application/json')).id;
  }

  /** Adds `count` closures to an open job. */
  async append(id, fn, args, count) {
    const closures = Array.from({ length: count }, () => ({ function: fn, args }));
    return this.#send('POST', `/api/v1/jobs/${id}/closures`, JSON.stringify(closures), 'application/json');
  }

  /** Closes an open job: it ends with its last closure. */
  async seal(id) {
    return this.#send('POST', `/api/v1/jobs/${id}/seal`, undefined, 'application/json');
  }

  /** Submits these closures as a job; resolves with its id. */
  async submitAll(name, closures, more = {}, token = this.token) {
    const answer = await this.#send('POST', '/api/v1/jobs', JSON.stringify({ name, closures, ...more }), 'application/json', token);
    return answer.id;
  }

  /** Submits a program; resolves with its id. */
  async program(body) {
    return (await this.#send('POST', '/api/v1/programs', JSON.stringify(body), 'application/json')).id;
  }

  async get(path) {
    return this.#send('GET', path);
  }

  async cancel(id) {
    return this.#send('POST', `/api/v1/jobs/${id}/cancel`, undefined, 'application/json');
  }

  /** Cancels a program. */
  async stop(id) {
    return this.#send('POST', `/api/v1/programs/${id}/cancel`, undefined, 'application/json');
  }

  /** Deletes a finished job. */
  async forget(id) {
    await this.#request('DELETE', `/api/v1/jobs/${id}`);
  }

  /** Declares a cluster; resolves with the server's answer. */
  async declare(name, jobs, more = {}) {
    return this.#send('POST', '/api/v1/clusters', JSON.stringify({ name, jobs, ...more }), 'application/json');
  }

  async putBlob(bytes) {
    const name = createHash('sha256').update(bytes).digest('hex');
    await this.#request('PUT', `/api/v1/blobs/${name}`, bytes);
    return name;
  }

  /** Resolves with the jobs that are not in `before`, when there are this many. */
  async newJobs(before, count) {
    const known = new Set(before.map((job) => job.id));
    for (;;) {
      const made = (await this.get('/api/v1/jobs')).jobs.filter((job) => !known.has(job.id));
      if (made.length >= count) return made;
    }
  }

  /** Resolves when this many tasks have arrived at the barrier. */
  async arrived(name, id, count) {
    for (;;) {
      const barrier = await this.get(`/api/v1/clusters/${name}/barriers/${encodeURIComponent(id)}`).catch(() => null);
      if (barrier?.arrived_count >= count) return;
    }
  }

  async put(name, key, value) {
    return this.#send('PUT', `/api/v1/clusters/${name}/kv/${encodeURIComponent(key)}`, value, 'text/plain');
  }

  async #send(method, path, body, type, token) {
    return (await this.#request(method, path, body, type, token)).json();
  }

  async #request(method, path, body, type, token = this.token) {
    const headers = { ...(type && { 'Content-Type': type }), ...(token && { Authorization: `Bearer ${token}` }) };
    const response = await fetch(this.url + path, { method, headers, body });
    if (!response.ok) throw new Error(await response.text());
    return response;
  }

  end() {
    for (const child of [this.server, ...this.workers.values(), this.#ports]) child?.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  #run(words, errors = 'ignore') {
    return spawn(binary, words, { stdio: ['ignore', 'inherit', errors] });
  }
}

async function fileAppears(folder, path, signal) {
  for await (const _ of watch(folder, { signal })) if (existsSync(path)) return;
}
