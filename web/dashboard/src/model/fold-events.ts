// Events that repeat become one line: of the same kind about the same subject, with nothing else in between but other
// repeated ones. What counts is what a reader learns from the second one, which is only that it happened again.

import type { EventRow } from './protocol';

export interface FoldedEvent extends EventRow {
  times: number;
  first: number; // the number of the oldest of them: stays while the fold grows
  first_ms: number;
}

// Within this time of one another repeats belong together, whatever happened in between.
const NEAR_MS = 300_000;

// Texts that differ in their numbers only ("for 40 s", "for 60 s") tell the same.
function sameness(e: EventRow): string {
  return [e.severity, e.kind, e.cluster, e.subject, e.text.replace(/\d+(\.\d+)?/g, '#')].join('\u0000');
}

// What happened to one closure worker, newest first: what only names it is about somebody else. Events of the main cluster
// may have an empty name.
export function eventsOf(events: readonly EventRow[], worker: string, cluster: { name: string; main: boolean }): EventRow[] {
  return events.filter((e) => e.subject === worker && (e.cluster === cluster.name || (cluster.main && !e.cluster))).sort((a, b) => b.number - a.number);
}

// Newest first in, newest first out; the newest of a fold stands for it.
export function foldEvents(events: readonly EventRow[]): FoldedEvent[] {
  const folded: FoldedEvent[] = [];
  const open = new Map<string, FoldedEvent>();
  for (const event of events) {
    const key = sameness(event);
    const held = open.get(key);
    if (held && held.first_ms - event.time_ms <= NEAR_MS) {
      ++held.times;
      held.first = event.number;
      held.first_ms = event.time_ms;
      continue;
    }
    const line: FoldedEvent = { ...event, times: 1, first: event.number, first_ms: event.time_ms };
    open.set(key, line);
    folded.push(line);
  }
  return folded;
}
