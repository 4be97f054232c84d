import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostsOf, isOver } from '../src/shared/model/counts';
import { byState, endOf, followed, lookOf, PROGRAM_LOOKS, resourcesOf, stepTo, verdict, wanted, type ProgramView, type RankView } from '../src/shared/model/programs';
import { commandLine, programCommands } from '../src/shared/model/commands';
import { only, type Part } from './only';

const program = (more: Part<ProgramView> = {}) =>
  only<ProgramView>({
    id: 'prog_0000000000000001',
    cluster: '',
    name: 'train',
    state: 'RUNNING',
    attempt: 1,
    restarts: 0,
    ranks: 8,
    started: 8,
    alive: 8,
    created_ms: 1,
    command: ['python', 'train.py'],
    tasks: { worker: { min: 8, max: 8 } },
    max_restarts: 3,
    grace_ms: 10_000,
    restart_grace_ms: 1000,
    ...more,
  });
const rank = (n: number, more: Partial<RankView> = {}): RankView => ({
  rank: n,
  task: `worker:${n}`,
  state: 'RUNNING',
  worker: `worker:${n}`,
  host: `node${n % 2}`,
  address: '10.0.0.1:4000',
  ...more,
});

test('the verdict of a program names its state and the reason', () => {
  assert.equal(verdict(program()), '8 of 8 ranks running.');
  const text = 'worker:1 on node1 has been lost for 12 s; its ranks will be given up in 48 s (--program-lease); then attempt 2 will begin';
  assert.equal(verdict(program({ lost_workers: [{ text }] })), `${text}.`);
  assert.equal(endOf(rank(1, { worker_lost: true })), 'worker:1 is lost');
  assert.equal(verdict(program({ hang: { evidence: 'STACK', rank: 1, text: 'rank 1 on node1 hangs' } })), 'Hangs: rank 1 on node1 hangs.');
  assert.equal(verdict(program({ restarts: 2, alive: 7 })), '7 of 8 ranks running after 2 restarts.');
  assert.equal(verdict(program({ state: 'PENDING', waits_for: 'no worker that runs programs is connected' })), 'Waiting: no worker that runs programs is connected.');
  assert.equal(verdict(program({ state: 'STARTING', started: 1, ranks: 1 })), '1 of 1 rank started.');
  assert.equal(verdict(program({ state: 'RESTARTING', attempt: 2 })), 'Attempt 2 is ending, and a new attempt follows.');
  assert.equal(verdict(program({ state: 'FAILED', restarts: 1 })), 'Failed after 1 restart.');
  for (const state of Object.keys(PROGRAM_LOOKS) as ProgramView['state'][]) assert.notEqual(verdict(program({ state })), '', state);
});

test('a state of a newer server is shown as it is', () => {
  assert.deepEqual(lookOf(PROGRAM_LOOKS, 'FROZEN'), ['waiting', '', 'FROZEN']);
  assert.equal(isOver(program({ state: 'STOPPING' })), false);
  assert.equal(isOver(program({ state: 'CANCELLED' })), true);
});

test('ranks show number, location, state and end', () => {
  assert.equal(wanted(program()), '8');
  assert.equal(wanted(program({ tasks: { ps: { min: 1, max: 1 }, worker: { min: 4, max: 16 } } })), '5 to 17');
  const ranks = [rank(0), rank(1, { state: 'FAILED', ended_ms: 5, exit_status: 3 }), rank(2)];
  assert.deepEqual(byState(ranks), [
    ['FAILED', 1],
    ['RUNNING', 2],
  ]);
  assert.equal(hostsOf(ranks), 2);
  assert.equal(endOf(ranks[0]!), '');
  assert.equal(endOf(ranks[1]!), 'exit 3');
  assert.equal(endOf(rank(1, { ended_ms: 5, exit_status: 0, signal: 9, out_of_memory: true })), 'signal 9, out of memory');
  assert.equal(endOf(rank(1, { not_started: 'no such file' })), 'not started: no such file');
  assert.equal(resourcesOf({ gpu: 2, tpu: 1 }), '2 gpu, 1 tpu');
  assert.equal(resourcesOf(), '');
});

test('commands are quoted for a shell', () => {
  assert.equal(commandLine(['sh', '-c', "echo 'a' $HOME", '']), "sh -c 'echo '\\''a'\\'' $HOME' ''");
  assert.equal(programCommands(program({ state: 'FAILED' }), 'http://h:1').length, 2);
  assert.ok(programCommands(program(), 'http://h:1').some(([, line]) => line === 'muster programs restart prog_0000000000000001 --url http://h:1'));
});

test('arrow keys move within the grid of ranks', () => {
  assert.equal(stepTo('ArrowRight', 3, 10, 4), 4);
  assert.equal(stepTo('ArrowDown', 3, 10, 4), 7);
  assert.equal(stepTo('ArrowDown', 7, 10, 4), 7);
  assert.equal(stepTo('ArrowUp', 2, 10, 4), 2);
  assert.equal(stepTo('End', 2, 10, 4), 9);
  assert.equal(stepTo('Home', 2, 10, 4), 0);
  assert.equal(stepTo('a', 2, 10, 4), null);
});

test('the log of a rank is followed, restarted after a gap, and limited to the newest part', () => {
  const log = (offset: number, data: string, size = offset + data.length, complete = false) => ({ known: true, offset, data, next_offset: offset + data.length, size, complete });
  const one = followed(null, log(0, 'a\n'));
  assert.deepEqual(one, { text: 'a\n', cut: false, next: 2, known: true, complete: false, behind: false });
  const two = followed(one, log(2, 'b\n', 4, true));
  assert.deepEqual(two, { text: 'a\nb\n', cut: false, next: 4, known: true, complete: true, behind: false });
  assert.deepEqual(followed(one, log(9, 'c\n')), { text: 'c\n', cut: true, next: 11, known: true, complete: false, behind: false });
  assert.equal(followed(one, log(2, 'b\n', 90, true)).complete, false, 'more is there to be read');
  assert.equal(followed(one, log(2, 'b\n', 90)).behind, true);
  assert.equal(followed(one, { ...log(0, ''), known: false }).text, 'a\n', 'its worker is busy');
  const long = followed(two, log(4, `${'x'.repeat(99)}\n`.repeat(4000)));
  assert.ok(long.text.length <= 200_000 && long.text.startsWith('x') && long.cut);
});
