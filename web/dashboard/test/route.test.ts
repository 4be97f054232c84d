import assert from 'node:assert/strict';
import { test } from 'node:test';

// As much of a browser as routing needs: an address, and a history that tells when one goes back.
const visited = ['/jobs/job_0000000000000001?cluster=train'];
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
  history: { pushState: (_state: unknown, _title: string, to: string) => (visited.splice(++at), visited.push(to)) },
  addEventListener: (event: string, call: () => void) => event === 'popstate' && heard.push(call),
});
const step = (by: number): void => {
  at += by;
  for (const call of heard) call();
};

const route = await import('../src/route');

test('the path says which job', () => {
  const job = (pathname: string, search = ''): string => route.jobOf({ pathname, search });
  assert.equal(job('/jobs/job_0000000000000001'), 'job_0000000000000001');
  assert.equal(job('/jobs/job_0000000000000001/'), 'job_0000000000000001');
  assert.equal(job('/jobs/a%20b'), 'a b');
  assert.equal(job('/jobs/%zz'), '%zz'); // no escape: taken as it is
  assert.equal(job('/jobs'), '');
  assert.equal(job('/jobs/'), '');
  assert.equal(job('/tasks/worker'), '');
  assert.equal(job('/jobs', '?job=job_2'), 'job_2'); // as addresses were once
  assert.equal(job('/jobs/job_1', '?job=job_2'), 'job_1');
});

test('a job is chosen by its address, and back and forward choose again', () => {
  route.startRouting();
  assert.equal(route.page.value.path, '/jobs');
  assert.equal(route.pickedJob.value, 'job_0000000000000001');
  assert.equal(route.picked.value, 'train');
  assert.equal(route.jobAddress('job_2'), '/jobs/job_2?cluster=train');
  route.go(route.jobAddress('job_2', { closure: 'cl_1' }));
  assert.equal(visited[at], '/jobs/job_2?cluster=train&closure=cl_1');
  assert.equal(route.pickedJob.value, 'job_2');
  assert.equal(route.pickedClosure.value, 'cl_1');
  step(-1);
  assert.equal(route.pickedJob.value, 'job_0000000000000001');
  assert.equal(route.pickedClosure.value, '');
  step(1);
  assert.equal(route.pickedJob.value, 'job_2');
});
