// The dashboard behind a reverse proxy that publishes it below a path. nginx is a real one; both common
// configurations are tried: with and without the path in the requests that reach Muster.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

let browser;
let cluster;
let nginx;
let folder;
let port;

const freePort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

before(async () => {
  browser = await launch();
  port = await freePort();
  cluster = new Cluster();
  await cluster.serve('--base-path', '/muster/');
  cluster.worker(0);
  folder = mkdtempSync(join(tmpdir(), 'muster-nginx-'));
  const proxy = (to) => `proxy_pass ${to}; proxy_http_version 1.1; proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;`;
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; pid ${folder}/pid; error_log stderr; events {}
    http {
      access_log off;
      map $http_upgrade $connection_upgrade { default upgrade; '' close; }
      client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
      server {
        listen 127.0.0.1:${port};
        location /muster/ { ${proxy(cluster.url)} }
        location /stripped/muster/ { ${proxy(`${cluster.url}/`)} }
      }
    }`,
  );
  const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
  nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit', env });
  const failed = new Promise((_, fail) => {
    nginx.once('error', fail);
    nginx.once('exit', (code) => fail(new Error(`nginx exited with ${code}`)));
  });
  failed.catch(() => {});
  const answers = async () => {
    while (!(await fetch(`http://127.0.0.1:${port}/muster/livez`).catch(() => null))?.ok) await new Promise((next) => setTimeout(next, 20));
  };
  await Promise.race([answers(), failed]);
});
after(async () => {
  nginx?.kill();
  cluster?.end();
  await browser?.close();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

test('all pages, links and live data work below a path', async () => {
  const id = await cluster.submit('muster.noop', [], 1, 'below a path');
  const at = `http://127.0.0.1:${port}/muster`;
  const seen = await WatchedPage.open(browser, `${at}/`);
  await seen.reads('conn-state', /live/i); // the WebSocket
  await seen.page.waitForURL(`${at}/now`);
  await seen.navigate('Work');
  await seen.page.waitForURL(`${at}/work`);
  await seen.page.locator('main a', { hasText: 'below a path' }).first().click();
  await seen.page.waitForURL(`${at}/runs/${id}`);
  await seen.page.reload(); // a deep link
  await seen.reads('conn-state', /live/i);
  await seen.page.locator('h1', { hasText: 'below a path' }).waitFor();
  await seen.page.goBack();
  await seen.page.waitForURL(`${at}/work`);
  await seen.page.goto(`${at}/jobs/${id}`); // an address of an earlier version
  await seen.page.waitForURL(`${at}/runs/${id}`);
  assert.deepEqual(seen.faults, []);
});

test('a proxy may remove the path', async () => {
  const answer = await fetch(`http://127.0.0.1:${port}/stripped/muster/runs/job_1`);
  assert.equal(answer.status, 200);
  assert.match(await answer.text(), /src="\/muster\/app-/);
});
