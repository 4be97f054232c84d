// Recomputes the timeline only if the data changed or time advanced by about a pixel. Rank output is excluded, because
// it changes many times a second. With many lanes, changes are drawn with a delay.

import { useMemo } from 'preact/hooks';
import { MANY, pauseFor, runTimeline, steady, type RunTimeline, type Seen } from './model/timeline';
import { lateFor, type AttemptView, type RankView } from '../shared/model/programs';
import { viewNow } from '../shared/page';

export function useRunTimeline(ended: boolean, attempts: readonly AttemptView[], ranks: readonly RankView[], seen: Seen, width: number): RunTimeline {
  const now = ended ? viewNow() : steady(viewNow(), attempts[0]?.begun_ms ?? 0, width, ranks.length);
  const states = useMemo(() => ranks.map((r) => `${r.rank}${r.state}${r.started_ms ?? ''}${r.ended_ms ?? ''}${r.host}${lateFor(r) && r.agent?.late_since}`).join(), [ranks]);
  const told = [
    ended ? '' : now,
    states,
    ...(seen.meetings ?? []).map((m) => `${m.id}${m.counter}${m.arrivals?.length ?? 0}`),
    seen.hang?.since_ms,
    seen.hang?.text,
    ...(seen.outages ?? []).map((o) => o.to),
    ...(seen.alerts ?? []).map((a) => `${a.title}${a.since_ms}`),
  ];
  const changed = ranks.length > MANY ? [Math.floor(viewNow() / pauseFor(ranks.length))] : [told.join(), seen.details];
  const ends = attempts.map((a) => `${a.attempt}${a.end}${a.ended_ms ?? ''}`).join();
  return useMemo(() => runTimeline(attempts, ranks, now, seen), [ends, ranks.length, ...changed]);
}
