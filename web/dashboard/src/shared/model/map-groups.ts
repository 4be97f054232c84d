// Groups the cells of the cluster map: closure workers by job, and agents by cluster and job.

import { plight, type Plight } from './agents';
import type { MapGroup } from './order';
import { TASK_STATES, type AgentRow, type ClusterRow, type TaskState } from './protocol';
import type { Tasks } from './tasks';

export interface CellGroup extends MapGroup {
  agents?: readonly AgentRow[]; // if present, the IDs are indices into this list
  devices: number;
}

export const CELL_STATES = [...TASK_STATES, 'UNHEARD'] as const;
export type CellState = TaskState | 'UNHEARD';

// Maps each state of an agent to a cell state. Missing agents are shown as registering; agents that failed because of
// another agent's error are shown as failed.
const STATE_OF: Record<Plight, CellState> = {
  victim: 'ERROR',
  late: 'LATE',
  casualty: 'ERROR',
  missing: 'REGISTERING',
  unheard: 'UNHEARD',
  registering: 'REGISTERING',
  disconnected: 'DISCONNECTED',
  connected: 'CONNECTED',
};

export const agentState = (agent: AgentRow): number => CELL_STATES.indexOf(STATE_OF[plight(agent)]);

// A cluster with closure workers that never had an agent is declared only for its port and size.
export const hasAgents = (cluster: ClusterRow | undefined): boolean => cluster?.state !== 'WAITING' || !cluster.has_workers;

// If there are several clusters, labels contain the cluster name.
export function cellGroups(tasks: Tasks, workers: readonly MapGroup[], agents: readonly AgentRow[], clusters: readonly ClusterRow[], of: ClusterRow | undefined): CellGroup[] {
  const mine = (group: MapGroup): MapGroup => {
    if (!of) return group;
    const pool = of.main ? '' : of.name;
    return { label: group.label, ids: group.ids.filter((id) => tasks.clusterAt(tasks.slot(id) ?? -1) === pool) };
  };
  const groups: CellGroup[] = workers.map((group) => ({ ...mine(group), devices: 0 })).filter((group) => group.ids.length > 0);
  const several = clusters.length > 1;
  const byJob = new Map<string, AgentRow[]>();
  const byName = new Map(clusters.map((cluster) => [cluster.name, cluster]));
  for (const agent of agents) {
    if (of && agent.cluster !== of.name) continue;
    if (!hasAgents(byName.get(agent.cluster))) continue;
    const key = several ? `${agent.cluster}/${agent.job}` : agent.job;
    const list = byJob.get(key);
    if (list) list.push(agent);
    else byJob.set(key, [agent]);
  }
  for (const [label, list] of [...byJob].sort(([a], [b]) => (a < b ? -1 : 1))) {
    list.sort((a, b) => a.index - b.index);
    groups.push({ label, ids: Float64Array.from(list, (_, n) => n), agents: list, devices: list.reduce((sum, agent) => sum + agent.devices, 0) });
  }
  return groups;
}

// The result is memoised, because the layout depends on its identity.
export function keptCellGroups(): typeof cellGroups {
  let of: readonly unknown[] = [];
  let groups: readonly CellGroup[] = [];
  return (tasks, ...others) => {
    const now = [tasks, tasks.rowsVersion, ...others];
    if (now.some((each, n) => each !== of[n])) {
      of = now;
      groups = cellGroups(tasks, ...others);
    }
    return groups as CellGroup[];
  };
}

// Returns counts, ordered like CELL_STATES. For all clusters, the counts come from Tasks, which avoids reading ten
// thousand rows.
export function countStates(tasks: Tasks, groups: readonly CellGroup[], of: ClusterRow | undefined): number[] {
  const counts = of ? new Array<number>(CELL_STATES.length).fill(0) : [...tasks.counts, 0];
  for (const { ids, agents } of groups) {
    for (const agent of agents ?? []) ++counts[agentState(agent)]!;
    if (agents || !of) continue;
    for (const id of ids) {
      const slot = tasks.slot(id);
      if (slot !== undefined) ++counts[tasks.stateAt(slot)]!;
    }
  }
  return counts;
}

export const connectedOf = (agents: ClusterRow['agents']): number => agents.connected - (agents.unheard ?? 0);

export interface TaskTotals {
  total: number;
  connected: number;
  late: number;
  error: number;
  gone: number;
  missing: number; // agents that have not connected yet
  unheard: number; // agents without a heartbeat since a server restart
}

export function taskTotals(workers: { connected: number; late: number; error: number; disconnected: number; total: number }, clusters: readonly ClusterRow[]): TaskTotals {
  const { connected, late, error, disconnected, total } = workers;
  const sum = { total, connected, late, error, gone: disconnected, missing: Math.max(0, total - connected - late - error - disconnected), unheard: 0 };
  for (const cluster of clusters) {
    const { agents } = cluster;
    if (!hasAgents(cluster)) continue;
    sum.total += cluster.tasks;
    sum.connected += connectedOf(agents);
    sum.unheard += agents.unheard ?? 0;
    sum.late += agents.late;
    sum.error += agents.error;
    sum.gone += agents.disconnected;
    sum.missing += agents.missing + agents.registering;
  }
  return sum;
}
