import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { agentName, countPlights, hostOf, listAgents, plight, remark, changedRows, keepSeen, takeAges, troubled } from '../src/shared/model/agents';
import { parse, type AgentRow, type AgentsMessage } from '../src/shared/model/protocol';

const snap = parse(readFileSync(new URL('../test/golden/agents_snap.json', import.meta.url), 'utf8')) as AgentsMessage;
const agents: AgentRow[] = Object.values(snap.rows);

test('failed agents come first, then late ones, then their casualties', () => {
  assert.deepEqual(listAgents(agents).map(agentName), ['worker:1', 'worker:3', 'worker:2', 'worker:0']);
});

test('agents are found by name, address, incarnation and state', () => {
  assert.equal(listAgents(agents, 'WORKER:2').length, 1);
  assert.equal(listAgents(agents, '10.0.0.1').length, 4);
  assert.equal(listAgents(agents, '164021').length, 4);
  assert.deepEqual(listAgents(agents, '', 'casualty').map(agentName), ['worker:2']);
  assert.deepEqual(listAgents(agents, 'nobody'), []);
});

test('each agent is counted once', () => {
  const counts = countPlights(agents);
  assert.equal(counts.victim, 1);
  assert.equal(
    Object.values(counts).reduce((a, b) => a + b),
    4,
  );
});

test('agents in the same state are sorted by job and index', () => {
  const row = (job: string, index: number): AgentRow => ({ ...agents[0]!, job, index });
  const listed = listAgents([row('b', 1), row('a', 10), row('a', 9)]);
  assert.deepEqual(listed.map(agentName), ['a:9', 'a:10', 'b:1']);
});

test('one line describes the state of an agent', () => {
  assert.deepEqual(agents.map(remark), ['waiting for barrier step_12', 'out of memory', 'Barrier failed because: /job:worker/task:1 is in error', 'delays barrier step_12']);
});

test('the last heartbeat of a dead agent is that of its row at every reload', () => {
  const rows = { 'c/w:0': { index: 0, registered: 5_000, seen: 7_000, state: 'ERROR' } as AgentRow };
  for (const now of [100_000, 200_000]) {
    keepSeen(rows, () => undefined);
    takeAges({ c: { unit_ms: 100, jobs: { w: '-' } } }, now, (name) => rows[name as 'c/w:0']);
    assert.equal(rows['c/w:0'].seen, 7_000);
  }
});

test('an agent that was silent since the restart is neither connected nor dead', () => {
  const restored: AgentRow = { ...agents[0]!, unheard: true, waits: [] };
  assert.equal(plight(restored), 'unheard');
  assert.equal(remark(restored), 'no heartbeat since the server restarted');
  assert.ok(troubled(restored));
  assert.ok(!troubled(agents[0]!));
  assert.equal(plight({ ...restored, state: 'LATE' }), 'late');
  assert.equal(plight({ ...restored, state: 'ERROR' }), 'victim');
  const rows = { 'c/w:0': { ...restored, seen: undefined } as unknown as AgentRow };
  keepSeen(rows, () => undefined);
  assert.equal(rows['c/w:0'].seen, 0, 'the time is unknown');
});

test('the host does not include the port', () => {
  assert.equal(hostOf('10.0.0.1:4711'), '10.0.0.1');
  assert.equal(hostOf('[::1]:80'), '[::1]');
  assert.equal(hostOf(''), '');
});

test('changes refer to ranges of known tasks', () => {
  const rows = new Map(agents.map((a) => [`default/${agentName(a)}`, a]));
  const set = { state: 'LATE', late_for: 'b', late_since: 5, waits: [] } as const;
  const changed = changedRows([{ job: 'default/worker', tasks: [0, 1, 3, 3, 7, 9], set: { ...set, waits: [] } }], (name) => rows.get(name));
  assert.deepEqual(Object.keys(changed), ['default/worker:0', 'default/worker:1', 'default/worker:3']);
  assert.equal(changed['default/worker:1']!.error, undefined, 'outdated fields are removed');
  assert.equal(changed['default/worker:1']!.address, rows.get('default/worker:1')!.address);
  assert.equal(rows.get('default/worker:1')!.state, 'ERROR', 'rows are not changed in place');
});

test('the column of ages gives the last heartbeat, also of replaced rows', () => {
  const rows = new Map([0, 1, 2].map((index) => [`c/w:${index}`, { index, registered: 5_000, seen: -1 } as AgentRow]));
  takeAges({ c: { unit_ms: 100, jobs: { w: 'AB-/' } } }, 10_000, (name) => rows.get(name));
  assert.deepEqual(
    [...rows.values()].map((row) => row.seen),
    [10_000, 9_900, -1],
    'without an age the value is kept',
  );
  const again = { 'c/w:1': { index: 1, registered: 5_000 } as AgentRow, 'c/w:9': { index: 9, registered: 7_000 } as AgentRow };
  keepSeen(again, (name) => rows.get(name));
  assert.equal(again['c/w:1'].seen, 9_900);
  assert.equal(again['c/w:9'].seen, 7_000, 'a new agent was last seen when it registered');
  const back = { 'c/w:1': { index: 1, registered: 20_000 } as AgentRow };
  keepSeen(back, (name) => rows.get(name));
  assert.equal(back['c/w:1'].seen, 20_000, 'and so was a returning agent');
});
