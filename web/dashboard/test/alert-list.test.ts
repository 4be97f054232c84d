import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterOf, deedOf, joinAddress, mostUrgentFirst, nameOfItem, newAlerts, typed, urgencyOf, verdict } from '../src/shared/model/alert-list';
import type { AttentionRow, ClusterRow } from '../src/shared/model/protocol';

const row = (title: string, severity: 'error' | 'warning', since_ms: number, rule = 'worker-lost'): AttentionRow => ({ rule, severity, title, detail: '', since_ms, count: 1, link: '/' });
const titles = (rows: readonly AttentionRow[]) => rows.map((r) => r.title).join('');

test('ongoing alerts come before stuck ones, and those before past ones', () => {
  assert.equal(titles(mostUrgentFirst([row('a', 'error', 9, 'job-failed'), row('b', 'warning', 1, 'barrier-stuck'), row('c', 'warning', 1, 'agents-late')])), 'cba');
  for (const rule of ['job-failed', 'jobs-failed', 'session-failed', 'run-failed', 'closure-alone']) assert.equal(urgencyOf({ rule }), 'past', rule);
  for (const rule of ['no-worker', 'no-function', 'gang-unmet', 'wishes-unmet', 'barrier-stuck', 'agents-missing', 'nothing-finishes']) assert.equal(urgencyOf({ rule }), 'stuck', rule);
  for (const rule of ['worker-lost', 'agents-late', 'disk-fails', 'closures-full', 'of a later server']) assert.equal(urgencyOf({ rule }), 'live', rule);
});

test('alerts of one kind are sorted by severity and then newest first', () => {
  assert.equal(titles(mostUrgentFirst([row('a', 'warning', 9), row('b', 'error', 3), row('c', 'error', 9)])), 'cba');
});

test('a recurring problem is another alert', () => {
  assert.notEqual(nameOfItem(row('a', 'error', 1)), nameOfItem(row('a', 'error', 2)));
});

test('the cluster of an alert is that of its link', () => {
  assert.equal(clusterOf({ ...row('a', 'error', 1), link: '/tasks?cluster=a%20b&q=1' }), 'a b');
  assert.equal(clusterOf(row('a', 'error', 1)), '');
});

const said = (rows: readonly AttentionRow[]) =>
  verdict(rows)
    .map(({ text }) => text)
    .join(', ');
const counted = (rule: string, count: number) => ({ ...row(`a ${rule}`, 'error', 1, rule), count });

test('the verdict counts alerts by kind and names a single one', () => {
  assert.equal(said([]), '');
  assert.equal(said([counted('job-failed', 1)]), 'a job-failed');
  assert.equal(said([counted('job-failed', 30), counted('gang-unmet', 20), counted('jobs-failed', 3), counted('wish-unmet', 14)]), '4 jobs failed, 34 closures cannot start');
  assert.equal(said([counted('barrier-stuck', 5), counted('barrier-stuck', 1)]), '2 barriers waiting');
  assert.equal(said(['a', 'b', 'c', 'd', 'e', 'f'].map((t) => row(t, 'error', 1, t))), 'a, b, c, d, e, and 1 more');
  assert.equal(said([row('w', 'warning', 1, 'program-waits'), { ...counted('run-failed', 1), title: 'x'.repeat(99) }]), '1 run failed, w');
  assert.equal(said([row('Program a waits', 'error', 1, 'x'), row('Job B failed', 'error', 1, 'y'), row('GPU 1 is hot', 'error', 1, 'z')]), 'Program a waits, job B failed, GPU 1 is hot');
});

test('each phrase of the verdict leads to the page that lists its objects', () => {
  const links = (...rows: AttentionRow[]) => verdict(rows).map(({ link }) => link);
  assert.deepEqual(links(counted('job-failed', 1), counted('job-failed', 1), counted('gang-unmet', 20), counted('wish-unmet', 14)), ['/work?state=FAILED', '/queue']);
  assert.deepEqual(links({ ...row('worker:1 is late', 'warning', 1, 'worker-late'), link: '/workers/worker:1?cluster=b' }), ['/fleet/worker:1?cluster=b']);
  assert.deepEqual(links({ ...row('x'.repeat(40), 'error', 1, 'worker-lost'), count: 3, link: '/tasks?state=ERROR&cluster=a%26b' }), ['/fleet?state=ERROR&cluster=a%26b']);
  assert.deepEqual(links(row('of a later server', 'error', 1, 'new')), ['/now']);
});

test('alerts offer a button with an action', () => {
  const of = (rule: string, link: string, command?: string) => deedOf({ ...row('a', 'error', 1, rule), link, command });
  assert.deepEqual(of('job-failed', '/jobs/job_1?state=FAILED', 'muster retry job_1'), { does: 'retry', id: 'job_1', job: 'job_1' });
  assert.equal(of('job-failed', '/jobs/job_1', 'muster explain job_1'), null);
  assert.deepEqual(of('jobs-failed', '/jobs?state=FAILED', 'muster retry job_2 job_1'), { does: 'retry-all', id: 'job_2 job_1', job: '' });
  assert.equal(of('jobs-failed', '/jobs?state=FAILED'), null);
  assert.deepEqual(of('wish-unmet', '/closures/cl_1?job=job_1&cluster=a'), { does: 'explain', id: 'cl_1', job: 'job_1' });
  assert.deepEqual(of('closure-alone', '/closures/cl_1?job=job_1'), { does: 'cancel', id: 'cl_1', job: 'job_1' });
  assert.deepEqual(of('program-hangs', '/programs/prog_1'), { does: 'restart', id: 'prog_1', job: '' });
  assert.equal(of('worker-lost', '/workers/worker:1'), null);
});

test('commands name this server', () => {
  assert.equal(typed('muster worker --server HOST:8476 --label a=HOST', 'head-1'), 'muster worker --server head-1:8476 --label a=HOST');
  assert.equal(typed('muster retry job_1', 'head-1'), 'muster retry job_1');
  const main = { main: true, address: '0.0.0.0:9001' } as ClusterRow;
  assert.equal(joinAddress([main], 'head-1'), 'head-1:9001');
  assert.equal(joinAddress([], ''), 'localhost:8476');
});

test('new alerts are announced once, and initial ones are not', () => {
  const a = row('Job a failed', 'error', 1);
  const first = newAlerts([a], null);
  assert.equal(first.text, '');
  const second = newAlerts([a, row('worker:1 is late', 'warning', 2)], first.names);
  assert.equal(second.text, 'New alert. Warning: worker:1 is late.');
  assert.equal(newAlerts([a, row('worker:1 is late', 'warning', 2)], second.names).text, '');
  const many = [1, 2, 3, 4, 5].map((n) => row(`Job ${n} failed`, 'error', n + 10));
  assert.equal(newAlerts(many, first.names).text, 'New alerts. Error: Job 1 failed. Error: Job 2 failed. Error: Job 3 failed. And 2 more.');
});
