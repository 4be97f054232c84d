// The three numbers of the first page: running, waiting and failed.

import { plural } from '../../shared/model/format';
import type { AttentionRow } from '../../shared/model/protocol';
import type { ProgramRow } from '../../run/model/program-protocol';
import type { SamplesBody } from './points';

interface Waits {
  queued: number;
  blocked: number; // closures that wait for inputs
  slots: number;
  running: number;
}

// Returns why closures cannot start, without the number of closures.
function lackOf({ rule, title }: AttentionRow): string {
  if (rule === 'no-worker') return 'no worker is connected';
  const part = (pattern: RegExp) => pattern.exec(title)?.[1] ?? '';
  if (rule === 'no-function') return `no worker provides ${part(/ of (.+) queued, but no worker/) || 'their function'}`;
  if (rule === 'wish-unmet') {
    const needs = part(/ queued for (.+?), (?:which|but)/);
    return / accept no closures$/.test(title) ? `workers with ${needs} accept no closures` : `no worker has ${needs}`;
  }
  if (/^gang/.test(rule)) return title.replace(/^Gang/, 'gang');
  return title;
}

// Returns the reason why most closures wait. `rows` are the current alerts.
export function waitingFor(rows: readonly AttentionRow[], { queued, blocked, slots, running }: Waits): string {
  if (queued + blocked === 0) return 'nothing waits';
  const stuck = rows.filter(({ rule }) => /^(no-|wish|gang)/.test(rule)).sort((a, b) => b.count - a.count)[0];
  if (stuck) return `${stuck.count < queued + blocked ? `${stuck.count}: ` : ''}${lackOf(stuck)}`;
  if (blocked > queued) return `${blocked === queued + blocked ? 'they' : blocked} wait for inputs`;
  if (slots > 0 && running >= slots) return `${slots === 1 ? 'the only slot is' : `all ${plural(slots, 'slot')} are`} busy`;
  return 'about to start';
}

// Returns the number of closures that failed in the period of the samples.
export function failedIn(samples: SamplesBody): number {
  return Math.round((samples.failed.reduce((sum, rate) => sum + rate, 0) * samples.step_ms) / 1000);
}

// Returns for example "2 jobs, 1 session, 1 program" that failed within the last hour, or an empty string.
export function failedRuns(rows: readonly AttentionRow[]): string {
  const of = (one: string, many: string) => rows.reduce((n, { rule, count }) => n + (rule === one ? 1 : rule === many ? count : 0), 0);
  const kinds: [number, string][] = [
    [of('job-failed', 'jobs-failed'), 'job'],
    [of('session-failed', 'sessions-failed'), 'session'],
    [of('program-failed', 'programs-failed'), 'program'],
  ];
  return kinds
    .filter(([n]) => n > 0)
    .map(([n, word]) => plural(n, word))
    .join(', ');
}

export function runningRuns(jobs: number, programs: readonly Pick<ProgramRow, 'state' | 'alive'>[]): string {
  const active = programs.filter(({ state }) => state === 'RUNNING' || state === 'STARTING' || state === 'RESTARTING');
  const ranks = active.reduce((n, { alive }) => n + alive, 0);
  const parts = [jobs > 0 && plural(jobs, 'job'), active.length > 0 && `${plural(active.length, 'program')} of ${plural(ranks, 'rank')}`].filter(Boolean);
  return parts.join(', ') || 'nothing runs';
}
