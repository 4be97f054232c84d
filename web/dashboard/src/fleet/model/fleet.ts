// The tree of hosts and workers: sums, filters and order.

import type { HostPage } from 'muster-rest';
import { minute, NONE } from '../../shared/model/format';
import type { Shape } from '../../shared/model/shape';

export type Host = HostPage['hosts'][number];
export type Worker = Host['workers'][number];

export const SHOWS = ['', 'connected', 'late', 'lost', 'cordoned', 'slow'] as const;
export type Show = (typeof SHOWS)[number];

export const SORTS = ['host', 'cpu', 'memory', 'gpu', 'running', 'queued', 'values', 'recent', 'slowness'] as const;
export type Sort = (typeof SORTS)[number];

export interface Branch {
  host: Host;
  workers: readonly Worker[]; // those that match the filter
  sum: Sum;
}

export interface Sum {
  running: number;
  slots: number;
  queued: number;
  values: number;
  recent: number; // failures of the last hour
  slowness: number; // of the slowest worker; 0 if unknown
}

export const isSlow = (w: Worker): boolean => w.slow_since_ms !== undefined;
const isLost = (w: Worker): boolean => w.state === 'ERROR' || w.state === 'DISCONNECTED';

const PREDICATES: Record<Show, (w: Worker) => boolean> = {
  '': () => true,
  connected: (w) => w.state === 'CONNECTED',
  late: (w) => w.state === 'LATE',
  lost: isLost,
  cordoned: (w) => w.cordoned || w.draining,
  slow: isSlow,
};

export function countShows(hosts: readonly Host[]): Record<Show, number> {
  const counts = Object.fromEntries(SHOWS.map((show) => [show, 0])) as Record<Show, number>;
  for (const { workers } of hosts) for (const w of workers) for (const show of SHOWS) if (PREDICATES[show](w)) ++counts[show];
  return counts;
}

export function sumOf(workers: readonly Worker[]): Sum {
  const sum = { running: 0, slots: 0, queued: 0, values: 0, recent: 0, slowness: 0 };
  for (const w of workers) {
    sum.running += w.running;
    sum.slots += isLost(w) ? 0 : w.slots;
    sum.queued += w.sent_ahead;
    sum.values += w.value_bytes ?? 0;
    sum.recent += w.failed_last_hour;
    sum.slowness = Math.max(sum.slowness, w.slowness ?? 0);
  }
  return sum;
}

const part = (used: number | undefined, of: number | undefined): number => (used === undefined || !of ? -1 : used / of);

export function gpuBusy(machine: Host['machine']): number {
  const busy = machine?.gpus.flatMap((g) => (g.busy === undefined ? [] : [g.busy])) ?? [];
  return busy.length === 0 ? -1 : busy.reduce((a, b) => a + b, 0) / busy.length;
}

function hostKey({ host: { machine }, sum }: Branch, by: Exclude<Sort, 'host'>): number {
  if (by === 'cpu') return part(machine?.cpu, machine?.cpus);
  if (by === 'memory') return part(machine?.memory_bytes, machine?.memory_total_bytes);
  return by === 'gpu' ? gpuBusy(machine) : sum[by];
}

function workerKey(w: Worker, by: Exclude<Sort, 'host'>): number {
  if (by === 'cpu' || by === 'gpu') return 0; // unknown for a process
  return by === 'memory' ? (w.process_memory_bytes ?? 0) : sumOf([w])[by];
}

// Returns the hosts that have matching workers. Hosts and the workers of each host are sorted by the same column; equal ones
// keep the server's order.
export function treeOf(hosts: readonly Host[], text: string, show: Show, by: Sort, descending: boolean): Branch[] {
  const wanted = text.trim().toLowerCase();
  const sign = descending ? -1 : 1;
  const all = hosts.flatMap((host): Branch[] => {
    const whole = host.host.toLowerCase().includes(wanted);
    const workers = host.workers.filter((w) => PREDICATES[show](w) && (whole || w.task.toLowerCase().includes(wanted) || w.error.toLowerCase().includes(wanted)));
    if (workers.length === 0) return [];
    if (by !== 'host') workers.sort((a, b) => sign * (workerKey(a, by) - workerKey(b, by)));
    return [{ host, workers, sum: sumOf(workers) }];
  });
  if (by === 'host') return descending ? all.reverse() : all;
  return all.sort((a, b) => sign * (hostKey(a, by) - hostKey(b, by)));
}

const everyWorker = (hosts: readonly Host[]): Worker[] => hosts.flatMap(({ workers }) => workers);
const best = (of: readonly Worker[], key: (w: Worker) => number): Worker | null => of.reduce<Worker | null>((a, b) => (key(b) > (a ? key(a) : 0) ? b : a), null);

// The slow worker with the largest ratio.
export const slowest = (hosts: readonly Host[]): Worker | null => best(everyWorker(hosts).filter(isSlow), (w) => w.slowness ?? 0);
export const largestHolder = (hosts: readonly Host[]): Worker | null => best(everyWorker(hosts), (w) => w.value_bytes ?? 0);

export interface Slowness {
  slowness?: number | undefined;
  slow_since_ms?: number | undefined;
}

// Formats as "2.1 × slower than the median since 17:12", "1.0 ×" or "–".
export function slownessText({ slowness, slow_since_ms: since }: Slowness): string {
  if (slowness === undefined) return NONE;
  const times = `${slowness.toFixed(1)} ×`;
  return since === undefined ? times : `${times} slower than the median since ${minute(since)}`;
}

export function stateOf(w: Worker): { shape: Shape; word: string; title?: string } {
  if (w.state === 'ERROR') return { shape: 'error', word: 'Error' };
  if (w.state === 'DISCONNECTED') return { shape: 'disconnected', word: 'Disconnected' };
  if (w.draining) return { shape: 'late', word: 'Draining', title: 'Finishes its running closures and then exits' };
  if (w.cordoned) return { shape: 'late', word: 'Cordoned', title: 'Receives no new closures until it is uncordoned' };
  if (w.away) return { shape: 'late', word: 'Away', title: 'The connection broke; the worker can still reconnect' };
  return w.state === 'LATE' ? { shape: 'late', word: 'Late' } : { shape: 'connected', word: 'Connected' };
}

// Returns an SVG path of the ratios in a box of 100 x 40, with the largest ratio (at least 2) at the top.
export function ratioPath(ratios: readonly (number | null)[]): { path: string; top: number; y(ratio: number): number } {
  const top = Math.max(2, ...ratios.map((r) => r ?? 0));
  const y = (ratio: number) => 39 - (38 * ratio) / top;
  let path = '';
  ratios.forEach((ratio, n) => {
    if (ratio === null) return;
    const x = (100 * (n + 0.5)) / ratios.length;
    const joined = n > 0 && ratios[n - 1] !== null;
    path += joined ? `L${x.toFixed(1)} ${y(ratio).toFixed(1)}` : `M${x.toFixed(1)} ${y(ratio).toFixed(1)}h0.01`;
  });
  return { path, top, y };
}
