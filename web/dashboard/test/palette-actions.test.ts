import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobOrders, programOrders, verbsIn, workerOrders } from '../src/shell/model/palette-actions';
import type { TaskView } from '../src/shared/model/tasks';

const worker = (cordoned: boolean) => ({ name: 'a b:3', host: 'h1', cordoned }) as TaskView;
const counts = { total: 2, blocked: 0, queued: 0, running: 0, succeeded: 1, failed: 1, cancelled: 0 };

test('a command is recognised by three letters', () => {
  assert.deepEqual(verbsIn('Cor worker:1 h2'), { verbs: ['cordon'], rest: 'worker:1 h2' });
  assert.deepEqual(verbsIn('re'), { verbs: [], rest: '' });
  assert.deepEqual(verbsIn('res').verbs, ['restart']);
  assert.deepEqual(verbsIn('worker:1').verbs, []);
});

test('only possible actions are offered', () => {
  const titles = (cordoned: boolean) => workerOrders(['cordon', 'uncordon', 'drain'], worker(cordoned), 'train/x').map((o) => o.title);
  assert.deepEqual(titles(false), ['Cordon a b:3', 'Drain a b:3']);
  assert.deepEqual(titles(true), ['Uncordon a b:3', 'Drain a b:3']);
  assert.equal(workerOrders(['cordon'], worker(false), 'train/x')[0]!.path, 'clusters/train%2Fx/tasks/a%20b/3/cordon');
  const job = (state: 'RUNNING' | 'FAILED', streaming = false) => jobOrders(['cancel', 'retry'], { id: 'job_1', name: 'n', state, streaming, counts }).map((o) => o.title);
  assert.deepEqual(job('RUNNING'), ['Cancel n']);
  assert.deepEqual(job('FAILED'), ['Retry n']);
  assert.deepEqual(job('FAILED', true), []);
  assert.deepEqual(
    programOrders(['cancel', 'restart'], { id: 'prog_1', name: 'p', state: 'RUNNING' }).map((o) => o.path),
    ['programs/prog_1/cancel', 'programs/prog_1/restart'],
  );
  assert.deepEqual(programOrders(['cancel'], { id: 'prog_1', name: 'p', state: 'FAILED' }), []);
});
