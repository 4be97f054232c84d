// What needs a person, as the server found it: in which order it is read, and its commands as one may type them here.

import type { AttentionRow, ClusterRow } from './protocol';

// Errors first; among equals what has waited longest.
export function worstFirst(rows: readonly AttentionRow[]): AttentionRow[] {
  return [...rows].sort((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error') || a.since_ms - b.since_ms || (a.title < b.title ? -1 : 1));
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
