// Combines alerts that have the same cause.

import { deedOf, kindOf, urgencyOf, type Deed } from '../../shared/model/alert-list';
import type { AttentionRow } from '../../shared/model/protocol';

export interface Fold {
  key: string; // stays the same when more alerts have this cause
  rows: readonly AttentionRow[]; // the newest first
}

// Returns the names of the resources in a text such as "gpu=4, memory=2".
const resourcesIn = (text: string): string[] => [...new Set([...text.matchAll(/\b([a-z][\w.-]*)=\d+/gi)].map((found) => found[1]!))].sort();

// Returns the cause without the names of the objects that it concerns; empty if alerts of this kind are never combined.
export function causeOf({ rule, title, detail }: Pick<AttentionRow, 'rule' | 'title' | 'detail'>): string {
  if (/^(wish-unmet|gang-unmet|program-waits)$/.test(rule)) {
    const wanted = resourcesIn(rule === 'program-waits' ? detail : `${title} ${detail}`);
    return wanted.length > 0 ? `wants ${wanted.join(', ')}` : '';
  }
  if (rule === 'job-failed' || rule === 'program-failed') return detail;
  // The names of the jobs or the client are not part of the cause.
  if (rule === 'jobs-failed') return detail.slice(0, Math.max(0, detail.lastIndexOf('; ')));
  if (rule === 'session-failed') return detail.replace(/^client: [^;]*; /, '');
  return '';
}

// Keeps the order of the first alert of each cause.
export function folds(rows: readonly AttentionRow[]): Fold[] {
  const all = new Map<string, AttentionRow[]>();
  for (const row of rows) {
    const cause = causeOf(row);
    // A failed job, session and program with the same error have the same cause, but only runs of one kind can be retried together.
    const kind = cause.startsWith('wants ') ? '' : (kindOf(row)?.one ?? row.rule);
    const key = cause ? `${urgencyOf(row)} ${kind} ${cause}` : `${row.rule} ${row.link} ${row.title}`;
    all.set(key, [...(all.get(key) ?? []), row]);
  }
  return [...all].map(([key, of]) => ({ key, rows: of.sort((a, b) => b.since_ms - a.since_ms) }));
}

// Returns the action for all alerts of a fold, if there is one.
export function deedOfFold({ rows }: Fold): Deed | null {
  if (rows.length === 1) return deedOf(rows[0]!);
  const deeds = rows.map(deedOf).filter((deed): deed is Deed => deed?.does === 'retry' || deed?.does === 'retry-all');
  return deeds.length === 0 ? deedOf(rows[0]!) : { does: 'retry-all', id: deeds.map(({ id }) => id).join(' '), job: '' };
}

// Returns the number of further runs with this cause, including those of a row that already stands for several.
export function more({ rows }: Fold): number {
  return rows.slice(1).reduce((n, row) => n + (row.rule === 'jobs-failed' ? row.count : 1), 0);
}
