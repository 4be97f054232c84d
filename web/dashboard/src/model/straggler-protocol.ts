// What GET /api/v1/clusters/{c}/stragglers answers: who came last to the newest barriers that passed.

import { plural } from './format';

export interface PassedBarrier {
  id: string;
  counter: number;
  ended_ms: number;
  participants: number;
  last: string;
  host: string;
  late_ms: number; // after the median arrival
  spread_ms: number; // from the first to the last
}
export interface LateTask {
  task: string;
  host: string;
  last: number; // how often it came last
  barriers: number; // of those it took part in
  late_mean_ms: number;
  late_max_ms: number;
}
export interface LateHost {
  host: string;
  tasks: number;
  last: number;
  late_mean_ms: number;
  late_max_ms: number;
}
export interface Stragglers {
  generation: number;
  barriers: PassedBarrier[];
  tasks: LateTask[];
  hosts: LateHost[];
}

const TASKS_LISTED = 100; // by the server

// Whom the list has, and whom not.
export function lateNote({ barriers, tasks }: Stragglers): string {
  if (tasks.length >= TASKS_LISTED) return `the ${TASKS_LISTED} that come latest; late: after the median arrival`;
  const of = Math.max(...barriers.map((b) => b.participants));
  return `${tasks.length} of ${plural(of, 'task')} ${tasks.length === 1 ? 'was' : 'were'} late at least once: later than half of the others${tasks.length < of ? '. The rest were always on time' : ''}`;
}

// One sentence, if one host or task is last far more often than chance has it; empty if nobody stands out.
export function verdict({ barriers, tasks, hosts }: Stragglers): string {
  const all = barriers.length;
  if (all < 4) return '';
  const [host] = [...hosts].sort((a, b) => b.last - a.last);
  const [task] = [...tasks].sort((a, b) => b.last - a.last);
  const share = (n: number) => `${n} of the last ${all} barriers`;
  if (task && task.last * 2 > all) return `${task.task}${task.host ? ` on ${task.host}` : ''} came last to ${share(task.last)}.`;
  if (host && hosts.length > 1 && host.last * 2 > all) return `A task on ${host.host} came last to ${share(host.last)}.`;
  return '';
}
