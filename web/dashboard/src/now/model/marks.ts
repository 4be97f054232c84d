// The starts, failures and restarts that the timeline marks.

import type { EventRow, Job } from '../../shared/model/protocol';
import type { ProgramRow } from '../../run/model/program-protocol';

export const MARK_KINDS = ['start', 'failure', 'restart'] as const;
export type MarkKind = (typeof MARK_KINDS)[number];
export const MARK_WORDS: Record<MarkKind, string> = { start: 'Starts', failure: 'Failures', restart: 'Restarts' };

export interface Mark {
  kind: MarkKind;
  at_ms: number;
  text: string;
}

const MOST = 200; // of each kind; the newest are kept

const FAILURES = new Set(['job_failed', 'session_failed', 'program_failed', 'program_hangs', 'generation_failed', 'task_error', 'worker_lost', 'worker_given_up', 'no_progress', 'journal_failed']);
const RESTARTS = new Set(['server_started', 'task_restarted', 'worker_returned']);
const STARTS = new Set(['worker_attached', 'generation_started']);

const kindOfEvent = (kind: string): MarkKind | null => (FAILURES.has(kind) ? 'failure' : RESTARTS.has(kind) ? 'restart' : STARTS.has(kind) ? 'start' : null);

export function marksOf(events: readonly EventRow[], jobs: readonly Job[], programs: readonly Pick<ProgramRow, 'id' | 'name' | 'created_ms'>[], from: number): Mark[] {
  const marks: Mark[] = [
    ...events.flatMap(({ kind, time_ms, text }) => {
      const of = kindOfEvent(kind);
      return of ? [{ kind: of, at_ms: time_ms, text }] : [];
    }),
    ...jobs.map(({ id, name, created_ms }): Mark => ({ kind: 'start', at_ms: created_ms, text: `job ${name || id} started` })),
    ...programs.map(({ id, name, created_ms }): Mark => ({ kind: 'start', at_ms: created_ms, text: `program ${name || id} started` })),
  ].filter(({ at_ms }) => at_ms >= from);
  marks.sort((a, b) => a.at_ms - b.at_ms);
  return MARK_KINDS.flatMap((kind) => marks.filter((mark) => mark.kind === kind).slice(-MOST));
}

// Returns the marks closest to a time, at most three.
export function marksAt(marks: readonly Mark[], at_ms: number, within_ms: number): Mark[] {
  const distance = ({ at_ms: of }: Mark) => Math.abs(of - at_ms);
  return marks
    .filter((mark) => distance(mark) <= within_ms)
    .sort((a, b) => distance(a) - distance(b))
    .slice(0, 3);
}
