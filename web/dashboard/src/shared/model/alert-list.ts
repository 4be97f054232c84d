import { plural } from './format';
import type { AttentionRow, ClusterRow } from './protocol';

// A `live` problem can still be fixed, a `stuck` problem waits for the user, and a `past` problem has already caused a
// failure.
type Urgency = 'live' | 'stuck' | 'past';
const STUCK = /^(no-|wish|gang|nothing-|barrier-|agents-missing|programs?-waits?$)/;
const PAST = /^(jobs?|sessions?|programs?|run|closures?)-(failed|alone)$/;
const RANK: Record<Urgency, number> = { live: 0, stuck: 1, past: 2 };

export function urgencyOf({ rule }: Pick<AttentionRow, 'rule'>): Urgency {
  return PAST.test(rule) ? 'past' : STUCK.test(rule) ? 'stuck' : 'live';
}

// Sorts by urgency (live, stuck, past), then severity, newest first.
export function mostUrgentFirst(rows: readonly AttentionRow[]): AttentionRow[] {
  return [...rows].sort(
    (a, b) => RANK[urgencyOf(a)] - RANK[urgencyOf(b)] || Number(b.severity === 'error') - Number(a.severity === 'error') || b.since_ms - a.since_ms || (a.title < b.title ? -1 : 1),
  );
}

// The alert's name stays the same while the cause lasts, and differs if the problem occurs again.
export const nameOfItem = (row: AttentionRow): string => `${row.rule} ${row.since_ms} ${row.link || row.title}`;

// Returns the cluster in an alert's link; empty for the main cluster or the whole server.
export const clusterOf = ({ link }: AttentionRow): string => new URLSearchParams(link.split('?')[1] ?? '').get('cluster') ?? '';

// Alerts of all other rules are counted by title.
const KINDS: readonly [rules: RegExp, one: string, many: string][] = [
  [/^worker-lost$/, 'worker lost', 'workers lost'],
  [/^(worker-late|agents-late)$/, 'task late', 'tasks late'],
  [/^agents-in-error$/, 'task in error', 'tasks in error'],
  [/^programs?-hangs?$/, 'program hanging', 'programs hanging'],
  [/^(no-|wish|gang)/, 'closure cannot start', 'closures cannot start'],
  [/^barrier-stuck$/, 'barrier waiting', 'barriers waiting'],
  [/^agents-missing$/, 'task not registered yet', 'tasks not registered yet'],
  [/^programs?-waits?$/, 'program waiting', 'programs waiting'],
  [/^run-failed$/, 'run failed', 'runs failed'],
  [/^programs?-failed$/, 'program failed', 'programs failed'],
  [/^jobs?-failed$/, 'job failed', 'jobs failed'],
  [/^sessions?-failed$/, 'session failed', 'sessions failed'],
  [/^closures?-alone$/, 'closure has lost its workers', 'closures have lost their workers'],
];
const SHOWN = 5;
const SHORT = 36; // longest title, in characters, that is shown instead of a count

// If an alert is about a single job or barrier, its count is the number of closures or tasks.
const subjects = ({ rule, count }: AttentionRow): number => (/^(job-failed|session-failed|barrier-stuck)$/.test(rule) ? 1 : Math.max(1, count));

// Returns for example "2 jobs failed, 34 closures cannot start", errors first. A single alert with a short title is
// summarised by its title.
export function verdict(rows: readonly AttentionRow[], calm: string): string {
  if (rows.length === 0) return calm;
  const kinds = new Map<unknown, AttentionRow[]>();
  for (const row of rows) {
    const kind = KINDS.find(([rules]) => rules.test(row.rule)) ?? row;
    kinds.set(kind, [...(kinds.get(kind) ?? []), row]);
  }
  const mild = (of: readonly AttentionRow[]) => Number(of.every((row) => row.severity !== 'error'));
  const said = [...kinds]
    .sort(([, a], [, b]) => mild(a) - mild(b))
    .map(([kind, of]) => {
      if (!Array.isArray(kind) || (of.length === 1 && of[0]!.title.length <= SHORT)) return of[0]!.title;
      const n = of.reduce((sum, row) => sum + subjects(row), 0);
      return plural(n, kind[1], kind[2]);
    });
  const rest = said.length - SHOWN;
  return said.slice(0, SHOWN).join(', ') + (rest > 0 ? `, and ${rest} more` : '');
}

export interface Deed {
  does: 'retry' | 'retry-all' | 'cancel' | 'restart' | 'explain';
  id: string; // several job IDs are separated by spaces
  job: string;
}

export function deedOf({ rule, link, command = '' }: AttentionRow): Deed | null {
  const [path = '', query] = link.split('?');
  const id = decodeURIComponent(path.split('/')[2] ?? '');
  const job = new URLSearchParams(query).get('job') ?? '';
  if (rule === 'job-failed' && command.startsWith('muster retry ')) return { does: 'retry', id, job: id };
  if (rule === 'jobs-failed' && command.startsWith('muster retry ')) return { does: 'retry-all', id: command.slice('muster retry '.length), job: '' };
  if (rule === 'closure-alone') return { does: 'cancel', id, job };
  if (rule === 'program-hangs') return { does: 'restart', id, job: '' };
  return path.startsWith('/closures/') ? { does: 'explain', id, job } : null;
}

const ANNOUNCED = 3;

// Returns the announcement of new alerts, and the names of all alerts. On the first call, no alert is new.
export function newAlerts(rows: readonly AttentionRow[], known: ReadonlySet<string> | null): { names: ReadonlySet<string>; text: string } {
  const names = new Set(rows.map(nameOfItem));
  const found = known ? rows.filter((row) => !known.has(nameOfItem(row))) : [];
  const rest = found.length - ANNOUNCED;
  const said = found.slice(0, ANNOUNCED).map(({ severity, title }) => `${severity === 'error' ? 'Error' : 'Warning'}: ${title}.`);
  return { names, text: found.length === 0 ? '' : `New alert${found.length > 1 ? 's' : ''}. ${said.join(' ')}${rest > 0 ? ` And ${rest} more.` : ''}` };
}

// Returns the alert's command if it must run on another machine and therefore has no button.
export const commandFor = ({ rule, command }: AttentionRow): string => (rule === 'no-worker' ? (command ?? '') : '');

// Replaces HOST by the dashboard's host name, because the server does not know its own host name.
export function typed(command: string, hostname: string): string {
  return command.replace(/\bHOST\b/, hostname || 'localhost');
}

// Returns the dashboard's host and the port of the main cluster.
export function joinAddress(clusters: readonly ClusterRow[], hostname: string): string {
  const port = /:(\d+)$/.exec(clusters.find((c) => c.main)?.address ?? '')?.[1] ?? '8476';
  return `${hostname || 'localhost'}:${port}`;
}
