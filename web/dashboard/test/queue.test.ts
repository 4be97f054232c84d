import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amountText, elsewhere, entryKey, functionsText, headline, moreFunctions, needsText, wantedText, workersText, type Entry, type Totals } from '../src/queue/model/queue';
import { only, type Part } from './only';

const entry = (more: Part<Entry>) => only<Entry>({ kind: 'closures', priority: 0, wanted: 20, since_ms: 0, why: '', ...more });
const totals = (more: Part<Totals>) => only<Totals>({ entries: 0, closures: 0, closures_startable: 0, programs: 0, blocked: 0, delayed: 0, sent_ahead: 0, complete: true, ...more });

test('needs are written in one line', () => {
  assert.equal(needsText({ task: 'worker:3', labels: { zone: 'a' }, resources: { gpu: 2 } }), 'only on worker:3, zone=a, gpu=2');
  assert.equal(needsText({}), '');
});

test('wanted and free slots stand together', () => {
  assert.equal(wantedText(entry({ wanted: 5000, free: 2 })), '5,000 wanted, 2 free');
  assert.equal(wantedText(entry({})), '20 wanted');
});

test('matching workers are named with their slots', () => {
  assert.equal(workersText(entry({ workers: 1, slots: 4 })), 'on 1 worker with 4 slots');
  assert.equal(workersText(entry({ workers: 0, slots: 0 })), 'no matching worker');
  assert.equal(workersText(entry({ program: 'prog_1', workers: 3 })), 'on 3 workers');
  assert.equal(workersText(entry({ program: 'prog_1', workers: 0 })), 'no worker accepts its ranks');
  assert.equal(workersText(entry({})), 'workers not counted');
});

test('a gang shows how many of its closures are ready', () => {
  assert.equal(amountText(entry({ kind: 'gang', waiting: 20, ready: 18 })), '18 of 20 closures ready, of');
  assert.equal(amountText(entry({ waiting: 1 })), '1 closure of');
});

test('functions are called incomplete only if there can be others', () => {
  const functions = [
    { name: 'f', waiting: 40 },
    { name: 'g', waiting: 24 },
  ];
  assert.equal(functionsText(entry({ functions })), 'f and g');
  assert.equal(moreFunctions(entry({ functions, waiting: 64, examined: 64 })), false);
  assert.equal(moreFunctions(entry({ functions, waiting: 65, examined: 64 })), true);
  assert.equal(moreFunctions(entry({ functions: [functions[0]!], waiting: 500, examined: 64 })), false);
});

test('the headline says how much waits, and how much can start', () => {
  assert.equal(headline(totals({})), 'Nothing waits for a worker.');
  assert.equal(headline(totals({ closures: 5020, closures_startable: 5000 })), '5,020 closures wait for a worker. 5,000 start when slots become free. No connected worker can run 20.');
  assert.equal(headline(totals({ closures: 1, closures_startable: 1 })), '1 closure waits for a worker. It starts when slots become free.');
  assert.equal(headline(totals({ closures: 1 })), '1 closure waits for a worker. No connected worker can run it.');
  assert.equal(headline(totals({ programs: 2 })), '2 programs wait for workers.');
});

test('closures that wait for something else are named', () => {
  assert.equal(elsewhere(totals({})), '');
  assert.equal(elsewhere(totals({ blocked: 3, sent_ahead: 1 })), 'Also waiting: 3 closures for inputs; 1 closure on the worker to which it was sent.');
});

test('entries keep their key while the order changes', () => {
  assert.equal(entryKey(entry({ program: 'prog_1' })), 'prog_1');
  assert.notEqual(entryKey(entry({ first: 'cl_1', priority: 1 })), entryKey(entry({ first: 'cl_1', priority: 2 })));
  assert.equal(entryKey(entry({ kind: 'gang', first: 'cl_1' })), 'gang-cl_1');
});
