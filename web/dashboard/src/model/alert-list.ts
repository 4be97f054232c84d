// What needs a person, as the server found it: in which order it is read, what was put aside, and its commands as one may
// type them here.

import type { AttentionRow, ClusterRow } from './protocol';

// What goes on now can still be helped; what stands still waits for somebody; what failed is over.
export type Urgency = 'live' | 'stuck' | 'past';
const STUCK = /^(no-|wish|gang|nothing-|barrier-|agents-missing|programs?-waits?$)/;
const PAST = /^(jobs?|sessions?|programs?|run|closures?)-(failed|alone)$/;
const RANK: Record<Urgency, number> = { live: 0, stuck: 1, past: 2 };

export function urgencyOf({ rule }: Pick<AttentionRow, 'rule'>): Urgency {
  return PAST.test(rule) ? 'past' : STUCK.test(rule) ? 'stuck' : 'live';
}

// Live, then stuck, then past; errors before warnings, and among equals the newest.
export function mostUrgentFirst(rows: readonly AttentionRow[]): AttentionRow[] {
  return [...rows].sort(
    (a, b) => RANK[urgencyOf(a)] - RANK[urgencyOf(b)] || Number(b.severity === 'error') - Number(a.severity === 'error') || b.since_ms - a.since_ms || (a.title < b.title ? -1 : 1),
  );
}

// Names an item for as long as its cause lasts: the same trouble that begins anew is another one.
export const nameOfItem = (row: AttentionRow): string => `${row.rule} ${row.since_ms} ${row.link || row.title}`;

// The cluster that an item is about, as its link says; empty: the main one, or the server.
export const clusterOf = ({ link }: AttentionRow): string => new URLSearchParams(link.split('?')[1] ?? '').get('cluster') ?? '';

const SHOWN = 2;
export function verdict(rows: readonly AttentionRow[], calm: string): string {
  if (rows.length === 0) return calm;
  const rest = rows.length - SHOWN;
  return rows.slice(0, SHOWN).map((row) => row.title).join('; ') + (rest > 0 ? `; and ${rest} more` : '');
}

// What the button beside an item says: what one does where its link leads.
export function deed({ rule }: AttentionRow): string {
  return rule === 'job-failed' ? 'Look and retry' : urgencyOf({ rule }) === 'stuck' ? 'Explain' : 'Show';
}

// The server does not know by which name it is reached; this page was loaded from one.
export function typed(command: string, hostname: string): string {
  return command.replace(/\bHOST\b/, hostname || 'localhost');
}

// Where workers join: the port of the main cluster, on the host that this page came from.
export function joinAddress(clusters: readonly ClusterRow[], hostname: string): string {
  const port = /:(\d+)$/.exec(clusters.find((c) => c.main)?.address ?? '')?.[1] ?? '8476';
  return `${hostname || 'localhost'}:${port}`;
}
