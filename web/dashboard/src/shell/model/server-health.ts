// Judges the figures of the server. This file contains every threshold.

import type { ServerHealth } from 'muster-rest';

export type Level = 'ok' | 'warn' | 'bad';
export const FIGURES = ['lag', 'queue', 'disk', 'memory', 'cpu', 'history'] as const;
export type Figure = (typeof FIGURES)[number];

// A figure is amber from the first value, and red from the second. Times are in microseconds, and the queue is counted in
// changes that wait for the disk. Memory and CPU are parts of the memory and the cores that the server can use.
export const LIMITS: Record<Figure, readonly [warn: number, bad: number]> = {
  lag: [50_000, 500_000],
  queue: [1_000, 50_000],
  disk: [50_000, 500_000],
  memory: [0.75, 0.9],
  cpu: [0.8, 0.95],
  history: [1, Number.POSITIVE_INFINITY],
};

const part = (used: number, of: number): number => (of > 0 ? used / of : 0);

const VALUES: Record<Figure, (h: ServerHealth) => number | undefined> = {
  lag: ({ engine }) => (engine.responding ? engine.lag_p99_us : Number.POSITIVE_INFINITY),
  queue: ({ queue }) => queue?.changes,
  disk: ({ disk }) => disk && (disk.failure || disk.full ? Number.POSITIVE_INFINITY : disk.sync_p99_us),
  memory: ({ process }) => part(process.resident_bytes, process.memory_bytes),
  cpu: ({ process }) => part(process.busy_cores, process.cores),
  history: ({ history }) => history?.dropped,
};

// Returns nothing for a figure that the server does not have, such as that of a disk.
export function levelOf(figure: Figure, h: ServerHealth): Level | undefined {
  const value = VALUES[figure](h);
  const [warn, bad] = LIMITS[figure];
  return value === undefined ? undefined : value >= bad ? 'bad' : value >= warn ? 'warn' : 'ok';
}

export function worst(h: ServerHealth): Level {
  const levels = FIGURES.map((figure) => levelOf(figure, h));
  return levels.includes('bad') ? 'bad' : levels.includes('warn') ? 'warn' : 'ok';
}

export const SUMMARY: Record<Level, string> = { ok: 'healthy', warn: 'needs attention', bad: 'in trouble' };
