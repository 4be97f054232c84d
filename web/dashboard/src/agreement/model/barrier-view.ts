// A running barrier with arrival times, as returned by GET /clusters/{cluster}/barriers/{id}. All functions are pure.

import type { BarrierView } from 'muster-rest';
import { taskName } from '../../shared/model/agents';

export type { BarrierView };

export interface Member {
  task: string; // for example "worker:3"
  came: number; // Unix ms; 0 if the task has not arrived
}

// Returns arrived members in order of arrival, then missing members.
export function members({ arrivals = [], missing = [] }: BarrierView): Member[] {
  const came = arrivals.map(({ task, came_ms }) => ({ task: taskName(task), came: came_ms })).sort((a, b) => a.came - b.came);
  return [...came, ...missing.map(({ task }) => ({ task: taskName(task), came: 0 }))];
}

// Returns the time at which half of the members had arrived, or 0 if fewer members have arrived. From this time on, missing tasks
// count as awaited.
export function awaitedSince(all: readonly Member[]): number {
  return all[Math.ceil(all.length / 2) - 1]?.came ?? 0;
}
