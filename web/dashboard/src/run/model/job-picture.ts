import type { JobDurations } from 'muster-rest';
import { hasEnded, nameOf, ran, whereOf } from '../../shared/model/closures';
import type { ClosureView } from '../../shared/model/views';
import { FAILED, ROWS_MAX, SUCCEEDED, type StreamBody } from '../../explore/model/stream-protocol';

export interface Ran {
  id: string;
  from: number; // Unix ms
  us: number;
  failed: boolean;
  function: string; // displayed name
  called: string; // function name in the server's filter
  worker: string;
}

// All durations are in µs.
export interface Bin {
  from: number;
  to: number;
  n: number;
  failed: number;
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

// Each retry counts as an execution.
export type DurationsView = JobDurations;

export interface Picture {
  n: number;
  said: readonly (readonly [word: string, us: number])[];
  bins: Bin[];
  functions: Group[];
  workers: Group[];
}

const SAID = [
  ['median', 0.5],
  ['90% took at most', 0.9],
  ['99% at most', 0.99],
  ['the longest', 1],
] as const;

export function pictureOf(all: readonly Ran[]): Picture {
  const sorted = all.map(({ us }) => us).sort((a, b) => a - b);
  return { n: all.length, said: SAID.map(([word, p]) => [word, percentile(sorted, p)]), bins: bins(all), functions: groups(all, 'function'), workers: groups(all, 'worker') };
}

// The server uses four buckets per octave.
export function pictureIn(d: DurationsView): Picture {
  const binned = new Map<number, Bin>();
  for (const { up_to_us = d.max_us, executions: n, failed } of d.buckets) add(binned, up_to_us, n, failed);
  const group = ({ name, executions: n, failed, p50_us, max_us, busy_ms, busy_us }: DurationsView['functions'][number]): Group => ({
    name: name || 'others',
    filter: name,
    n,
    failed,
    p50: p50_us,
    max: max_us,
    sum: busy_us ?? busy_ms * 1000,
  });
  const times = [d.p50_us, d.p90_us, d.p99_us, d.max_us];
  return { n: d.executions, said: SAID.map(([word], n) => [word, times[n]!]), bins: without(binned), functions: d.functions.map(group), workers: d.workers.map(group) };
}

export function ranOf(closures: readonly ClosureView[]): Ran[] {
  return closures.flatMap((c) => {
    const { from, to, us = Math.max(0, to - from) * 1000 } = ran(c);
    return hasEnded(c) && from > 0 && to > 0 ? [{ id: c.id, from, us, failed: c.state === 'FAILED', function: nameOf(c), called: c.function, worker: whereOf(c) }] : [];
  });
}

// Returns the percentile by nearest rank, like the server (base/percentile.hpp), or 0 for an empty list.
export function percentile(sorted: readonly number[], p: number): number {
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? 0;
}

const FIRST_US = 4; // end of the first bin
const BINS_MOST = 16;

// The first bin ends at 4 µs; each further bin ends at twice the previous bin's end. Wide ranges are merged.
export function bins(all: readonly Ran[]): Bin[] {
  const found = new Map<number, Bin>();
  for (const { us, failed } of all) add(found, us, 1, Number(failed));
  return without(found);
}

function add(to: Map<number, Bin>, us: number, n: number, failed: number): void {
  const at = us <= FIRST_US ? 0 : Math.ceil(Math.log2(us / FIRST_US));
  let bin = to.get(at);
  if (!bin) to.set(at, (bin = empty(at, 1)));
  bin.n += n;
  bin.failed += failed;
}

function without(found: ReadonlyMap<number, Bin>): Bin[] {
  if (found.size === 0) return [];
  const last = Math.max(...found.keys());
  const least = Math.min(...found.keys());
  const octaves = Math.ceil((last - least + 1) / BINS_MOST);
  const merged = Array.from({ length: Math.ceil((last - least + 1) / octaves) }, (_, n) => empty(least + n * octaves, octaves));
  for (const [at, { n, failed }] of found) {
    const bin = merged[Math.floor((at - least) / octaves)]!;
    bin.n += n;
    bin.failed += failed;
  }
  return merged;
}

const empty = (at: number, octaves: number): Bin => ({ from: at === 0 ? 0 : FIRST_US * 2 ** (at - 1), to: FIRST_US * 2 ** (at + octaves - 1), n: 0, failed: 0 });

export function groups(all: readonly Ran[], by: 'function' | 'worker'): Group[] {
  const found = new Map<string, Ran[]>();
  for (const one of all) {
    const list = found.get(one[by]);
    if (list) list.push(one);
    else found.set(one[by], [one]);
  }
  return [...found]
    .map(([name, list]): Group => {
      const sorted = list.map(({ us }) => us).sort((a, b) => a - b);
      return {
        name,
        filter: by === 'worker' ? name : list[0]!.called,
        n: list.length,
        failed: list.filter(({ failed }) => failed).length,
        p50: percentile(sorted, 0.5),
        max: sorted.at(-1)!,
        sum: sorted.reduce((sum, us) => sum + us, 0),
      };
    })
    .sort((a, b) => b.sum - a.sum || (a.name < b.name ? -1 : 1));
}

// Converts the closures to the format of the task stream, for jobs that the stream no longer contains. Bars are sorted
// by end.
export function streamOf(all: readonly Ran[], job: string, cluster: string, now: number): StreamBody {
  const sorted = [...all].sort((a, b) => a.from + a.us / 1000 - b.from - b.us / 1000);
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
    lanes: [...workers].map(([task, lane]) => ({ lane, task, cluster, slots: ROWS_MAX })),
    functions: [...functions.keys()],
    jobs: [job],
    bars: {
      lane: sorted.map((r) => workers.get(r.worker)!),
      start_us: sorted.map((r) => (r.from - base_ms) * 1000),
      duration_us: sorted.map((r) => r.us),
      busy_us: sorted.map((r) => r.us),
      function: sorted.map((r) => functions.get(r.function)!),
      state: sorted.map((r) => (r.failed ? FAILED : SUCCEEDED)),
      count: sorted.map(() => 1),
      failed: sorted.map((r) => Number(r.failed)),
      closure: sorted.map((r) => r.id),
      job: sorted.map(() => 0),
    },
    running: { lane: [], start_us: [], function: [], closure: [], job: [] },
  };
}
