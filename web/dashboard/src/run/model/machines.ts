// Machine data that workers report. Missing values are unknown.

import type { MachineView } from 'muster-rest';
import type { Range } from './timeline';
import { sumOf } from '../../shared/model/counts';
import { bytes, NONE, percent } from '../../shared/model/format';

export type { MachineView };
type Machine = NonNullable<MachineView['machine']>;
type Column = NonNullable<MachineView['samples']>['cpu'];

// Returns the largest gap between samples of a connected worker. Samples over days are minutes apart.
export function gapOf(seconds: readonly number[]): number {
  let least = Infinity;
  for (let n = 1; n < seconds.length; ++n) least = Math.min(least, seconds[n]! - seconds[n - 1]!);
  return least === Infinity ? 20 : Math.max(20, 2.5 * least);
}

// Returns -1 if there is no sample near the time (ms).
export function sampleAt(seconds: readonly number[], at: number): number {
  let low = 0;
  let high = seconds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seconds[middle]! * 1000 < at) low = middle + 1;
    else high = middle;
  }
  const away = (n: number) => Math.abs((seconds[n] ?? Infinity) * 1000 - at);
  const best = away(low) <= away(low - 1) ? low : low - 1;
  return away(best) <= gapOf(seconds) * 1000 ? best : -1;
}

// Returns null if the data at this time is unknown.
export function machineThen({ machine, samples: s }: MachineView, at: number): Machine | null {
  const n = s ? sampleAt(s.seconds, at) : -1;
  if (!machine || !s || n < 0) return null;
  const [cpu, memory_bytes, busy] = [s.cpu[n] ?? undefined, s.memory_bytes[n] ?? undefined, s.gpu_busy[n] ?? undefined];
  const { cpus, memory_total_bytes, gpus } = machine;
  return { cpu, cpus, memory_bytes, memory_total_bytes, gpus: gpus.map(({ name }) => ({ name, busy })) };
}

export const cpuText = (m: Machine): string => (m.cpu === undefined ? NONE : `${m.cpu.toFixed(1)} of ${Math.round((m.cpus ?? 0) * 10) / 10}`);

export const memoryText = (m: Machine): string => (m.memory_bytes === undefined || !m.memory_total_bytes ? NONE : `${percent(m.memory_bytes, m.memory_total_bytes)} of ${bytes(m.memory_total_bytes)}`);

export function gpuText(m: Machine): string {
  const busy = m.gpus.flatMap((g) => (g.busy === undefined ? [] : [g.busy]));
  if (busy.length === 0) return m.gpus.length > 0 ? `${m.gpus.length} there` : NONE;
  return `${percent(sumOf(busy), busy.length)} of ${m.gpus.length}`;
}

export const rateText = (a?: number, b?: number): string => (a === undefined || b === undefined ? NONE : `${bytes(Math.round(a))} / ${bytes(Math.round(b))}`);

export const rangeOf = (seconds: readonly number[]): [number, number] => [seconds[0] ?? 0, seconds.at(-1) ?? 0];

// Returns an SVG path of 100 x 20 that joins known neighbours. `most` defaults to the largest value. `range`, in seconds,
// defaults to the range of all samples.
export function sparkPath(seconds: readonly number[], values: Column, most?: number, range: readonly [number, number] = rangeOf(seconds)): string {
  const [begin, end] = range;
  const length = Math.max(end - begin, 1);
  const gap = gapOf(seconds);
  const top = Math.max(most ?? 0, ...values.map((v) => v ?? 0), 1e-9);
  let path = '';
  let before: number | null = null;
  values.forEach((value, n) => {
    if (value === null) return;
    const at = seconds[n]!;
    const joined = before !== null && at - before <= gap;
    path += `${joined ? 'L' : 'M'}${((100 * (at - begin)) / length).toFixed(1)} ${(19 - (18 * value) / top).toFixed(1)}`;
    before = at;
  });
  return path;
}

const FRESH_FOR = 20_000; // ms; the server calls newer reports fresh

// Returns whether the machine no longer reports. In a range that has ended, the time of its last sample says nothing.
export const isSilent = ({ machine, seen_ms }: Pick<MachineView, 'machine' | 'seen_ms'>, range: Range | null, now: number): boolean =>
  !machine && now - seen_ms > FRESH_FOR && (range === null || range.to > now - FRESH_FOR);
