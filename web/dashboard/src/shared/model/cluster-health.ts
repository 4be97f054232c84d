// Derives a cluster's state, as a shape and a word, from its agents and closure workers. All functions are pure.

import type { Shape } from './shape';
import { connectedOf, hasAgents } from './map-groups';
import type { ClusterRow } from './protocol';
import { TASK_STATES } from './protocol';
import type { Tasks } from './tasks';

interface Fares {
  connected: number;
  late: number;
  error: number;
  coming: number; // agents that have not connected yet
  unheard: number; // agents without a heartbeat since a server restart
  gone: number;
  total: number;
}

export type Workers = Pick<Fares, 'connected' | 'late' | 'error' | 'total'> & { disconnected: number };

// Returns the workers grouped by cluster; the main cluster has an empty name.
export function workersByPool(tasks: Tasks): Map<string, Workers> {
  const pools = new Map<string, Workers>();
  for (let slot = 0; slot < tasks.size; ++slot) {
    const pool = tasks.clusterAt(slot);
    let of = pools.get(pool);
    if (!of) pools.set(pool, (of = { connected: 0, late: 0, error: 0, disconnected: 0, total: 0 }));
    const state = TASK_STATES[tasks.stateAt(slot)]!.toLowerCase();
    if (state === 'connected' || state === 'late' || state === 'error' || state === 'disconnected') ++of[state];
    ++of.total;
  }
  return pools;
}

export function fares(c: ClusterRow, workers?: Workers): Fares {
  const { agents } = c;
  const w = workers ?? { connected: 0, late: 0, error: 0, disconnected: 0, total: 0 };
  const counts = hasAgents(c);
  return {
    connected: w.connected + (counts ? connectedOf(agents) : 0),
    late: w.late + (counts ? agents.late : 0),
    error: w.error + (counts ? agents.error : 0),
    coming: counts ? agents.missing + agents.registering : 0,
    unheard: counts ? (agents.unheard ?? 0) : 0,
    gone: w.disconnected + (counts ? agents.disconnected : 0),
    total: w.total + (counts ? c.tasks : 0),
  };
}

export function health(c: ClusterRow, f: Fares): [shape: Shape, word: string] {
  if (c.state === 'FAILED') return ['error', 'failed'];
  if (f.error > 0) return ['error', `${f.error} in error`];
  if (f.late > 0) return ['late', `${f.late} late`];
  if (c.ends) return ['restarting', 'ending'];
  if (f.coming > 0) return ['restarting', `${f.coming} not connected yet`];
  if (f.unheard > 0) return ['waiting', 'silent since the server restarted'];
  if (f.total === 0) return ['waiting', 'empty'];
  if (c.state === 'FINISHED' || f.gone === f.total) return ['disconnected', 'finished'];
  return ['connected', 'well'];
}
