import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normal, pageOf, PAGES, railOf, subjectOf, tabTitle } from '../src/shared/model/pages';

test('each path has its page', () => {
  for (const [path, page] of [
    ['/', '/'],
    ['/index.html', '/'],
    ['/tasks', '/tasks'],
    ['/workers/worker:3', '/workers/*'],
    ['/jobs', '/jobs'],
    ['/jobs/', '/jobs'],
    ['/jobs/job_1', '/jobs/*'],
    ['/jobs/job_1/', '/jobs/*'],
    ['/jobs/job_1/graph', '/jobs/*/graph'],
    ['/jobs/job_1/other', '/jobs/*'],
    ['/closures/cl_1', '/closures/*'],
    ['/closures', '/'],
    ['/programs', '/programs'],
    ['/programs/prog_1', '/programs/*'],
    ['/programs/prog_1/x', '/programs/*'],
    ['/per-worker', '/per-worker'],
    ['/objects', '/objects'],
    ['/nowhere', '/'],
  ] as const)
    assert.equal(pageOf(path).path, page, path);
});

test('the path names the subject of the page', () => {
  assert.equal(subjectOf('/jobs/job_0000000000000001'), 'job_0000000000000001');
  assert.equal(subjectOf('/jobs/job_1/graph'), 'job_1');
  assert.equal(subjectOf('/jobs/a%20b'), 'a b');
  assert.equal(subjectOf('/jobs/%zz'), '%zz'); // a malformed escape stays unchanged
  assert.equal(subjectOf('/workers/worker%3A3'), 'worker:3');
  assert.equal(subjectOf('/workers/a%2Fb:3'), 'a/b:3');
  assert.equal(subjectOf('/jobs'), '');
  assert.equal(subjectOf('/tasks/worker'), '');
});

test('old URLs are redirected', () => {
  const to = (pathname: string, search = ''): string => {
    const url = normal({ pathname, search });
    return url.pathname + url.search;
  };
  assert.equal(to('/jobs', '?job=job_2&cluster=a'), '/jobs/job_2?cluster=a');
  assert.equal(to('/jobs/job_1', '?job=job_2'), '/jobs/job_1?job=job_2');
  assert.equal(to('/jobs/job_1', '?closure=cl_1'), '/closures/cl_1?job=job_1');
  assert.equal(to('/jobs', '?job=job_1&closure=cl_1'), '/jobs/job_1?closure=cl_1');
  assert.equal(to('/jobs', '?state=RUNNING&cluster=a'), '/jobs?state=UNFINISHED&cluster=a');
  assert.equal(to('/jobs/job_1', '?state=RUNNING'), '/jobs/job_1?state=RUNNING');
  assert.equal(to('/sessions', '?state=RUNNING'), '/sessions?state=RUNNING');
  assert.equal(to('/tasks', '?q=a'), '/tasks?q=a');
  assert.equal(to('/jobs/%zz', '?closure=%zz'), '/closures/%25zz?job=%25zz');
});

test('page keys are unique, and pages without an entry highlight their parent', () => {
  const keys = PAGES.flatMap((page) => ('key' in page ? [page.key] : []));
  assert.equal(new Set(keys).size, keys.length);
  for (const key of keys) assert.match(key, /^[a-z]$/);
  assert.equal(railOf(pageOf('/jobs/job_1/graph')), '/jobs');
  assert.equal(railOf(pageOf('/closures/cl_1')), '/jobs');
  assert.equal(railOf(pageOf('/workers/worker:1')), '/tasks');
  assert.equal(railOf(pageOf('/programs/prog_1')), '/programs');
  assert.equal(railOf(pageOf('/kv')), '/kv');
});

test('the tab title names the page', () => {
  assert.equal(tabTitle(pageOf('/jobs/job_1'), 'train'), 'train · Job · Muster');
  assert.equal(tabTitle(pageOf('/'), ''), 'Overview · Muster');
  assert.equal(tabTitle(pageOf('/'), '', 3), '(3) Overview · Muster');
});
