// Jobs, sessions and programs as runs in one list: the request for it, its facets, and texts of a row.

import type { WorkPage } from 'muster-rest';
import { bytes, count, outOf, plural, shortId } from '../../shared/model/format';
import { isOver, waitingOf } from '../../shared/model/counts';
import { heldBy } from './sessions';

export type { WorkPage } from 'muster-rest';
export type Run = WorkPage['runs'][number];
export type Kind = Run['kind'];
export type FacetCount = WorkPage['facets']['kinds'][number];

export interface Selection {
  runs: ReadonlyMap<string, Run>;
  all: boolean; // whether every matching run is selected, also on other pages
}
export const NOTHING: Selection = { runs: new Map(), all: false };

// Parameters of the address that select runs. `since` is a span before now, such as 1h.
export const FILTERS = ['q', 'kind', 'state', 'user', 'label', 'since'] as const;
export const ROWS = 50; // rows of a page
export const MOST = 10_000; // runs of an action or an export

const SPANS: Readonly<Record<string, number>> = { '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 };
export const SINCE: readonly (readonly [value: string, word: string])[] = [['', 'any time'], ...Object.keys(SPANS).map((span) => [span, `last ${span.replace(/(\d)([a-z])/, '$1 $2')}`] as const)];

// Replaces a `since` in a query by the time that it means now.
export function timed(path: string, now: number): string {
  const [address = '', text = ''] = path.split('?');
  const query = new URLSearchParams(text);
  const ms = SPANS[query.get('since') ?? ''];
  query.delete('since');
  if (ms) query.set('since_ms', String(Math.max(0, Math.floor(now - ms))));
  return `${address}?${query}`;
}

export const waiting = ({ counts: { total, ended: done, running } }: Run): number => waitingOf(total, done, running);

const of = (facet: readonly FacetCount[] | undefined, values: readonly string[]): number => (facet ?? []).reduce((n, { value, runs }) => n + (values.includes(value) ? runs : 0), 0);

export const KINDS = [
  ['', 'all'],
  ['job', 'jobs'],
  ['session', 'sessions'],
  ['program', 'programs'],
] as const;

// A state of the filter can stand for several states of the server.
const STATES: readonly (readonly [value: string, word: string, states: readonly string[]])[] = [
  ['', 'all', []],
  ['UNFINISHED', 'unfinished', ['QUEUED', 'RUNNING', 'PENDING', 'STARTING', 'RESTARTING', 'STOPPING']],
  ['QUEUED,PENDING', 'waiting', ['QUEUED', 'PENDING']],
  ['FAILED', 'failed', ['FAILED']],
  ['SUCCEEDED', 'succeeded', ['SUCCEEDED']],
  ['CANCELLED', 'cancelled', ['CANCELLED']],
];

type Choice = [value: string, word: string, count?: string];
const option = (value: string, word: string, n: number): Choice => (n > 0 && value ? [value, word, count(n)] : [value, word]);

export const kindChoices = (facets: WorkPage['facets'] | undefined): Choice[] => KINDS.map(([value, word]) => option(value, word, of(facets?.kinds, [value])));
export const stateChoices = (facets: WorkPage['facets'] | undefined): Choice[] => STATES.map(([value, word, states]) => option(value, word, of(facets?.states, states)));

// Returns the values of a menu with their counts. The chosen value is always among them.
export function menuChoices(facet: readonly FacetCount[] | undefined, chosen: string): [value: string, text: string][] {
  const all = facet ?? [];
  const missing = chosen && !all.some(({ value }) => value === chosen) ? [{ value: chosen, runs: 0 }] : [];
  return [...all, ...missing].map(({ value, runs }) => [value, `${value === '-' ? 'no token' : value} (${count(runs)})`]);
}

export const nameOf = (run: Run): string => run.name || shortId(run.id);

export function ranksOf(run: Run): string {
  const { counts, attempt, wanted_ranks: wanted } = run;
  if (!attempt) return !wanted ? '–' : wanted.min === wanted.max ? count(wanted.min) : `${count(wanted.min)} to ${count(wanted.max)}`;
  return isOver(run) ? count(counts.total) : outOf(counts.running, counts.total);
}

export const restartsOf = ({ restarts = 0, max_restarts: most = 0 }: Run): string => (most > 0 ? outOf(restarts, most) : count(restarts));

// Returns the facts below the name. `alone` is the kind if only this kind is listed; its facts have columns of their own.
export function facts(run: Run, alone: string, now: number): string[] {
  const all: string[] = alone ? [] : [run.kind];
  if (run.submitted_by) all.push(run.submitted_by);
  if (run.retry_of) all.push(`retry of ${shortId(run.retry_of)}`);
  if (run.kind === 'session' && !alone) {
    if (run.values) all.push(`${plural(run.values, 'value')}, ${bytes(run.value_bytes ?? 0)}`);
    if (!isOver(run)) all.push(heldBy(run, now).text);
  }
  if (run.kind === 'program' && !alone) {
    all.push(run.attempt && !isOver(run) ? `${ranksOf(run)} ranks` : plural(run.counts.total, 'rank'));
    if (run.restarts) all.push(plural(run.restarts, 'restart'));
  }
  return [...all, ...(run.labels ?? [])];
}

// Returns the reason for the state; the most severe reason comes first.
export const reasonOf = (run: Run): string => run.waits_for || run.error || '';
