// Reads and applies the golden messages, which the server's tests compare with its output.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse, ProtocolError, type EventsMessage, type Hello, type TopicMessage } from '../src/shared/model/protocol';
import { Store } from '../src/shared/model/store';

const golden = (name: string): string => readFileSync(new URL(`../test/golden/${name}.json`, import.meta.url), 'utf8');
const message = (name: string): TopicMessage => parse(golden(name)) as TopicMessage;

function greeted(): Store {
  const store = new Store();
  store.greet(parse(golden('hello')) as Hello);
  return store;
}

test('hello', () => {
  const hello = parse(golden('hello')) as Hello;
  assert.equal(hello.proto, 'muster.v1');
  assert.equal(hello.boot.length, 16);
  assert.equal(hello.late_ms, 12_500);
});

test('counters: snapshot, then delta', () => {
  const store = greeted();
  assert.equal(store.apply(message('counters_snap')), 'applied');
  assert.equal(store.counters!.closures.queued, 40);
  assert.deepEqual(store.history.series.queued, [66, 54, 42]);
  assert.equal(store.apply(message('counters_delta')), 'applied');
  assert.equal(store.counters!.tasks.error, 1);
  assert.deepEqual(store.history.series.queued, [66, 54, 42, 31]);
  assert.equal(store.seq('counters'), 103);
});

test('tasks: snapshot, then delta with a changed, a new and a removed row', () => {
  const store = greeted();
  assert.equal(store.apply(message('tasks_snap')), 'applied');
  assert.equal(store.tasks.size, 4);
  assert.equal(store.tasks.view(2)!.state, 'LATE');
  assert.equal(store.apply(message('tasks_delta')), 'applied');
  assert.equal(store.tasks.size, 4);
  assert.equal(store.tasks.view(4), undefined);
  assert.equal(store.tasks.view(5)!.name, 'worker:3');
  assert.match(store.tasks.view(2)!.error, /^no heartbeat/);
  assert.deepEqual([store.tasks.view(1)!.failed, store.tasks.view(2)!.failed], [0, 1]);
  assert.deepEqual([...store.tasks.problems], [2]);
});

test('jobs: snapshot, then delta', () => {
  const store = greeted();
  store.apply(message('jobs_snap'));
  store.apply(message('jobs_delta'));
  assert.deepEqual(
    store.jobs().map((job) => job.id),
    ['job_3', 'job_2'],
  );
  assert.equal(store.jobs()[1]!.succeeded, 140);
});

test('rows by name: snapshot, then delta with a changed and a removed row', () => {
  const store = greeted();
  assert.equal(store.apply(message('agents_snap')), 'applied');
  assert.equal(store.agents.all().length, 4);
  assert.equal(store.agents.get('default/worker:3')!.late_for, 'step_12');
  assert.equal(store.apply(message('agents_delta')), 'applied');
  assert.equal(store.agents.get('default/worker:0'), undefined);
  assert.equal(store.agents.get('default/worker:3')!.state, 'CONNECTED');
  assert.equal(store.agents.get('default/worker:3')!.late_for, undefined);
  assert.equal(store.agents.get('default/worker:2')!.late_for, 'step_13', 'a change updates the state');
  assert.equal(store.agents.get('default/worker:2')!.error, undefined);
  assert.equal(store.agents.get('default/worker:2')!.devices, 4, 'and not the identity');
  assert.equal(store.seq('agents'), 4);
});

test('clusters, barriers and events', () => {
  const store = greeted();
  for (const name of ['clusters_snap', 'barriers_snap', 'events_snap', 'attention_snap']) assert.equal(store.apply(message(name)), 'applied');
  assert.equal(store.clusters.get('train')!.cause!.task, '/job:worker/task:1');
  assert.equal(store.barriers.get('default/step_12')!.missing[0]!.task, '/job:worker/task:3');
  assert.equal(store.events.all().length, 2);
  const quoting = message('events_snap') as EventsMessage;
  for (const row of Object.values(quoting.rows)) row.text = '\u001b[31mout of memory\u001b[0m';
  store.apply(quoting);
  assert.equal(store.events.all()[0]!.text, 'out of memory', 'no codes of terminals');
});

test('logs: snapshot, then delta', () => {
  const store = greeted();
  const topic = 'logs:cl_0000000100000000';
  assert.equal(store.apply(message('logs_snap')), 'applied');
  assert.equal(store.log(topic)!.progress!.text, 'a quarter');
  assert.equal(store.apply(message('logs_delta')), 'applied');
  assert.deepEqual(
    store.log(topic)!.lines.map((l) => l.text),
    ['epoch 1', 'slow', 'done'],
  );
  assert.ok(store.log(topic)!.ended);
});

test('malformed messages are refused and unknown ones are ignored', () => {
  assert.throws(() => parse('{'), ProtocolError);
  assert.throws(() => parse('[]'), ProtocolError);
  assert.throws(() => parse('{"t":"hello"}'), ProtocolError);
  assert.throws(() => parse('{"t":"snap","topic":"tasks","seq":1,"now":1,"rows":{"i":[1]}}'), ProtocolError);
  const uneven = JSON.parse(golden('tasks_snap'));
  uneven.rows.host.pop();
  assert.throws(() => parse(JSON.stringify(uneven)), ProtocolError);
  assert.throws(() => parse('{"t":"snap","topic":"agents","seq":1,"now":1,"rows":[]}'), ProtocolError);
  assert.equal(parse('{"t":"weather"}'), null);
  assert.equal(parse('{"t":"snap","topic":"tides","seq":1,"now":1}'), null);
});
