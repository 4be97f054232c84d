// A run as lanes over time: the attempts of each rank, gaps, problems, and barriers.

import { taskName } from '../../shared/model/agents';
import { awaitedSince, members, type BarrierView } from '../../agreement/model/barrier-view';
import { age, plural } from '../../shared/model/format';
import type { AttentionRow } from '../../shared/model/protocol';
import { taskLabel, type AttemptDetail } from './attempt';
import type { Outage } from './outages';
import { lateFor, stepOf, type AttemptView, type Hang, type RankView } from '../../shared/model/programs';

export interface Range {
  from: number;
  to: number;
}
export interface RunSpan extends Range {
  lane: number;
  attempt: number;
  colour: string; // name of a colour in tokens.css
  text: string;
}
export interface RunGap extends Range {
  text: string;
}
export type MarkKind = 'failed' | 'alert' | 'stop' | 'late' | 'event';
export interface RunMark {
  lane: number; // -1 for all lanes
  at: number;
  kind: MarkKind;
  text: string;
}
// A passed barrier, from the arrival of half of its members to the last arrival.
export interface RunBarrier extends Range {
  lane: number; // lane of the last member; -1 if unknown
  late: boolean;
  text: string;
}
// A member of an open barrier. The member is waiting, or other members are waiting for it.
export interface RunWait extends Range {
  lane: number;
  awaited: boolean;
  text: string;
}
export interface RunTimeline extends Range {
  lanes: readonly { rank: number; host: string; worker: string; name: string; text: string }[];
  spans: readonly RunSpan[];
  gaps: readonly RunGap[];
  marks: readonly RunMark[];
  barriers: readonly RunBarrier[];
  waits: readonly RunWait[];
  outages: readonly Outage[]; // restarts of the server
}
export interface Seen {
  details?: ReadonlyMap<number, AttemptDetail>;
  alerts?: readonly AttentionRow[];
  meetings?: readonly BarrierView[];
  names?: readonly string[]; // names of ranks that are not their numbers
  each?: 'run' | 'attempt';
  outages?: readonly Outage[];
  hang?: Hang | undefined;
}

// Delay after the arrival of half of the members; above this delay, the barrier's line is red.
export const LATE_MS = 500;

const ENDS: Record<AttemptView['end'], readonly [colour: string, word: string]> = {
  NONE: ['running', 'running'],
  SUCCEEDED: ['connected', 'succeeded'],
  FAILED: ['error', 'failed'],
  LOST: ['error', 'lost a worker'],
  CANCELLED: ['waiting', 'was stopped'],
  PREEMPTED: ['restarting', 'ended after a step because a worker left'],
  HUNG: ['late', 'hung'],
};
const RANKS: Record<string, string> = { STARTING: 'restarting', RUNNING: 'running', SUCCEEDED: 'connected', FAILED: 'error', STOPPED: 'waiting' };
const EVENTS: Record<string, string> = {
  TASK_FAILED: 'failed',
  BARRIER_FAILED: 'a barrier failed',
  WORKER_LOST: 'worker disconnected',
  WORKER_BACK: 'worker reconnected',
  TASK_ERROR: 'failed',
  TASK_RESTARTED: 'restarted',
  TASK_LEFT: 'left',
  GENERATION_FAILED: 'the run failed',
  BARRIERS_FAILED: 'barriers failed',
  BARRIER_STUCK: 'waits',
  HANGS: 'hangs',
  MOVES_AGAIN: 'makes progress again',
};
export const MARKS: Record<MarkKind, readonly [token: string, word: string, look?: 'outlined']> = {
  failed: ['error', 'failure'],
  alert: ['late', 'alert', 'outlined'], // outlined, because "alert" has the same colour as "late"
  stop: ['disconnected', 'stop'],
  late: ['late', 'late'],
  event: ['restarting', 'event'],
};

type Ended = AttemptDetail['ended'][number];
const endOf = (r: Ended): readonly [colour: string, word: string] =>
  r.not_started
    ? ['error', 'not started']
    : r.lease_ran_out
      ? ['error', 'its lease expired']
      : r.stopped
        ? ['waiting', 'stopped']
        : r.signal
          ? ['error', `signal ${r.signal}`]
          : r.exit_status
            ? ['error', `exit ${r.exit_status}`]
            : ['connected', 'exit 0'];

