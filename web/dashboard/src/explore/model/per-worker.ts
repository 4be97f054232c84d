// Lists per-worker values by worker; workers with problems come first.

import { failureLine } from '../../shared/model/closures';
import type { PerWorkerView } from '../../shared/model/views';

type Part = PerWorkerView['components'][number];
type ValueStatus = Part['status'];
const RANK: Record<ValueStatus, number> = { ABORTED: 0, NOT_READY: 1, READY: 2 };

// Sorts "worker:2" before "worker:10".
function inOrder(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

export function worstFirst(parts: readonly Part[]): Part[] {
  return [...parts].sort((a, b) => RANK[a.status] - RANK[b.status] || inOrder(a.task, b.task));
}

const WORDS: Record<ValueStatus, string> = { READY: 'ready', NOT_READY: 'being built', ABORTED: 'failed' };

// Returns for example "queued behind etl.slow" if the worker runs another closure first.
export const standing = (c: Part): string => (c.queued_behind ? `queued behind ${c.queued_behind}` : WORDS[c.status]);

export const ready = (v: PerWorkerView): number => v.components.filter((c) => c.status === 'READY').length;

export interface WorkerParts {
  task: string;
  has: string[];
  lacks: { name: string; status: ValueStatus; standing: string; why: string }[];
}

export function byWorker(values: readonly PerWorkerView[]): WorkerParts[] {
  const found = new Map<string, WorkerParts>();
  for (const v of values)
    for (const c of v.components) {
      let worker = found.get(c.task);
      if (!worker) found.set(c.task, (worker = { task: c.task, has: [], lacks: [] }));
      const name = v.name || v.function;
      if (c.status === 'READY') worker.has.push(name);
      else worker.lacks.push({ name, status: c.status, standing: standing(c), why: c.error ? failureLine(c.error) : '' });
    }
  return [...found.values()].sort((a, b) => Number(b.lacks.length > 0) - Number(a.lacks.length > 0) || inOrder(a.task, b.task));
}
