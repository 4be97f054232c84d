// Steps of ranks over time: each step if there are few steps, otherwise the number and duration of steps in each time
// bucket.

import type { RunTimeline } from 'muster-rest';
import { count, duration, plural } from '../../shared/model/format';
import type { Range } from './timeline';

export type TimelineBody = RunTimeline;
export type MetView = RunTimeline['barriers'][number];

// A drawn cell: a step, several short steps, or a bucket in which steps ended.
export interface StepCell extends Range {
  rank: number;
  step: number; // step number; -1 if the cell contains several steps
  n: number;
  median: number; // ms
  longest: number; // ms
  slow: boolean;
}
export interface RunSteps {
  cells: readonly StepCell[];
  usual: number; // usual duration in ms; 0 if unknown
  until: number; // time up to which data was read
  met: readonly MetView[];
}
export const NO_STEPS: RunSteps = { cells: [], usual: 0, until: Infinity, met: [] };

const CELLS = 24_000; // maximum number to request, because more cells would be smaller than pixels
export const RANKS_MAX = 1000; // limit of the server

export const bucketsFor = (ranks: number): number => Math.max(40, Math.min(300, Math.floor(CELLS / Math.max(1, ranks))));

function cellsOf(body: TimelineBody): StepCell[] {
  const cells: StepCell[] = [];
  const { steps: s, lanes = [], bucket_us = 0, from_ms } = body;
  const slow = (us: number) => !!body.slow_us && us >= body.slow_us;
  s?.rank.forEach((rank, n) => {
    const to = from_ms + s.end_us[n]! / 1000;
    const [many, took, longest] = [s.count[n]!, s.took_us[n]!, s.longest_us[n]!];
    cells.push({ rank, step: many > 1 ? -1 : s.step[n]!, from: to - took / 1000, to, n: many, median: took / 1000 / many, longest: longest / 1000, slow: slow(longest) });
  });
  const each = bucket_us / 1000;
  for (const { rank, bucket, steps, p50_us, max_us } of each > 0 ? lanes : [])
    bucket.forEach((at, n) => {
      cells.push({ rank, step: -1, from: from_ms + at * each, to: from_ms + (at + 1) * each, n: steps[n]!, median: p50_us[n]! / 1000, longest: max_us[n]! / 1000, slow: slow(max_us[n]!) });
    });
  return cells;
}

// If a response is incomplete, the next response continues it.
export function joinedSteps(before: RunSteps, body: TimelineBody): RunSteps {
  return {
    cells: [...before.cells, ...cellsOf(body)],
    usual: before.usual || (body.usual_us ?? 0) / 1000,
    until: body.until_ms,
    met: before.cells.length > 0 ? before.met : (body.barriers ?? []),
  };
}

const OF_RANKS = 64; // maximum number of ranks; from larger programs, evenly distributed ranks are used

// For each bucket, the median step time of the ranks and the longest step of any rank.
export interface StepCurve {
  median: (number | null)[];
  longest: (number | null)[];
  top: number; // ms
}
export function curveOf(cells: readonly StepCell[], view: Range, points: number): StepCurve {
  const each = (view.to - view.from) / points;
  const medians: number[][] = Array.from({ length: points }, () => []);
  const longest: (number | null)[] = Array.from({ length: points }, () => null);
  const every = Math.ceil((cells.reduce((most, c) => Math.max(most, c.rank), 0) + 1) / OF_RANKS);
  for (const c of cells) {
    const first = Math.max(0, Math.floor((c.from - view.from) / each));
    const last = Math.min(points - 1, Math.ceil((c.to - view.from) / each) - 1);
    for (let n = first; n <= last; ++n) {
      if (c.rank % every === 0) medians[n]!.push(c.median);
      longest[n] = Math.max(longest[n] ?? 0, c.longest);
    }
  }
  const median = medians.map((all) => (all.length === 0 ? null : Float64Array.from(all).sort()[all.length >> 1]!));
  return { median, longest, top: Math.max(1e-3, ...longest.map((v) => v ?? 0)) };
}

export interface StepRow {
  rank: number;
  n: number;
  median: number;
  longest: number;
  slow: number;
}

// Lists ranks with slow steps in the range first, then the ranks with the longest steps.
export function stepRows(cells: readonly StepCell[], view: Range): StepRow[] {
  const rows = new Map<number, StepRow & { medians: number[] }>();
  for (const c of cells) {
    if (c.to < view.from || c.from > view.to) continue;
    let row = rows.get(c.rank);
    if (!row) rows.set(c.rank, (row = { rank: c.rank, n: 0, median: 0, longest: 0, slow: 0, medians: [] }));
    row.n += c.n;
    row.longest = Math.max(row.longest, c.longest);
    row.slow += Number(c.slow);
    row.medians.push(c.median);
  }
  return [...rows.values()]
    .map(({ medians, ...row }) => ({ ...row, median: medians.sort((a, b) => a - b)[medians.length >> 1]! }))
    .sort((a, b) => b.slow - a.slow || b.median - a.median || a.rank - b.rank);
}

export const took = (ms: number): string => duration(ms * 1000);

export function stepAt({ cells }: Pick<RunSteps, 'cells'>, rank: number, at: number): string {
  const cell = cells.find((c) => c.rank === rank && c.from <= at && at <= c.to);
  if (!cell) return '';
  const slow = cell.slow ? ', slow' : '';
  return cell.step >= 0 ? `step ${count(cell.step)} took ${took(cell.longest)}${slow}` : `${plural(cell.n, 'step')}, median ${took(cell.median)}, longest ${took(cell.longest)}${slow}`;
}

// Returns a barrier that was open at this time or shortly before.
export function metAt(met: readonly MetView[], rank: number, at: number, near: number): string {
  const b = met.find((m) => m.began_ms - near <= at && at <= m.ended_ms + near && m.ranks.includes(rank));
  if (!b) return '';
  const came = b.came_us[b.ranks.indexOf(rank)]! / 1000;
  return `arrived at barrier ${b.id} ${came < 1 ? 'first' : `${took(came)} after the first`}; all arrived after ${took(b.ended_ms - b.began_ms)}`;
}
