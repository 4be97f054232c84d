import { plural } from './format';
import { normal } from './pages';
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

// The kinds of alerts that are counted together, and the page that lists the objects of a kind.
export interface Kind {
  rules: RegExp;
  one: string;
  many: string;
  to: string;
}
const KINDS: readonly Kind[] = [
  { rules: /^worker-lost$/, one: 'worker lost', many: 'workers lost', to: '/fleet?state=ERROR' },
  { rules: /^worker-late$/, one: 'worker late', many: 'workers late', to: '/fleet?state=LATE' },
  { rules: /^agents-late$/, one: 'task late', many: 'tasks late', to: '/fleet?state=late' },
  { rules: /^agents-in-error$/, one: 'task in error', many: 'tasks in error', to: '/fleet?state=victim' },
  { rules: /^programs?-hangs?$/, one: 'program hanging', many: 'programs hanging', to: '/programs?state=RUNNING' },
  { rules: /^(no-|wish|gang)/, one: 'closure cannot start', many: 'closures cannot start', to: '/queue' },
  { rules: /^barrier-stuck$/, one: 'barrier waiting', many: 'barriers waiting', to: '/agreement' },
  { rules: /^agents-missing$/, one: 'task not registered yet', many: 'tasks not registered yet', to: '/fleet?state=missing' },
  { rules: /^programs?-waits?$/, one: 'program waiting', many: 'programs waiting', to: '/programs?state=PENDING' },
  { rules: /^run-failed$/, one: 'run failed', many: 'runs failed', to: '/fleet' },
  { rules: /^programs?-failed$/, one: 'program failed', many: 'programs failed', to: '/programs?state=FAILED' },
  { rules: /^jobs?-failed$/, one: 'job failed', many: 'jobs failed', to: '/work?state=FAILED' },
  { rules: /^sessions?-failed$/, one: 'session failed', many: 'sessions failed', to: '/sessions' },
  { rules: /^closures?-alone$/, one: 'closure has lost its workers', many: 'closures have lost their workers', to: '/work?state=UNFINISHED' },
];
const SHOWN = 5;
const SHORT = 36; // longest title, in characters, that is shown instead of a count

export const kindOf = ({ rule }: Pick<AttentionRow, 'rule'>): Kind | undefined => KINDS.find(({ rules }) => rules.test(rule));

// If an alert is about a single job or barrier, its count is the number of closures or tasks.
const subjects = ({ rule, count }: AttentionRow): number => (/^(job-failed|session-failed|barrier-stuck)$/.test(rule) ? 1 : Math.max(1, count));

// Returns the alert's address; the server can send an address of an earlier version.
export function linkOf({ link }: Pick<AttentionRow, 'link'>): string {
  if (!link) return '';
  const [pathname = '', search] = link.split('?');
  const to = normal({ pathname, search: search === undefined ? '' : `?${search}` });
  return to.pathname + to.search;
}

// Returns the page of a kind in the cluster of an alert.
function pageOfKind({ to }: Kind, row: AttentionRow): string {
  const cluster = clusterOf(row);
  return cluster ? `${to}${to.includes('?') ? '&' : '?'}cluster=${encodeURIComponent(cluster)}` : to;
}

export interface Phrase {
  text: string;
  link: string; // empty for a phrase without a page
}

// Phrases after the first are inside a sentence.
const continued = (text: string): string => text.replace(/^[A-Z](?=[a-z]* )/, (letter) => letter.toLowerCase());

// Returns for example "2 jobs failed" and "34 closures cannot start", errors first. A single alert with a short title is
// summarised by its title, and alerts of unknown rules always are.
export function verdict(rows: readonly AttentionRow[]): Phrase[] {
  const kinds = new Map<unknown, AttentionRow[]>();
  for (const row of rows) {
    const kind = kindOf(row) ?? row;
    kinds.set(kind, [...(kinds.get(kind) ?? []), row]);
  }
  const mild = (of: readonly AttentionRow[]) => Number(of.every((row) => row.severity !== 'error'));
  const phrases = [...kinds.values()]
    .sort((a, b) => mild(a) - mild(b))
    .map((of): Phrase => {
      const first = of[0]!;
      const kind = kindOf(first);
      if (!kind || (of.length === 1 && first.title.length <= SHORT)) return { text: first.title, link: linkOf(first) };
      const n = of.reduce((sum, row) => sum + subjects(row), 0);
      const only = of.length === 1 && subjects(first) === 1;
      return { text: plural(n, kind.one, kind.many), link: (only && linkOf(first)) || pageOfKind(kind, first) };
    })
    .map(({ text, link }, n) => ({ text: n > 0 ? continued(text) : text, link }));
  const rest = phrases.length - SHOWN;
  return rest > 0 ? [...phrases.slice(0, SHOWN), { text: `and ${rest} more`, link: '' }] : phrases;
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
