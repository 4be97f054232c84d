// The lanes of a host are below a strip that shows its machine's load.

import { hostOf } from '../../shared/model/agents';
import { cpuText, machineThen, memoryText, type MachineView } from './machines';
import type { RunTimeline } from './timeline';

export interface Strip {
  host: string;
  top: number;
  machine: MachineView;
}
export interface Layout {
  height: number;
  each: number; // height of a lane in pixels; less than 1 if there are many lanes
  tops: readonly number[];
  names: readonly { top: number; text: string }[]; // ranks with hosts, or only hosts if space is short
  strips: readonly Strip[];
  chart: number; // top of the chart of steps; -1 if there is none
}

export const LANES_MAX = 384; // total height of all lanes in pixels
export const STRIP = 22;
export const AXIS = 18;
export const CHART = 46;
const LANE_MAX = 28; // height of a lane if there are few lanes
const LINE = 14; // height of a name
export const STRIPS_MAX = 12; // maximum number of hosts with strips, because lanes need room

export function layoutOf({ lanes, from, to }: Pick<RunTimeline, 'lanes' | 'from' | 'to'>, machines: readonly MachineView[], steps = false): Layout {
  const share = LANES_MAX / Math.max(1, lanes.length); // can be less than a pixel; if so, problems are drawn on top
  const each = share < 1 ? share : Math.min(LANE_MAX, Math.floor(share));
  const seen = (seconds: readonly number[]) => seconds.length > 1 && seconds[0]! * 1000 < to && seconds.at(-1)! * 1000 > from;
  const byHost = new Map(lanes.map((l) => [l.host, null as MachineView | null]));
  for (const m of machines) {
    const lane = m.samples && seen(m.samples.seconds) && lanes.find((l) => l.worker === m.task || l.host === hostOf(m.host));
    if (lane) byHost.set(lane.host, m);
  }
  const tops: number[] = [];
  const strips: Strip[] = [];
  const names: { top: number; text: string }[] = [];
  let y = 0;
  const name = (top: number, text: string) => (names.length === 0 || top >= names.at(-1)!.top + LINE) && names.push({ top, text });
  lanes.forEach(({ host, name: own }, n) => {
    const machine = byHost.get(host);
    if (machine && byHost.size <= STRIPS_MAX && (n === 0 || lanes[n - 1]!.host !== host)) {
      if (n > 0) y += 4;
      name(y, host);
      strips.push({ host, top: y, machine });
      y += STRIP;
    }
    const first = n === 0 || lanes[n - 1]!.host !== host;
    const middle = y + Math.max(0, Math.floor((each - LINE) / 2));
    if (each >= LINE) name(middle, first && host && !machine ? `${own} · ${host}` : own);
    else if (host && !machine && first) name(middle, host);
    else if (!host || machine) name(middle, own);
    tops.push(y);
    y += each;
  });
  const lanesEnd = Math.max(24, y);
  if (steps) names.push({ top: lanesEnd + 8, text: 'step time' });
  return { height: lanesEnd + (steps ? CHART + 4 : 0) + AXIS, each, tops, strips, names, chart: steps ? lanesEnd + 4 : -1 };
}

// For a strip, returns the first lane below it.
export function laneAt({ tops, each }: Layout, y: number): number {
  const n = tops.findIndex((top) => y < top + each);
  return n < 0 ? tops.length - 1 : n;
}

// Returns for example "3.1 of 8 cores, memory 41.0% of 64 GB"; empty if unknown.
export function machineAt({ strips }: Pick<Layout, 'strips'>, host: string, at: number): string {
  const one = strips.find((s) => s.host === host)?.machine;
  const m = one && machineThen(one, at);
  return m ? [m.cpu !== undefined && `${cpuText(m)} cores`, m.memory_bytes !== undefined && `memory ${memoryText(m)}`].filter(Boolean).join(', ') : '';
}
