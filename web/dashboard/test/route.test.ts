import assert from 'node:assert/strict';
import { test } from 'node:test';

// The browser functions that routing needs: an address, and a history with events for "back".
const visited = ['/jobs/job_0000000000000001?cluster=train']; // an address of an earlier version
let at = 0;
const heard: (() => void)[] = [];
const address_of = (): URL => new URL(visited[at]!, 'http://here');
Object.assign(globalThis, {
  location: {
    get pathname() {
      return address_of().pathname;
    },
    get search() {
      return address_of().search;
    },
  },
  history: {
    pushState: (_state: unknown, _title: string, to: string) => visited.splice(++at, Infinity, to),
    replaceState: (_state: unknown, _title: string, to: string) => (visited[at] = to),
  },
  addEventListener: (event: string, call: () => void) => event === 'popstate' && heard.push(call),
});
const step = (by: number): void => {
  at += by;
  for (const call of heard) call();
};

const route = await import('../src/shared/route');

test('the path has the subject, the query has the choices, and history restores both', () => {
  route.startRouting();
  assert.equal(route.page.value.path, '/runs/*');
  assert.equal(route.subject.value, 'job_0000000000000001');
  assert.equal(route.picked.value, 'train');
  assert.equal(route.jobAddress('job_2'), '/runs/job_2?cluster=train');
  route.go(route.jobAddress('job_2', { state: 'FAILED' }));
  assert.equal(visited[at], '/runs/job_2?cluster=train&state=FAILED');
  assert.equal(route.subject.value, 'job_2');
  assert.equal(route.chosen('state').value, 'FAILED');
  step(-1);
  assert.equal(route.subject.value, 'job_0000000000000001');
  assert.equal(route.chosen('state').value, '');
  step(1);
  assert.equal(route.subject.value, 'job_2');
});

test('a choice changes only the URL, and typing adds one history entry', () => {
  const before = visited.length;
  route.choose({ q: 'l' }, 'replace');
  route.choose({ q: 'load' }, 'replace');
  assert.equal(visited.length, before);
  assert.equal(visited[at], '/runs/job_2?cluster=train&state=FAILED&q=load');
  assert.equal(route.chosen('q').value, 'load');
  route.choose({ state: '', q: '' });
  assert.equal(visited.length, before + 1);
  assert.equal(visited[at], '/runs/job_2?cluster=train');
  route.choose({ state: '' }); // no change, so no history entry
  assert.equal(visited.length, before + 1);
});

test('a search stays on its page, and the cluster is kept across pages', () => {
  route.choose({ q: 'worker:3' });
  route.go(route.address('/fleet'));
  assert.equal(visited[at], '/fleet?cluster=train');
  assert.equal(route.chosen('q').value, '');
  step(-1);
  assert.equal(route.chosen('q').value, 'worker:3');
});

test('an old URL opens the same subject', () => {
  route.go('/jobs/job_2?closure=cl_1');
  assert.equal(visited[at], '/closures/cl_1?job=job_2');
  assert.equal(route.page.value.path, '/closures/*');
  assert.equal(route.subject.value, 'cl_1');
});
