import type { AttemptList, ProgramView, RankList, RankLog as RankLogBody } from 'muster-rest';
import { count, duration, plural } from './format';
import type { Shape } from './shape';

export type { ProgramView } from 'muster-rest';
export type ProgramState = ProgramView['state'];
export type ProgramSteps = NonNullable<ProgramView['steps']>;
export type SlowRank = ProgramSteps['slow'][number];
export type Cause = NonNullable<ProgramView['cause']>;
export type Hang = NonNullable<ProgramView['hang']>;
export type AttemptView = AttemptList['attempts'][number];
// `agent` is the state in the coordination cluster; only the WebSocket sends it.
export type RankView = RankList['ranks'][number] & { agent?: { state: string; error?: string; late_for?: string; late_since?: number } };
export type RankState = RankView['state'];
export type RankLog = Omit<RankLogBody, 'task'>;

type Look = readonly [shape: Shape, colour: string, word: string];

export const PROGRAM_LOOKS: Record<ProgramState, Look> = {
  PENDING: ['late', 'text-late', 'Pending'],
  STARTING: ['restarting', 'text-restarting', 'Starting'],
  RUNNING: ['running', 'text-running', 'Running'],
  RESTARTING: ['restarting', 'text-restarting', 'Restarting'],
  STOPPING: ['restarting', '', 'Stopping'],
  SUCCEEDED: ['connected', 'text-connected', 'Succeeded'],
  FAILED: ['error', 'text-error', 'Failed'],
  CANCELLED: ['disconnected', '', 'Cancelled'],
};

export const RANK_LOOKS: Record<RankState, Look> = {
  STARTING: PROGRAM_LOOKS.STARTING,
  RUNNING: PROGRAM_LOOKS.RUNNING,
  SUCCEEDED: PROGRAM_LOOKS.SUCCEEDED,
  FAILED: PROGRAM_LOOKS.FAILED,
  STOPPED: ['disconnected', '', 'Stopped'],
};

// A newer server may have other states.
export const lookOf = (looks: Readonly<Record<string, Look>>, state: string): Look => looks[state] ?? ['waiting', '', state];

export function wanted({ tasks }: Pick<ProgramView, 'tasks'>): string {
  const all = Object.values(tasks);
  const [least, most] = [all.reduce((n, t) => n + t.min, 0), all.reduce((n, t) => n + t.max, 0)];
  return least === most ? count(least) : `${count(least)} to ${count(most)}`;
}

// Returns the reason for the state; empty if the state needs no explanation.
export const reason = (p: { waits_for?: string; cause?: { text: string } }): string => p.waits_for || p.cause?.text || '';

// Applies the server's rules; the newest program comes first.
export function fitting<Row extends Pick<ProgramView, 'id' | 'cluster' | 'name' | 'state'>>(all: readonly Row[], cluster: string, state: string, text: string): Row[] {
  const wanted = text.toLowerCase();
  const fits = (p: Row) => p.cluster === cluster && (!state || p.state === state) && (p.name.toLowerCase().includes(wanted) || p.id.includes(wanted));
  return all.filter(fits).sort((a, b) => (a.id < b.id ? 1 : -1));
}

export function verdict(p: ProgramView): string {
  const lost = p.lost_workers?.map((l) => `${l.text}.`).join(' ');
  if (lost) return lost;
  const again = p.restarts > 0 ? ` after ${plural(p.restarts, 'restart')}` : '';
  switch (p.state) {
    case 'PENDING':
    case 'RESTARTING':
      return p.waits_for ? `Waiting: ${p.waits_for}.` : p.state === 'PENDING' ? 'Waiting for workers.' : `Attempt ${p.attempt} is ending, and a new attempt follows.`;
    case 'STARTING':
      return `${count(p.started)} of ${plural(p.ranks, 'rank')} started.`;
    case 'RUNNING':
      if (p.hang) return `Hangs: ${p.hang.text}.`;
      return `${count(p.alive)} of ${plural(p.ranks, 'rank')} running${again}.`;
    case 'STOPPING':
      return `Its ranks have been asked to stop; ${count(p.alive)} of ${count(p.ranks)} are still running.`;
    case 'SUCCEEDED':
      return `Succeeded${again}.`;
    case 'FAILED':
      return `Failed${again}.`;
    case 'CANCELLED':
      return `Cancelled${again}.`;
    default:
      return '';
  }
}

