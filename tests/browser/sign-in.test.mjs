import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Cluster } from './cluster.mjs';
import { launch, WatchedPage } from './page.mjs';

const shots = process.env.MUSTER_SCREENSHOTS;
let browser;

before(async () => {
  mkdirSync(shots, { recursive: true });
  browser = await launch();
});
after(() => browser.close());

function token(server, data, ...words) {
  const made = spawnSync(process.env.MUSTER_BINARY, ['token', ...words, '--url', server.url, '--token-file', join(data, 'admin.token')]);
  assert.equal(made.status, 0, String(made.stderr));
  return String(made.stdout).trim();
}

test('a token opens the dashboard until it is revoked', async () => {
  const server = new Cluster();
  try {
    const data = join(server.folder, 'data');
    await server.serve('--data-dir', data, '--auth', 'on');
    const viewer = token(server, data, 'create', '--role', 'viewer', '--name', 'eye');
    for (const colorScheme of ['light', 'dark']) {
      const seen = await WatchedPage.open(browser, `${server.url}/`, { colorScheme });
      await seen.page.getByRole('heading', { name: 'Muster' }).waitFor();
      await seen.page.screenshot({ path: join(shots, `sign-in-${colorScheme}.png`) });
      assert.deepEqual(seen.faults, []);
      await seen.page.context().close();
    }
    const seen = await WatchedPage.open(browser, `${server.url}/jobs`);
    seen.mayRefuse = /./;
    const field = seen.page.getByLabel('Token');
    await field.fill('muster.nobody-000000.x');
    await seen.page.getByRole('button', { name: 'Sign in' }).click();
    await seen.page.getByRole('alert').filter({ hasText: 'unknown, revoked or expired' }).waitFor();
    await field.fill(viewer);
    await field.press('Enter');
    await seen.at('sign-out').waitFor();
    assert.equal(new URL(seen.page.url()).pathname, '/work');
    assert.equal(await seen.page.evaluate(() => document.cookie), '', 'scripts do not see it');
    const cookies = await seen.page.context().cookies();
    assert.deepEqual(cookies.map((c) => [c.name, c.httpOnly, c.sameSite]), [[`muster_session_${new URL(server.url).port}`, true, 'Strict']]);
    assert.ok(!cookies[0].value.includes(viewer.split('.')[2]), 'the cookie is not the token');
    assert.ok(!(await seen.page.content()).includes(viewer));
    await seen.page.reload();
    await seen.at('sign-out').waitFor();
    assert.deepEqual(seen.faults, []);

    seen.serverIsDown = true; // the connection is cut
    token(server, data, 'revoke', viewer.split('.')[1]);
    await seen.page.getByLabel('Token').waitFor();
    const admin = readFileSync(join(data, 'admin.token'), 'utf8').trim();
    await seen.page.getByLabel('Token').fill(admin);
    await seen.page.keyboard.press('Enter');
    await seen.at('sign-out').click();
    await seen.page.getByLabel('Token').waitFor();
  } finally {
    server.end();
  }
});

test('a token bound to a cluster opens the dashboard of that cluster', async () => {
  const server = new Cluster();
  try {
    const data = join(server.folder, 'data');
    await server.serve('--data-dir', data, '--auth', 'on');
    const admin = readFileSync(join(data, 'admin.token'), 'utf8').trim();
    const declared = await fetch(`${server.url}/api/v1/clusters`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'train', jobs: { worker: 2 } }),
    });
    assert.equal(declared.status, 201);
    const bound = token(server, data, 'create', '--role', 'viewer', '--cluster', 'train');
    const seen = await WatchedPage.open(browser, `${server.url}/`);
    seen.mayRefuse = /./; // before it signs in
    await seen.page.getByLabel('Token').fill(bound);
    await seen.page.keyboard.press('Enter');
    await seen.at('sign-out').waitFor();
    seen.mayRefuse = undefined;
    await seen.page.locator('.brand').filter({ hasText: 'train' }).waitFor();
    for (const path of ['/', '/fleet', '/work', '/explore/stream', '/explore/values', '/sessions', '/queue', '/agreement', '/explore/events']) {
      await seen.page.goto(`${server.url}${path}`);
      await seen.at('sign-out').waitFor();
      await seen.page.waitForLoadState('networkidle');
      assert.ok(!(await seen.page.locator('main').innerText()).includes('default'), path);
    }
    assert.deepEqual(seen.faults, []);
    await seen.page.goto(`${server.url}/`);
    await seen.page.locator('.brand').filter({ hasText: 'train' }).waitFor();
    await seen.page.screenshot({ path: join(shots, 'bound.png') });
  } finally {
    server.end();
  }
});