// For ranks of earlier attempts, the record contains the times at which they ended.
export function runTimeline(
  attempts: readonly AttemptView[],
  ranks: readonly RankView[],
  now: number,
  { details = new Map(), alerts = [], meetings = [], names = [], each = 'attempt', outages = [], hang }: Seen = {},
): RunTimeline {
  const newest = attempts[attempts.length - 1];
  const most = attempts.reduce((n, a) => Math.max(n, a.ranks), 0);
  const known = new Map(ranks.map((r) => [r.rank, r]));
  const order = Array.from({ length: most }, (_, rank) => rank);
  const hosts = order.map((rank) => known.get(rank)?.host ?? '');
  const host = (rank: number) => hosts[rank]!;
  if (hosts.some((host, rank) => rank > 0 && host < hosts[rank - 1]!)) order.sort((a, b) => (host(a) === host(b) ? a - b : host(a) < host(b) ? -1 : 1));
  const laneOf = new Map(order.map((rank, lane) => [rank, lane]));
  const lanes = order.map((rank) => {
    const name = names[rank] ?? `rank ${rank}`;
    return { rank, host: host(rank), worker: known.get(rank)?.worker ?? '', name, text: host(rank) ? `${name} on ${host(rank)}` : name };
  });
  const byTask = new Map(ranks.map((r) => [r.task, laneOf.get(r.rank) ?? -1]));
  const byWorker = new Map(ranks.map((r) => [r.worker, laneOf.get(r.rank) ?? -1]));
  const spans: RunSpan[] = [];
  const gaps: RunGap[] = [];
  const marks: RunMark[] = [];
  const barriers: RunBarrier[] = [];
  attempts.forEach((a, i) => {
    const [colour, word] = ENDS[a.end] ?? ['waiting', a.end];
    const to = a.ended_ms || now;
    const detail = details.get(a.attempt);
    const ends = new Map(detail?.ended.map((r) => [r.rank, r]));
    // A failed lane is drawn as running until its end, and in red after its end.
    const add = (span: RunSpan) => {
      if (span.colour !== 'error') return void spans.push(span);
      spans.push({ ...span, colour: 'running' });
      spans.push({ ...span, from: span.to, to: Math.max(span.to, to) });
    };
    // Other ranks were stopped because of the failed rank.
    const of = (rank: number) => (colour === 'error' && a.cause?.rank !== undefined && a.cause.rank !== rank ? 'waiting' : colour);
    for (let rank = 0; rank < a.ranks; ++rank) {
      const r = a === newest ? known.get(rank) : undefined;
      const lane = laneOf.get(rank)!;
      const end = ends.get(rank);
      if (r) {
        if (r.started_ms)
          add({
            lane,
            attempt: a.attempt,
            from: r.started_ms,
            to: r.ended_ms || to,
            colour: RANKS[r.state] ?? 'waiting',
            text: [`${each} ${a.attempt}`, r.state.toLowerCase(), stepOf(r)].filter(Boolean).join(', '),
          });
        if (lateFor(r) && r.agent?.late_since) marks.push({ lane, at: r.agent.late_since, kind: 'late', text: `late for ${lateFor(r)}` });
      } else if (end) {
        const [ink, how] = endOf(end);
        add({ lane, attempt: a.attempt, from: end.started_ms || a.begun_ms, to: Math.max(a.begun_ms, end.ended_ms), colour: ink, text: `${each} ${a.attempt}, ${how} on ${end.host}` });
      } else add({ lane, attempt: a.attempt, from: a.begun_ms, to, colour: of(rank), text: `${each} ${a.attempt} ${word}` });
    }
    if (a.ended_ms && (a.cause || a.end === 'CANCELLED' || a.end === 'PREEMPTED' || a.end === 'HUNG'))
      marks.push({
        lane: laneOf.get(a.cause?.rank ?? -1) ?? -1,
        at: a.ended_ms,
        kind: a.end === 'CANCELLED' || a.end === 'PREEMPTED' ? 'stop' : 'failed',
        text: a.cause?.text ?? `${each} ${a.attempt} ${word}`,
      });
    for (const e of detail?.events ?? [])
      marks.push({
        lane: byTask.get(taskName(e.about ?? '')) ?? byWorker.get(e.about ?? '') ?? -1,
        at: e.at_ms,
        kind: /FAILED$|ERROR$/.test(e.kind) ? 'failed' : 'event',
        text: [e.about && taskLabel(taskName(e.about), e.rank), EVENTS[e.kind] ?? e.kind, e.text].filter(Boolean).join(': '),
      });
    for (const b of detail?.barriers ?? [])
      barriers.push({
        lane: byTask.get(taskName(b.last)) ?? -1,
        from: b.ended_ms - b.late_ms,
        to: b.ended_ms,
        late: b.late_ms >= LATE_MS,
        text: `barrier ${b.id}: ${taskLabel(taskName(b.last), b.last_rank)} arrived last of ${b.participants}, ${age(b.late_ms)} after the median arrival`,
      });
    const next = attempts[i + 1];
    if (next && a.ended_ms && next.begun_ms >= a.ended_ms) gaps.push({ from: a.ended_ms, to: next.begun_ms, text: `restart: ${a.cause?.text ?? word}` });
  });
  const waits = [...meetings.flatMap((m) => waitsAt(m, now, byTask)), ...waitsOf(hang, ranks, now, laneOf)];
  for (const row of alerts) marks.push({ lane: -1, at: row.since_ms, kind: 'alert', text: row.title });
  marks.sort((a, b) => a.at - b.at);
  barriers.sort((a, b) => a.to - b.to);
  const from = attempts[0]?.begun_ms ?? now;
  const to = Math.max(newest?.ended_ms || now, ...marks.map((m) => m.at).filter((at) => at <= now));
  return { from, to: Math.max(to, from + 1), lanes, spans, gaps, marks, barriers, waits, outages: outages.filter((o) => o.to > from && o.from < to) };
}

