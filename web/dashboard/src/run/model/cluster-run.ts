// Shows agents that Muster did not start in the timeline of programs: runs are shown as attempts, and agents as ranks.

import type { Generation } from 'muster-rest';
import { agentName, hostOf, taskName } from '../../shared/model/agents';
import type { AgentRow, EventRow } from '../../shared/model/protocol';
import type { AttemptDetail } from './attempt';
import type { AttemptView, RankView } from '../../shared/model/programs';
import type { PassedBarrier } from '../../agreement/model/straggler-protocol';
import type { Seen } from './timeline';

export type RunView = Generation;

const RANKS: Partial<Record<AgentRow['state'], RankView['state']>> = { CONNECTED: 'RUNNING', LATE: 'RUNNING', ERROR: 'FAILED', DISCONNECTED: 'STOPPED' };
const ENDS = /^TASK_(ERROR|LEFT)$/;
const TOLD = /^(TASK_|BARRIER|GENERATION_FAILED|NOTICE_)/;

export interface ClusterRun {
  attempts: readonly AttemptView[];
  ranks: readonly RankView[];
  seen: Seen;
}

// An agent's bar ends at the time of its event, or at its last heartbeat. If an agent failed because of another agent, its bar
// ends with the run. Barriers and events belong to the newest run; earlier runs have only times and causes.
export function clusterRun(runs: readonly RunView[], agents: readonly AgentRow[], barriers: readonly PassedBarrier[], events: readonly EventRow[]): ClusterRun {
  const begun = runs.filter((r) => r.started_ms > 0);
  const named = new Map(agents.map((a, rank) => [agentName(a), rank]));
  const attempts = begun.map((r): AttemptView => {
    const rank = named.get(taskName(r.cause?.task ?? ''));
    return {
      attempt: r.number,
      end: r.state === 'FAILED' ? 'FAILED' : r.ended_ms ? 'SUCCEEDED' : 'NONE',
      ranks: agents.length,
      hosts: new Set(agents.map((a) => hostOf(a.address))).size,
      begun_ms: r.started_ms,
      ...(r.ended_ms ? { ended_ms: r.ended_ms } : {}),
      ...(r.cause ? { cause: { kind: 'COORDINATION', ...(rank === undefined ? {} : { rank }), text: [r.cause.task && taskName(r.cause.task), r.cause.message].filter(Boolean).join(': ') } } : {}),
    };
  });
  const newest = attempts.at(-1);
  const told = newest ? events.filter((e) => e.time_ms >= newest.begun_ms && TOLD.test(e.kind)) : [];
  const ended = new Map(told.filter((e) => ENDS.test(e.kind)).map((e) => [taskName(e.subject), e.time_ms]));
  const ranks = agents.map((a, rank): RankView => {
    const gone = a.state === 'ERROR' || a.state === 'DISCONNECTED';
    const end = ended.get(agentName(a)) ?? ((a.casualty && newest?.ended_ms) || a.seen);
    return {
      rank,
      task: agentName(a),
      state: RANKS[a.state] ?? 'STARTING',
      worker: '',
      host: hostOf(a.address),
      address: a.address,
      ...(a.registered ? { started_ms: a.registered } : {}),
      ...(gone && end ? { ended_ms: end } : {}),
      agent: { state: a.state, ...(a.error ? { error: a.error } : {}), ...(a.late_for ? { late_for: a.late_for } : {}), ...(a.late_since ? { late_since: a.late_since } : {}) },
    };
  });
  const details = new Map<number, AttemptDetail>();
  if (newest)
    details.set(newest.attempt, {
      ...newest,
      events: told.map((e) => ({ at_ms: e.time_ms, kind: e.kind, about: e.subject, text: e.text })),
      barriers: barriers.filter((b) => b.ended_ms >= newest.begun_ms),
      latecomers: [],
      stacks: [],
      ended: [],
    });
  return { attempts, ranks, seen: { details, names: agents.map(agentName), each: 'run' } };
}
