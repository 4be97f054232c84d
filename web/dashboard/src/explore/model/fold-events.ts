// Folds repeated events into one line with a count. Events are repeated if they have the same kind and subject, and there are
// only other repeated events between them.

import type { EventRow } from '../../shared/model/protocol';

export interface FoldedEvent extends EventRow {
  times: number;
  first: number; // number of the oldest event; stays the same while the fold grows
  first_ms: number;
}

// Repeated events within this time are folded even if other events lie between them.
const NEAR_MS = 300_000;

// Texts that differ only in numbers, such as "for 40 s" and "for 60 s", count as the same text.
function sameness(e: EventRow): string {
  return [e.severity, e.kind, e.cluster, e.subject, e.text.replace(/\d+(\.\d+)?/g, '#')].join('\u0000');
}

// Returns the events about this closure worker, newest first. Events of the main cluster may have an empty cluster
// name.
export function eventsOf(events: readonly EventRow[], worker: string, cluster: { name: string; main: boolean }): EventRow[] {
  return events.filter((e) => e.subject === worker && (e.cluster === cluster.name || (cluster.main && !e.cluster))).sort((a, b) => b.number - a.number);
}

// Both lists are newest first; the newest event represents its fold.
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
