// What workers see of their machines, as REST tells it. What is missing is not known.

import { bytes, NONE, percent } from './format';

export interface Machine {
  cpu?: number;
  cpus?: number;
  memory_bytes?: number;
  memory_total_bytes?: number;
  received_per_s?: number;
  sent_per_s?: number;
  read_per_s?: number;
  written_per_s?: number;
  gpus: { name: string; busy?: number; memory_bytes?: number; memory_total_bytes?: number }[];
}
type Column = (number | null)[];
export interface MachineView {
  kind: 'server' | 'worker';
  cluster: string;
  task?: string;
  host: string;
  seen_ms: number;
  fresh: boolean;
  machine?: Machine;
  samples?: { seconds: number[]; cpu: Column; memory_bytes: Column; gpu_busy: Column };
}

const GAP_S = 20; // it was away meanwhile

export const cpuText = (m: Machine): string => (m.cpu === undefined ? NONE : `${m.cpu.toFixed(1)} of ${Math.round((m.cpus ?? 0) * 10) / 10}`);

export const memoryText = (m: Machine): string =>
  m.memory_bytes === undefined || !m.memory_total_bytes ? NONE : `${percent(m.memory_bytes, m.memory_total_bytes)} of ${bytes(m.memory_total_bytes)}`;

// The mean of those that say it.
export function gpuText(m: Machine): string {
  const busy = m.gpus.flatMap((g) => (g.busy === undefined ? [] : [g.busy]));
  if (busy.length === 0) return m.gpus.length > 0 ? `${m.gpus.length} there` : NONE;
  return `${Math.round((100 * busy.reduce((a, b) => a + b, 0)) / busy.length)}% of ${m.gpus.length}`;
}

export const rateText = (a?: number, b?: number): string => (a === undefined || b === undefined ? NONE : `${bytes(Math.round(a))} / ${bytes(Math.round(b))}`);

// The path of an SVG of 100 x 20: lines between neighbours that are known. `most` is the top; without it the largest is.
export function sparkPath(seconds: readonly number[], values: Column, most?: number): string {
  const begin = seconds[0] ?? 0;
  const length = Math.max((seconds.at(-1) ?? 0) - begin, 1);
  const top = Math.max(most ?? 0, ...values.map((v) => v ?? 0), 1e-9);
  let path = '';
  let before: number | null = null;
  values.forEach((value, n) => {
    if (value === null) return;
    const at = seconds[n]!;
    const joined = before !== null && at - before <= GAP_S;
    path += `${joined ? 'L' : 'M'}${((100 * (at - begin)) / length).toFixed(1)} ${(19 - (18 * value) / top).toFixed(1)}`;
    before = at;
  });
  return path;
}