// Returns "exit 1" or "signal 9, out of memory", or an empty string while the rank is running.
export function endOf(r: RankView): string {
  if (r.not_started) return `not started: ${r.not_started}`;
  if (!r.ended_ms) return r.worker_lost ? `${r.worker} is lost` : '';
  const how = r.signal ? `signal ${r.signal}` : `exit ${r.exit_status ?? 0}`;
  return r.out_of_memory ? `${how}, out of memory` : how;
}

// Returns the barrier at which other ranks wait for this rank, or an empty string.
export const lateFor = (r: RankView): string => (r.ended_ms ? '' : (r.agent?.late_for ?? ''));

// Returns for example "step 120, 35 ms each"; empty if the rank reports no steps.
export const stepOf = ({ step, step_ms: each }: Pick<RankView, 'step' | 'step_ms'>): string => (step === undefined ? '' : `step ${count(step)}${each ? `, ${duration(each * 1000)} each` : ''}`);

export const chronic = (steps: ProgramSteps | undefined): SlowRank[] => (steps?.slow ?? []).filter((s) => s.chronic);

export const slowText = (s: SlowRank): string =>
  `rank ${s.rank} on ${s.host} is ${s.percent ?? 0}% slower in most steps${(s.attempts ?? 0) > 1 ? `; slow on this host in ${s.attempts} attempts` : ''}${(s.runs ?? 0) > 1 ? `; slow on this host in ${s.runs} programs` : ''}`;

export const resourcesOf = (r: Readonly<Record<string, number>> = {}): string =>
  Object.entries(r)
    .map(([name, n]) => `${count(n)} ${name}`)
    .join(', ');

// Order in which states are listed; failures come first.
const ORDER: readonly RankState[] = ['FAILED', 'STARTING', 'RUNNING', 'STOPPED', 'SUCCEEDED'];
export function byState(ranks: readonly RankView[]): [state: RankState, n: number][] {
  const n = new Map<RankState, number>();
  for (const { state } of ranks) n.set(state, (n.get(state) ?? 0) + 1);
  return [...n].sort(([a], [b]) => ORDER.indexOf(a) - ORDER.indexOf(b));
}

// The label includes the rank, because "worker:3" alone would look like a worker's name.
export const rankLabel = ({ rank, task }: { rank: number; task: string }): string => (!task || task === `worker:${rank}` ? `rank ${rank}` : `rank ${rank} (${task})`);

// Returns null for other keys. `across` is the number of cells in a row.
export function stepTo(key: string, at: number, n: number, across: number): number | null {
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - across, ArrowDown: at + across, Home: 0, End: n - 1 }[key];
  if (to === undefined) return null;
  return to < 0 || to >= n ? at : to;
}

export interface Tail {
  text: string;
  cut: boolean; // whether earlier output exists
  next: number;
  known: boolean;
  complete: boolean;
  behind: boolean; // whether more output is available
}
const TAIL_MAX = 200_000; // characters shown

export function followed(before: Tail | null, log: RankLog): Tail {
  if (before?.known && !log.known) return { ...before, behind: false, complete: log.complete }; // because the worker is busy or no longer has the log
  const gap = before !== null && log.offset !== before.next; // whether the server no longer has the output in between
  const text = (before && !gap ? before.text : '') + log.data;
  const whole = text.length <= TAIL_MAX;
  const begin = whole ? 0 : text.indexOf('\n', text.length - TAIL_MAX) + 1 || text.length - TAIL_MAX;
  return {
    text: text.slice(begin),
    cut: !whole || (before && !gap ? before.cut : log.offset > 0),
    next: log.next_offset,
    known: log.known,
    complete: log.complete && log.next_offset >= log.size,
    behind: log.next_offset < log.size,
  };
}
