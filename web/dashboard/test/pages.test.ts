import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normal, pageOf, PAGES, railOf, subjectOf, tabsOf, tabTitle } from '../src/shared/model/pages';

test('each path has its page', () => {
  for (const [path, page] of [
    ['/', '/now'],
    ['/now', '/now'],
    ['/fleet', '/fleet'],
    ['/fleet/worker:3', '/fleet/*'],
    ['/work', '/work'],
    ['/programs', '/programs'],
    ['/runs/job_1', '/runs/*'],
    ['/runs/job_1/', '/runs/*'],
    ['/runs/job_1/graph', '/runs/*/graph'],
    ['/runs/job_1/other', '/runs/*'],
    ['/runs/prog_1', '/runs/prog_*'],
    ['/runs/prog_1/x', '/runs/prog_*'],
    ['/runs', '/now'],
    ['/closures/cl_1', '/closures/*'],
    ['/closures', '/now'],
    ['/explore', '/explore'],
    ['/explore/per-worker', '/explore/per-worker'],
    ['/nowhere', '/now'],
  ] as const)
    assert.equal(pageOf(path).path, page, path);
});

test('the path names the subject of the page', () => {
  assert.equal(subjectOf('/runs/job_0000000000000001'), 'job_0000000000000001');
  assert.equal(subjectOf('/runs/prog_0000000000000001'), 'prog_0000000000000001');
  assert.equal(subjectOf('/runs/job_1/graph'), 'job_1');
  assert.equal(subjectOf('/runs/a%20b'), 'a b');
  assert.equal(subjectOf('/runs/%zz'), '%zz'); // a malformed escape stays unchanged
  assert.equal(subjectOf('/fleet/worker%3A3'), 'worker:3');
  assert.equal(subjectOf('/fleet/a%2Fb:3'), 'a/b:3');
  assert.equal(subjectOf('/work'), '');
  assert.equal(subjectOf('/programs'), '');
});

test('old URLs are redirected', () => {
  const to = (pathname: string, search = ''): string => {
    const url = normal({ pathname, search });
    return url.pathname + url.search;
  };
  for (const [old, now] of [
    ['/', '/now'],
    ['/index.html', '/now'],
    ['/tasks', '/fleet'],
    ['/workers/worker:3', '/fleet/worker:3'],
    ['/jobs', '/work'],
    ['/jobs/job_1', '/runs/job_1'],
    ['/jobs/job_1/graph', '/runs/job_1/graph'],
    ['/programs/prog_1', '/runs/prog_1'],
    ['/gangs', '/queue'],
    ['/barriers', '/agreement'],
    ['/stragglers', '/agreement/stragglers'],
    ['/kv', '/agreement/keys'],
    ['/logs', '/explore'],
    ['/events', '/explore/events'],
    ['/stream', '/explore/stream'],
    ['/values', '/explore/values'],
    ['/per-worker', '/explore/per-worker'],
    ['/objects', '/explore/objects'],
    ['/closures/cl_1', '/closures/cl_1'],
    ['/toString', '/toString'],
  ] as const) {
    assert.equal(to(old), now);
    assert.equal(to(now), now);
  }
  assert.equal(to('/jobs', '?job=job_2&cluster=a'), '/runs/job_2?cluster=a');
  assert.equal(to('/jobs/job_1', '?job=job_2'), '/runs/job_1?job=job_2');
  assert.equal(to('/jobs/job_1', '?closure=cl_1'), '/closures/cl_1?job=job_1');
  assert.equal(to('/jobs', '?job=job_1&closure=cl_1'), '/runs/job_1?closure=cl_1');
  assert.equal(to('/jobs', '?state=RUNNING&cluster=a'), '/work?state=UNFINISHED&cluster=a');
  assert.equal(to('/jobs/job_1', '?state=RUNNING'), '/runs/job_1?state=RUNNING');
  assert.equal(to('/programs'), '/work?kind=program');
  assert.equal(to('/sessions', '?state=RUNNING'), '/work?state=RUNNING&kind=session');
  assert.equal(to('/tasks', '?q=a'), '/fleet?q=a');
  assert.equal(to('/jobs/%zz', '?closure=%zz'), '/closures/%25zz?job=%25zz');
});

test('page keys are unique, and pages without an entry highlight their parent', () => {
  const keys = PAGES.flatMap((page) => ('key' in page ? [page.key] : []));
  assert.equal(new Set(keys).size, keys.length);
  for (const key of keys) assert.match(key, /^[a-z]$/);
  assert.equal(railOf(pageOf('/runs/job_1/graph')), '/work');
  assert.equal(railOf(pageOf('/closures/cl_1')), '/work');
  assert.equal(railOf(pageOf('/fleet/worker:1')), '/fleet');
  assert.equal(railOf(pageOf('/runs/prog_1')), '/work');
  assert.equal(railOf(pageOf('/agreement/keys')), '/agreement');
});

test('tabs are the pages of one entry of the rail', () => {
  assert.deepEqual(
    tabsOf(pageOf('/agreement/keys')).map(({ path }) => path),
    ['/agreement', '/agreement/stragglers', '/agreement/keys'],
  );
  assert.deepEqual(
    tabsOf(pageOf('/now')).map(({ path }) => path),
    ['/now', '/now/charts'],
  );
  assert.deepEqual(tabsOf(pageOf('/queue')), []);
  assert.deepEqual(tabsOf(pageOf('/runs/job_1')), []);
});

test('the tab title names the page', () => {
  assert.equal(tabTitle(pageOf('/runs/job_1'), 'train'), 'train · Job · Muster');
  assert.equal(tabTitle(pageOf('/'), ''), 'Now · Muster');
  assert.equal(tabTitle(pageOf('/'), '', 3), '(3) Now · Muster');
});
