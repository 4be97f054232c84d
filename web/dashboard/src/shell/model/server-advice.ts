// The figures of the server as text: the value, what is normal, and what to do otherwise.

import type { ServerHealth } from 'muster-rest';
import { bytes, count, duration, percent, plural, tick } from '../../shared/model/format';
import { FIGURES, LIMITS, levelOf, type Figure, type Level } from './server-health';

export interface Row {
  figure: Figure;
  name: string;
  level: Level | undefined; // nothing if the server does not have the figure
  value: string;
  detail: string;
  normal: string;
  advice: string;
}

type Text = Pick<Row, 'value' | 'detail'>;

const NAMES: Record<Figure, string> = { lag: 'Event-loop lag', queue: 'Engine queue', disk: 'Disk sync', memory: 'Memory', cpu: 'CPU', history: 'Lost history' };

const normal: Record<Figure, string> = {
  lag: `Normal is a p99 below ${duration(LIMITS.lag[0])}: requests start at once.`,
  queue: `Normal is below ${count(LIMITS.queue[0])} changes that wait for the disk; calls may wait for workers.`,
  disk: `Normal is a p99 below ${duration(LIMITS.disk[0])}: durable requests wait this long.`,
  memory: `Normal is below ${percent(LIMITS.memory[0], 1)} of the memory that the server can use.`,
  cpu: `Normal is below ${percent(LIMITS.cpu[0], 1)} of the cores that the server can use.`,
  history: 'Normal is 0: every event, log line and chart point is stored.',
};
const advice: Record<Figure, string> = {
  lag: 'Look for other busy processes on this host, and submit calls in fewer, larger requests.',
  queue: 'Changes arrive faster than the disk stores them: use a faster disk, or submit jobs that may be lost with --no-durable.',
  disk: 'Move the data directory to a faster or larger disk, or submit jobs that may be lost with --no-durable.',
  memory: 'Lower --value-bytes-max or --jobs-kept, set --spill-dir, or give the server more memory.',
  cpu: 'Give the server more cores, and run workers on other hosts.',
  history: 'Free disk space and see Disk sync: records are dropped when they cannot be written in time. The count restarts with the server.',
};

const texts: Record<Figure, (h: ServerHealth) => Text | undefined> = {
  lag: ({ engine: e }) => ({
    value: e.responding ? `p99 ${duration(e.lag_p99_us)}` : `blocked for ${duration(e.lag_now_us)}`,
    detail: `p50 ${duration(e.lag_p50_us)}, longest ${duration(e.lag_max_us)}`,
  }),
  queue: ({ queue: q }) => q && { value: plural(q.changes, 'change'), detail: `${plural(q.calls, 'call')} waiting for a worker` },
  disk: ({ disk: d }) =>
    d && {
      value: d.failure ? 'failed' : d.full ? 'full' : d.syncs > 0 ? `p99 ${duration(d.sync_p99_us)}` : 'idle',
      detail: d.failure ?? d.full ?? (d.syncs > 0 ? `p50 ${duration(d.sync_p50_us)}, longest ${duration(d.sync_max_us)}, ${plural(d.syncs, 'write')}` : 'no write'),
    },
  memory: ({ process: p }) => ({
    value: bytes(p.resident_bytes),
    detail: p.memory_bytes > 0 ? `${percent(p.resident_bytes, p.memory_bytes)} of ${bytes(p.memory_bytes)}` : '',
  }),
  cpu: ({ process: p }) => ({
    value: `${tick(p.busy_cores)} cores`,
    detail: p.cores > 0 ? `${percent(p.busy_cores, p.cores)} of ${plural(p.cores, 'core')}` : '',
  }),
  history: ({ history: k }) => k && { value: plural(k.dropped, 'record'), detail: `${bytes(k.bytes)} stored${k.unreadable > 0 ? `, ${count(k.unreadable)} unreadable` : ''}` },
};

const MISSING: Partial<Record<Figure, string>> = {
  disk: 'The server keeps all data in memory. Start it with --data-dir to store jobs and history on disk.',
  history: 'The server stores no history on disk. Start it with --data-dir to store it.',
};
const BLOCKED = 'Unknown until the engine responds.';

export function rowsOf(h: ServerHealth): Row[] {
  return FIGURES.map((figure) => {
    const text = texts[figure](h);
    return {
      figure,
      name: NAMES[figure],
      level: levelOf(figure, h),
      value: text?.value ?? '–',
      detail: text?.detail ?? '',
      normal: text ? normal[figure] : h.engine.responding ? (MISSING[figure] ?? '') : BLOCKED,
      advice: advice[figure],
    };
  });
}
