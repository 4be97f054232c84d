// A running barrier with arrival times, as returned by GET /clusters/{cluster}/barriers/{id}. All functions are pure.

import type { BarrierView } from 'muster-rest';
import { taskName } from '../../shared/model/agents';
import { age, clock, count, some } from '../../shared/model/format';
import type { BarrierRow } from '../../shared/model/protocol';

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

const NAMED = 3; // names in the sentence; the dots and the lists name the other members

// Formats as "7 of 8 arrived, worker:3 missing for 42 s". The time counts from the moment when half of the members had arrived.
export function standingLine(b: Pick<BarrierRow, 'arrived' | 'of' | 'missing'>, since: number, now: number): string {
  const absent = b.of - b.arrived;
  const line = `${count(b.arrived)} of ${count(b.of)} arrived`;
  if (absent === 0) return line;
  const names = b.missing.map((m) => taskName(m.task));
  const named = names.length > 0 ? some(names, NAMED, absent) : count(absent);
  return `${line}, ${named} missing${since > 0 ? ` for ${age(now - since)}` : ''}`;
}

// Returns the text of a dot, for its title and for screen readers.
export function memberLine(m: Member, first: number, since: number, now: number): string {
  if (m.came > 0) return `${m.task} arrived at ${clock(m.came)}${m.came > first ? `, ${age(m.came - first)} after the first` : ', first'}`;
  return since > 0 ? `${m.task} is missing for ${age(now - since)}` : `${m.task} has not arrived`;
}

export interface HostFold {
  host: string; // empty for members whose host is unknown
  arrived: number;
  of: number;
  missing: string[];
}

// Groups members by host; hosts with missing members come first.
export function foldByHost(all: readonly Member[], hostOf: (task: string) => string): HostFold[] {
  const folds = new Map<string, HostFold>();
  for (const { task, came } of all) {
    const host = hostOf(task);
    const fold = folds.get(host) ?? { host, arrived: 0, of: 0, missing: [] };
    folds.set(host, fold);
    ++fold.of;
    if (came > 0) ++fold.arrived;
    else fold.missing.push(task);
  }
  return [...folds.values()].sort((a, b) => b.missing.length - a.missing.length || (a.host < b.host ? -1 : 1));
}