// Members wait from the time they arrive. Missing members are awaited once half of the members have been waiting for a
// while.
function waitsAt(m: BarrierView, now: number, laneOf: ReadonlyMap<string, number>): RunWait[] {
  const all = members(m);
  const since = awaitedSince(all);
  return all.flatMap(({ task, came }): RunWait[] => {
    const lane = laneOf.get(task) ?? -1;
    const from = came || since;
    if (lane < 0 || from === 0 || from >= now || (!came && now - since < LATE_MS)) return [];
    return [{ lane, from, to: now, awaited: !came, text: came ? `waits at barrier ${m.id}` : `late for barrier ${m.id}` }];
  });
}

// If a hang has one cause, the other ranks wait for that rank since the program stopped making progress.
function waitsOf(hang: Hang | undefined, ranks: readonly RankView[], now: number, laneOf: ReadonlyMap<number, number>): RunWait[] {
  if (hang?.rank === undefined) return [];
  const alive = ranks.filter((r) => r.started_ms && !r.ended_ms);
  return alive.flatMap(({ rank }): RunWait[] => {
    const lane = laneOf.get(rank);
    if (lane === undefined || hang.since_ms >= now) return [];
    const awaited = rank === hang.rank;
    return [{ lane, from: hang.since_ms, to: now, awaited, text: awaited ? `hangs: ${hang.text}` : `waits for rank ${hang.rank}` }];
  });
}

// Returns a range of at least 10 ms within `whole`.
export function zoomed(r: Range, begin: number, end: number, whole: Range): Range {
  const length = Math.min(Math.max(10, (r.to - r.from) * (end - begin)), whole.to - whole.from);
  const from = Math.min(Math.max(r.from + (r.to - r.from) * begin, whole.from), whole.to - length);
  return { from, to: from + length };
}

// Two fingers at fractions a and b of the width have moved to c and d. The points under the fingers stay in place.
export function pinched(r: Range, [a, b]: readonly [number, number], [c, d]: readonly [number, number], whole: Range): Range {
  if (Math.abs(d - c) < 0.02) return r;
  const scale = (b - a) / (d - c);
  return zoomed(r, a - c * scale, a - c * scale + Math.abs(scale), whole);
}

export function lookAt(t: RunTimeline, lane: number, at: number, near: number): string {
  const span = t.spans.find((s) => s.lane === lane && s.from <= at && at <= s.to);
  const gap = t.gaps.find((g) => g.from <= at && at <= g.to);
  const marks = t.marks.filter((m) => (m.lane === lane || m.lane < 0) && Math.abs(m.at - at) <= near);
  const waits = t.waits.filter((w) => w.lane === lane && w.from <= at && at <= w.to);
  const outages = t.outages.filter((o) => o.from - near <= at && at <= o.to + near);
  const met = t.barriers.filter((b) => b.from - near <= at && at <= b.to + near && (b.lane === lane || Math.abs(b.to - at) <= near));
  return [
    t.lanes[lane]?.text,
    span?.text ?? gap?.text ?? 'nothing ran',
    ...waits.map((w) => w.text),
    ...outages.map((o) => o.text),
    ...marks.slice(0, 4).map((m) => m.text),
    ...met.slice(0, 2).map((b) => b.text),
  ]
    .filter(Boolean)
    .join(' · ');
}

export const summary = (t: RunTimeline, attempts: number, each: Seen['each'] = 'attempt'): string =>
  [
    plural(t.lanes.length, each === 'run' ? 'agent' : 'rank'),
    plural(attempts, each),
    plural(t.gaps.length, 'restart'),
    plural(t.marks.length, 'mark'),
    t.barriers.length > 0 && plural(t.barriers.length, 'barrier'),
  ]
    .filter(Boolean)
    .join(', ');

export const MANY = 1000; // lanes; above, changes are drawn with a delay

// Returns the least time between two computations of a timeline, in ms: 5 s for 10,000 lanes, which take about 50 ms.
export const pauseFor = (lanes: number): number => Math.max(250, lanes / 2);

// Rounds down to steps of at most one pixel's duration, so that the result is the same in consecutive frames.
export function steady(now: number, began: number, width: number, lanes = 0): number {
  const least = pauseFor(lanes);
  const pixel = (now - began) / Math.max(300, width);
  const step = least * 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, pixel / least))));
  return Math.floor(now / step) * step;
}
