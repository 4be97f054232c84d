// Response of GET /api/v1/clusters/{c}/stragglers: the last arrivals at the newest passed barriers.

import type { Stragglers } from 'muster-rest';
import { plural } from '../../shared/model/format';

export type { Stragglers };
export type PassedBarrier = Stragglers['barriers'][number];
export type LateTask = Stragglers['tasks'][number];
export type LateHost = Stragglers['hosts'][number];

const TASKS_LISTED = 100; // limit of the server

export function lateNote({ barriers, tasks }: Stragglers): string {
  if (tasks.length >= TASKS_LISTED) return `the ${TASKS_LISTED} latest tasks; late means after the median arrival`;
  const of = Math.max(...barriers.map((b) => b.participants));
  return `${tasks.length} of ${plural(of, 'task')} ${tasks.length === 1 ? 'was' : 'were'} late at least once, that is, after the median arrival${tasks.length < of ? '. All other tasks were always on time' : ''}`;
}

// Returns an empty string unless a host or task is last far more often than by chance.
export function verdict({ barriers, tasks, hosts }: Stragglers): string {
  const all = barriers.length;
  if (all < 4) return '';
  const [host] = [...hosts].sort((a, b) => b.last - a.last);
  const [task] = [...tasks].sort((a, b) => b.last - a.last);
  const share = (n: number) => `${n} of the last ${all} barriers`;
  if (task && task.last * 2 > all) return `${task.task}${task.host ? ` on ${task.host}` : ''} arrived last at ${share(task.last)}.`;
  if (host && hosts.length > 1 && host.last * 2 > all) return `A task on ${host.host} arrived last at ${share(host.last)}.`;
  return '';
}
