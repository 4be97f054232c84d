// Lists agents that caused a failure first, then the agents affected by the failure.

import type { AgentChange, AgentRow, HeartbeatAges } from './protocol';
import type { Shape } from './shape';

export type Plight = 'victim' | 'late' | 'casualty' | 'missing' | 'unheard' | 'registering' | 'disconnected' | 'connected';

export const PLIGHTS: readonly Plight[] = ['victim', 'late', 'casualty', 'missing', 'unheard', 'registering', 'disconnected', 'connected'];

export const PLIGHT_WORDS: Record<Plight, string> = {
  victim: 'Error',
  late: 'Late',
  casualty: 'Casualty',
  missing: 'Missing',
  unheard: 'Silent',
  registering: 'Registering',
  disconnected: 'Left',
  connected: 'Connected',
};

export const PLIGHT_SHAPES: Record<Plight, Shape> = {
  victim: 'error',
  late: 'late',
  casualty: 'disconnected',
  missing: 'waiting',
  unheard: 'waiting',
  registering: 'restarting',
  disconnected: 'disconnected',
  connected: 'connected',
};

export function plight(agent: AgentRow): Plight {
  switch (agent.state) {
    case 'ERROR':
      return agent.casualty ? 'casualty' : 'victim';
    case 'LATE':
      return 'late';
    case 'MISSING':
      return 'missing';
    case 'REGISTERING':
      return 'registering';
    case 'DISCONNECTED':
      return 'disconnected';
    default:
      return agent.unheard ? 'unheard' : 'connected';
  }
}

export const troubled = (agent: AgentRow): boolean => !['registering', 'disconnected', 'connected'].includes(plight(agent));

export const agentName = (agent: AgentRow): string => `${agent.job}:${agent.index}`;

// Converts "/job:worker/task:3" to "worker:3".
// Replaces the full names of tasks in a sentence of the server.
export const shortTasks = (text: string): string => text.replace(/\/job:([\w.-]+)(?:\/replica:\d+)?\/task:(\d+)/g, '$1:$2');
export const taskName = (name: string): string => name.replace(/^\/job:(.*)\/task:(\d+)$/, '$1:$2');

export const hostOf = (address: string): string => address.replace(/:\d+$/, '');

export function countPlights(agents: readonly AgentRow[]): Record<Plight, number> {
  const counts = Object.fromEntries(PLIGHTS.map((p) => [p, 0])) as Record<Plight, number>;
  for (const agent of agents) ++counts[plight(agent)];
  return counts;
}

export function listAgents(agents: readonly AgentRow[], query = '', only: Plight | null = null): AgentRow[] {
  const wanted = query.trim().toLowerCase();
  const rank = new Map(PLIGHTS.map((p, n) => [p, n]));
  return agents
    .filter((a) => only === null || plight(a) === only)
    .filter((a) => !wanted || [agentName(a), a.address, a.incarnation].some((text) => text.toLowerCase().includes(wanted)))
    .map((a) => [rank.get(plight(a))!, a] as const)
    .sort(([l, a], [r, b]) => l - r || (a.job < b.job ? -1 : a.job > b.job ? 1 : a.index - b.index))
    .map(([, a]) => a);
}

export function remark(agent: AgentRow): string {
  if (agent.error) return agent.error;
  if (plight(agent) === 'unheard') return 'no heartbeat since the server restarted';
  if (agent.late_for) return `delays barrier ${agent.late_for}`;
  return agent.waits.length > 0 ? `waiting for ${agent.waits.join(', ')}` : '';
}

export function changedRows(changes: readonly AgentChange[], row: (name: string) => AgentRow | undefined): Record<string, AgentRow> {
  const rows: Record<string, AgentRow> = {};
  for (const { job: of, tasks, set } of changes)
    for (let n = 0; n < tasks.length; n += 2)
      for (let at = tasks[n]!; at <= tasks[n + 1]!; ++at) {
        const before = row(`${of}:${at}`);
        if (!before) continue;
        const { state, code, error, casualty, late_for, late_since, waits, ...who } = before;
        rows[`${of}:${at}`] = { ...who, ...set };
      }
  return rows;
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

// Sets the last heartbeat in new rows, which do not contain this time while heartbeats arrive. Keeps the value from the ages
// column unless the agent has registered since then.
export function keepSeen(rows: Record<string, AgentRow>, before: (name: string) => AgentRow | undefined): void {
  for (const [name, row] of Object.entries(rows)) row.seen ??= row.unheard ? 0 : Math.max(before(name)?.seen ?? 0, row.registered);
}

// Reads the ages column: one character per task, by index. '-' means that no heartbeat was received, or that heartbeats
// have ended and the row contains the time.
export function takeAges(ages: HeartbeatAges, now: number, row: (name: string) => AgentRow | undefined): void {
  for (const [cluster, of] of Object.entries(ages))
    for (const [job, column] of Object.entries(of.jobs))
      for (let index = 0; index < column.length; ++index) {
        const agent = row(`${cluster}/${job}:${index}`);
        const units = DIGITS.indexOf(column[index]!);
        if (agent && units >= 0) agent.seen = now - units * of.unit_ms;
      }
}
