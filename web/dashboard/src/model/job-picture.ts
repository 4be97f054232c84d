// How long the closures of a job ran, as a histogram and by function and worker: of those that were looked at. Pure.

import { hasEnded, nameOf, ran, whereOf } from './rest/closures';
import type { ClosureView } from './rest/views';
import { FAILED, SUCCEEDED, type StreamBody } from './stream-protocol';

export interface Ran {
  id: string;
  from: number; // Unix ms
  ms: number;
  failed: boolean;
  function: string; // as it is shown
  called: string; // as the server filters by it
  worker: string;
}

export interface Bin {
  from: number; // ms
  to: number;
  n: number;
  failed: number; // of them
}

export interface Group {
  name: string;
  filter: string;
  n: number;
  failed: number;
  p50: number;
  max: number;
  sum: number;
}

// What REST tells of all executions of a job; those that were tried again count each time.
export interface TimesView {
  executions: number;
  failed: number;
  busy_ms: number;
  p50_us: number;
  p90_us: number;
  p99_us: number;
  max_us: number;
}
export interface DurationsView extends TimesView {
  buckets: { up_to_us?: number; executions: number; failed: number }[]; // the shortest first; without: longer than all
  functions: (TimesView & { name: string })[];
  workers: (TimesView & { name: string })[];
  tables_gone?: boolean; // of a job so old
}

export interface Picture {
  n: number; // of what it is
  said: readonly (readonly [word: string, ms: number])[];
  bins: Bin[];
  functions: Group[];
  workers: Group[];
}

const SAID = [['median', 0.5], ['90% took at most', 0.9], ['99% at most', 0.99], ['the longest', 1]] as const;

export function pictureOf(all: readonly Ran[]): Picture {
  const sorted = all.map(({ ms }) => ms).sort((a, b) => a - b);
  return { n: all.length, said: SAID.map(([word, p]) => [word, percentile(sorted, p)]), bins: bins(all), functions: groups(all, 'function'), workers: groups(all, 'worker') };
}

// Narrow buckets become bins that are twice as wide each, as those of a list.
export function pictureIn(d: DurationsView): Picture {
  const binned = new Map<number, Bin>();
  for (const { up_to_us = d.max_us, executions: n, failed } of d.buckets) add(binned, Math.max(0, up_to_us / 1000 - 1e-3), n, failed);
  const group = ({ name, executions: n, failed, p50_us, max_us, busy_ms: sum }: DurationsView['functions'][number]): Group => ({ name: name || 'others', filter: name, n, failed, p50: p50_us / 1000, max: max_us / 1000, sum });
  const times = [d.p50_us, d.p90_us, d.p99_us, d.max_us];
  return { n: d.executions, said: SAID.map(([word], n) => [word, times[n]! / 1000]), bins: without(binned), functions: d.functions.map(group), workers: d.workers.map(group) };
}

export function ranOf(closures: readonly ClosureView[]): Ran[] {
  return closures.flatMap((c) => {
    const { from, to } = ran(c);
    return hasEnded(c) && from > 0 && to > 0 ? [{ id: c.id, from, ms: Math.max(0, to - from), failed: c.state === 'FAILED', function: nameOf(c), called: c.function, worker: whereOf(c) }] : [];
  });
}

// The nearest rank; 0 of nothing.
export function percentile(sorted: readonly number[], p: number): number {
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? 0;
}

// Each bin is twice as wide as the one before; the first holds what took less than a millisecond.
export function bins(all: readonly Ran[]): Bin[] {
  const found = new Map<number, Bin>();
  for (const { ms, failed } of all) add(found, ms, 1, Number(failed));
  return without(found);
}

function add(to: Map<number, Bin>, ms: number, n: number, failed: number): void {
  const at = ms < 1 ? 0 : Math.floor(Math.log2(ms)) + 1;
  let bin = to.get(at);
  if (!bin) to.set(at, (bin = empty(at)));
  bin.n += n;
  bin.failed += failed;
}

// In their order, and without holes.
function without(found: ReadonlyMap<number, Bin>): Bin[] {
  if (found.size === 0) return [];
  const first = Math.min(...found.keys());
  const last = Math.max(...found.keys());
  return Array.from({ length: last - first + 1 }, (_, n) => found.get(first + n) ?? empty(first + n));
}

const empty = (at: number): Bin => ({ from: at === 0 ? 0 : 2 ** (at - 1), to: 2 ** at, n: 0, failed: 0 });

// Who took the most time first.
export function groups(all: readonly Ran[], by: 'function' | 'worker'): Group[] {
  const found = new Map<string, Ran[]>();
  for (const one of all) {
    const list = found.get(one[by]);
    if (list) list.push(one);
    else found.set(one[by], [one]);
  }
  return [...found]
    .map(([name, list]): Group => {
      const sorted = list.map(({ ms }) => ms).sort((a, b) => a - b);
      return {
        name,
        filter: by === 'worker' ? name : list[0]!.called,
        n: list.length,
        failed: list.filter(({ failed }) => failed).length,
        p50: percentile(sorted, 0.5),
        max: sorted.at(-1)!,
        sum: sorted.reduce((sum, ms) => sum + ms, 0),
      };
    })
    .sort((a, b) => b.sum - a.sum || (a.name < b.name ? -1 : 1));
}

// The same as the task stream tells it, for when that has them not any more: bars in the order in which they ended.
export function streamOf(all: readonly Ran[], job: string, cluster: string, now: number): StreamBody {
  const sorted = [...all].sort((a, b) => a.from + a.ms - b.from - b.ms);
  const base_ms = sorted.reduce((least, { from }) => Math.min(least, from), now);
  const numbers = (names: readonly string[]) => new Map([...new Set(names)].map((name, n) => [name, n]));
  const workers = numbers(sorted.map((r) => r.worker));
  const functions = numbers(sorted.map((r) => r.function));
  return {
    now_ms: now,
    base_ms,
    since_ms: base_ms,
    next: 0,
    more: false,
    lanes: [...workers].map(([task, lane]) => ({ lane, task, cluster })),
    functions: [...functions.keys()],
    jobs: [job],
    bars: {
      lane: sorted.map((r) => workers.get(r.worker)!),
      start_us: sorted.map((r) => (r.from - base_ms) * 1000),
      duration_us: sorted.map((r) => r.ms * 1000),
      function: sorted.map((r) => functions.get(r.function)!),
      state: sorted.map((r) => (r.failed ? FAILED : SUCCEEDED)),
      count: sorted.map(() => 1),
      closure: sorted.map((r) => r.id),
      job: sorted.map(() => 0),
    },
    running: { lane: [], start_us: [], function: [], closure: [] },
  };
}
