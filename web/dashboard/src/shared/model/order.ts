// Lists tasks with problems first, then sorts tasks by job and index.

import { CONNECTED, type Tasks } from './tasks';

// Sorts like (job, index): 17 bits of job and 32 bits of index. With four bits of state above them, the number fits exactly into
// a double.
function place(tasks: Tasks, slot: number): number {
  return tasks.jobAt(slot) * 2 ** 32 + tasks.indexAt(slot);
}

function sorted(tasks: Tasks, slots: number[], key: Float64Array): Float64Array {
  slots.sort((a, b) => key[a]! - key[b]!);
  return Float64Array.from(slots, (slot) => tasks.idAt(slot));
}

export function matches(tasks: Tasks, slot: number, query: string): boolean {
  return (
    tasks.nameAt(slot).toLowerCase().includes(query) ||
    tasks.hostAt(slot).toLowerCase().includes(query) ||
    tasks.incarnationAt(slot).toLowerCase().includes(query) ||
    (query === 'cordoned' && tasks.cordonedAt(slot))
  );
}

// `cluster` is empty for the main cluster, and undefined for all clusters.
export function listOrder(tasks: Tasks, query = '', cluster?: string): Float64Array {
  const wanted = query.trim().toLowerCase();
  const key = new Float64Array(tasks.size);
  const slots: number[] = [];
  for (let slot = 0; slot < tasks.size; ++slot) {
    if (cluster !== undefined && tasks.clusterAt(slot) !== cluster) continue;
    if (wanted !== '' && !matches(tasks, slot, wanted)) continue;
    // The most severe state has the highest number and comes first. Cordoned workers come before healthy workers.
    const aside = tasks.cordonedAt(slot) && tasks.stateAt(slot) === CONNECTED;
    key[slot] = place(tasks, slot) - (2 * tasks.stateAt(slot) + Number(aside)) * 2 ** 49;
    slots.push(slot);
  }
  return sorted(tasks, slots, key);
}

export interface MapGroup {
  label: string;
  ids: Float64Array;
}

const MAX_GROUPS = 10;

// Groups follow the order of first occurrence. Beyond ten jobs, the smallest jobs share a group, because their titles would leave
// no room for the cells.
export function mapGroups(tasks: Tasks): MapGroup[] {
  const byJob = new Map<number, number[]>();
  const key = new Float64Array(tasks.size);
  for (let slot = 0; slot < tasks.size; ++slot) {
    key[slot] = place(tasks, slot);
    const job = tasks.jobAt(slot);
    const slots = byJob.get(job);
    if (slots) slots.push(slot);
    else byJob.set(job, [slot]);
  }
  const jobs = [...byJob.entries()].sort(([a], [b]) => a - b);
  let shown = jobs;
  let others: number[] = [];
  if (jobs.length > MAX_GROUPS) {
    const bySize = [...jobs].sort(([, a], [, b]) => b.length - a.length);
    const large = new Set(bySize.slice(0, MAX_GROUPS - 1).map(([job]) => job));
    shown = jobs.filter(([job]) => large.has(job));
    others = jobs.filter(([job]) => !large.has(job)).flatMap(([, slots]) => slots);
  }
  const groups = shown.map(([job, slots]) => ({ label: tasks.jobNames[job]!, ids: sorted(tasks, slots, key) }));
  if (others.length > 0) groups.push({ label: `${jobs.length - shown.length} other roles`, ids: sorted(tasks, others, key) });
  return groups;
}
