// A run as lanes over time: which attempt each rank was in, what lay between, what went wrong. Pure.

import { plural } from './format';
import { lateFor, stepOf, type AttemptView, type RankView } from './rest/programs';

export interface Range {
  from: number;
  to: number;
}
export interface RunSpan extends Range {
  lane: number;
  attempt: number;
  colour: string; // a token of tokens.css
  text: string;
}
export interface RunGap extends Range {
  text: string;
}
export interface RunMark {
  lane: number; // -1: all
  at: number;
  text: string;
}
export interface RunTimeline extends Range {
  lanes: readonly { rank: number; text: string }[];
  spans: readonly RunSpan[];
  gaps: readonly RunGap[];
  marks: readonly RunMark[];
}

const ENDS: Record<AttemptView['end'], readonly [colour: string, word: string]> = {
  NONE: ['running', 'goes on'],
  SUCCEEDED: ['connected', 'succeeded'],
  FAILED: ['error', 'failed'],
  LOST: ['error', 'lost a worker'],
  CANCELLED: ['waiting', 'was stopped'],
  PREEMPTED: ['restarting', 'ended after a step, as a worker left'],
  HUNG: ['late', 'came to a stand'],
};
const RANKS: Record<string, string> = { STARTING: 'restarting', RUNNING: 'running', SUCCEEDED: 'connected', FAILED: 'error', STOPPED: 'waiting' };

// The ranks of the newest attempt have times of their own. Of those before it the server keeps the attempt's alone.
export function runTimeline(attempts: readonly AttemptView[], ranks: readonly RankView[], now: number): RunTimeline {
  const newest = attempts[attempts.length - 1];
  const most = attempts.reduce((n, a) => Math.max(n, a.ranks), 0);
  const known = new Map(ranks.map((r) => [r.rank, r]));
  const order = Array.from({ length: most }, (_, rank) => rank);
  const host = (rank: number) => known.get(rank)?.host ?? '';
  order.sort((a, b) => (host(a) === host(b) ? a - b : host(a) < host(b) ? -1 : 1)); // those of a host stand together
  const laneOf = new Map(order.map((rank, lane) => [rank, lane]));
  const lanes = order.map((rank) => ({ rank, text: host(rank) ? `rank ${rank} on ${host(rank)}` : `rank ${rank}` }));
  const spans: RunSpan[] = [];
  const gaps: RunGap[] = [];
  const marks: RunMark[] = [];
  attempts.forEach((a, i) => {
    const [colour, word] = ENDS[a.end] ?? ['waiting', a.end];
    const to = a.ended_ms || now;
    // Who failed stands out; the others were stopped for it.
    const of = (rank: number) => (colour === 'error' && a.cause?.rank !== undefined && a.cause.rank !== rank ? 'waiting' : colour);
    for (let rank = 0; rank < a.ranks; ++rank) {
      const r = a === newest ? known.get(rank) : undefined;
      const lane = laneOf.get(rank)!;
      if (!r) spans.push({ lane, attempt: a.attempt, from: a.begun_ms, to, colour: of(rank), text: `attempt ${a.attempt} ${word}` });
      else if (r.started_ms) spans.push({ lane, attempt: a.attempt, from: r.started_ms, to: r.ended_ms || to, colour: RANKS[r.state] ?? 'waiting', text: [`attempt ${a.attempt}`, r.state.toLowerCase(), stepOf(r)].filter(Boolean).join(', ') });
      if (r && lateFor(r) && r.agent?.late_since) marks.push({ lane, at: r.agent.late_since, text: `late for ${lateFor(r)}` });
    }
    if (a.cause && a.ended_ms) marks.push({ lane: laneOf.get(a.cause.rank ?? -1) ?? -1, at: a.ended_ms, text: a.cause.text });
    const next = attempts[i + 1];
    if (next && a.ended_ms && next.begun_ms >= a.ended_ms) gaps.push({ from: a.ended_ms, to: next.begun_ms, text: `restart: ${a.cause?.text ?? word}` });
  });
  const from = attempts[0]?.begun_ms ?? now;
  const to = newest?.ended_ms || now;
  return { from, to: Math.max(to, from + 1), lanes, spans, gaps, marks };
}

// Part of a range, by fractions of it; no shorter than 10 ms, and within the whole.
export function zoomed(r: Range, begin: number, end: number, whole: Range): Range {
  const length = Math.min(Math.max(10, (r.to - r.from) * (end - begin)), whole.to - whole.from);
  const from = Math.min(Math.max(r.from + (r.to - r.from) * begin, whole.from), whole.to - length);
  return { from, to: from + length };
}

// What is at a moment in a lane, as text.
export function lookAt(t: RunTimeline, lane: number, at: number, near: number): string {
  const span = t.spans.find((s) => s.lane === lane && s.from <= at && at <= s.to);
  const gap = t.gaps.find((g) => g.from <= at && at <= g.to);
  const marks = t.marks.filter((m) => (m.lane === lane || m.lane < 0) && Math.abs(m.at - at) <= near);
  return [t.lanes[lane]?.text, span?.text ?? gap?.text ?? 'nothing ran', ...marks.map((m) => m.text)].filter(Boolean).join(' · ');
}

export const summary = (t: RunTimeline, attempts: number): string => `${plural(t.lanes.length, 'rank')}, ${plural(attempts, 'attempt')}, ${plural(t.gaps.length, 'restart')}, ${plural(t.marks.length, 'mark')}`;
