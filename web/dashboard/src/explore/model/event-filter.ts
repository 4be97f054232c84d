import { isIn, type Range } from './range';
import type { EventRow } from '../../shared/model/protocol';

export const SEVERITIES = ['all', 'warnings', 'errors'] as const;
export type SeverityFilter = (typeof SEVERITIES)[number];

export interface Wanted {
  severity: SeverityFilter;
  kind: string;
  text: string; // lower-case
  range: Range;
  now: number;
}

export function fits(e: EventRow, { severity, kind, text, range, now }: Wanted): boolean {
  if (severity === 'errors' && e.severity !== 'ERROR') return false;
  if (severity === 'warnings' && e.severity === 'INFO') return false;
  if (kind && e.kind !== kind) return false;
  if (!isIn(e.time_ms, range, now)) return false;
  return !text || [e.kind, e.cluster, e.subject, e.text].some((part) => part.toLowerCase().includes(text));
}

// An event on disk has the number 0, so its content identifies it.
const sameness = (e: EventRow): string => [e.time_ms, e.kind, e.cluster, e.subject, e.text].join('\u0000');

// Joins events from disk with the newest events, each once, and returns the newest first. Two events can have the same content.
export function joined(past: readonly EventRow[], live: readonly EventRow[]): EventRow[] {
  const known = new Map<string, number>();
  for (const e of live) known.set(sameness(e), (known.get(sameness(e)) ?? 0) + 1);
  const onlyOnDisk = past.filter((e) => {
    const left = known.get(sameness(e)) ?? 0;
    known.set(sameness(e), left - 1);
    return left <= 0;
  });
  return [...onlyOnDisk, ...live].sort((a, b) => b.time_ms - a.time_ms || b.number - a.number);
}

export const kindsOf = (events: readonly EventRow[], chosen: string): string[] => [...new Set([...events.map((e) => e.kind), ...(chosen ? [chosen] : [])])].sort();

export interface Step {
  from: number;
  info: number;
  warning: number;
  error: number;
}

// Counts events in steps of equal length; `events` are not empty.
export function histogram(events: readonly EventRow[], from: number, to: number, steps: number): Step[] {
  const length = Math.max(1, to - from) / steps;
  const all = Array.from({ length: steps }, (_, n): Step => ({ from: from + n * length, info: 0, warning: 0, error: 0 }));
  for (const e of events) {
    const step = all[Math.min(steps - 1, Math.max(0, Math.floor((e.time_ms - from) / length)))]!;
    ++step[e.severity.toLowerCase() as 'info' | 'warning' | 'error'];
  }
  return all;
}
