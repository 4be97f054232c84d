import { SUCCEEDED } from './stream-protocol';
import type { Lane, Minute, Stream } from './stream';
import type { View } from '../../shared/model/time-view';

export type Hit =
  | { kind: 'bar'; lane: Lane; bar: number; start: number; end: number }
  | { kind: 'running'; lane: Lane; n: number; start: number; end: number }
  | { kind: 'minute'; lane: Lane; minute: Minute; start: number; end: number };

// Prefers the most severe state, then the shortest bar, which is hardest to hit.
export function hitAt(stream: Stream, lane: Lane, row: number, at: number, slack: number, now: number): Hit | null {
  let best: Hit | null = null;
  let rank = Infinity;
  const { start, end, state, row: rows } = stream.at;
  for (const bar of lane.bars) {
    if (rows[bar] !== row || start[bar]! - slack > at || end[bar]! + slack < at) continue;
    const mine = (state[bar] === SUCCEEDED ? 1e12 : 0) + (end[bar]! - start[bar]!);
    if (mine < rank) [best, rank] = [{ kind: 'bar', lane, bar, start: start[bar]!, end: end[bar]! }, mine];
  }
  if (best) return best;
  const n = lane.running.findIndex((r) => r.row === row && r.start - slack <= at && at <= now + slack);
  if (n >= 0) return { kind: 'running', lane, n, start: lane.running[n]!.start, end: now };
  const minute = lane.minutes.find((m) => m.start <= at && at < m.start + 60_000 && m.start < stream.since);
  return minute ? { kind: 'minute', lane, minute, start: minute.start, end: minute.start + 60_000 } : null;
}

// Finds the next bar for keyboard navigation.
export function nextHit(stream: Stream, lane: Lane, after: number, forwards: boolean, now: number): Hit | null {
  const { start, end } = stream.at;
  let best: Hit | null = null;
  const better = (at: number) => (forwards ? at > after && (!best || at < best.start) : at < after && (!best || at > best.start));
  for (const bar of lane.bars) if (better(start[bar]!)) best = { kind: 'bar', lane, bar, start: start[bar]!, end: end[bar]! };
  for (const [n, r] of lane.running.entries()) if (better(r.start)) best = { kind: 'running', lane, n, start: r.start, end: now };
  return best;
}

export interface Sum {
  lane: Lane;
  function: number;
  count: number;
  failed: number; // includes lost closures
  busy: number; // ms within the view
  running: number;
}

export function sums(stream: Stream, lanes: readonly Lane[], view: View, now: number): Sum[] {
  const { start, end, count, failed, busy, function: of } = stream.at;
  const rows: Sum[] = [];
  for (const lane of lanes) {
    const mine = new Map<number, Sum>();
    const row = (n: number): Sum => {
      let sum = mine.get(n);
      if (!sum) mine.set(n, (sum = { lane, function: n, count: 0, failed: 0, busy: 0, running: 0 }));
      return sum;
    };
    const within = (from: number, to: number) => Math.max(0, Math.min(to, view.to) - Math.max(from, view.from));
    for (const bar of lane.bars) {
      if (end[bar]! < view.from || start[bar]! > view.to) continue;
      const sum = row(of[bar]!);
      sum.count += count[bar]!;
      sum.failed += failed[bar]!;
      // Closures in a sum are assumed to be evenly distributed over time.
      const length = end[bar]! - start[bar]!;
      sum.busy += length > 0 ? (busy[bar]! * within(start[bar]!, end[bar]!)) / length : 0;
    }
    for (const r of lane.running) {
      if (r.start > view.to || now < view.from) continue;
      const sum = row(r.function);
      ++sum.running;
      sum.busy += within(r.start, now);
    }
    for (const m of lane.minutes) {
      if (m.start + 60_000 < view.from || m.start > view.to || m.start >= stream.since) continue;
      const sum = row(m.function);
      sum.count += m.count;
      sum.failed += m.failed;
      sum.busy += m.busy;
    }
    rows.push(...mine.values());
  }
  return rows.sort((a, b) => b.busy - a.busy);
}
