// Compares a run with an earlier run: durations by function, what differs in the submission, workers and hosts, steps, and the first
// call or step that differs. Everything is computed from answers of the REST API, each read once.

import type { JobDurations } from 'muster-rest';
import { hasEnded, nameOf, ran, whereOf } from '../../shared/model/closures';
import { age, count, duration, NONE, pairs, plural, span } from '../../shared/model/format';
import { commandLine } from '../../shared/model/commands';
import { resourcesOf, type AttemptView, type ProgramView, type RankView } from '../../shared/model/programs';
import type { ClosureView, JobView } from '../../shared/model/views';
import { took, type StepCell } from './steps';

export const CALLS_MAX = 1000; // calls of each job that are compared one by one, in the order of submission
export const SHOWN_MAX = 30; // rows of each table
const FACTOR = 2; // a duration differs if one is more than twice the other
const LEAST_US = 10_000; // and if the difference is at least this long, because short calls vary
const NOISE_US = 1000;
const TEXT_MAX = 300; // characters of a compared value

export interface Row {
  name: string;
  before: string;
  after: string;
  changed: boolean;
}

export interface FunctionRow {
  name: string;
  before: Figures | null;
  after: Figures | null;
  ratio: number | null; // the median after divided by the median before
}
interface Figures {
  n: number;
  p50: number; // us
  p90: number; // us
}

export interface Divergence {
  text: string;
  call?: string; // ID of the call in the newer run
}

export interface Comparison {
  facts: Row[];
  functions: FunctionRow[];
  functionsLeftOut: number;
  submission: Row[]; // only rows that differ
  same: number; // compared entries of the submission that are equal
  divergence: Divergence | null;
  compared: string; // what the first difference was searched in
}

export interface JobSide {
  job: JobView;
  durations: JobDurations | null;
  calls: readonly ClosureView[];
}
export interface ProgramSide {
  p: ProgramView;
  attempts: readonly AttemptView[];
  ranks: readonly RankView[];
  cells: readonly StepCell[];
}

const row = (name: string, before: string, after: string): Row => ({ name, before: before || NONE, after: after || NONE, changed: before !== after });

export const differs = (a: number, b: number): boolean => Math.abs(a - b) >= LEAST_US && Math.max(a, b) > FACTOR * Math.min(a, b);

// Whether the median of a function became clearly longer.
export const isSlower = ({ before, after, ratio }: FunctionRow): boolean => ratio !== null && ratio > 1.5 && after!.p50 - before!.p50 >= NOISE_US;

export const ratioText = (ratio: number | null): string => (ratio === null ? NONE : ratio >= 9.95 ? `× ${Math.round(ratio)}` : `× ${ratio.toFixed(ratio < 0.1 ? 2 : 1)}`);

// The function whose median changed by the largest factor comes first; functions of one run only come last. Medians below `NOISE_US`
// count as equal, because they vary by large factors.
export function functionRows(before: JobDurations | null, after: JobDurations | null): FunctionRow[] {
  const figures = (d: JobDurations | null) =>
    new Map((d?.functions ?? []).filter(({ name }) => name !== '').map((f): [string, Figures] => [f.name, { n: f.executions, p50: f.p50_us, p90: f.p90_us }]));
  const [a, b] = [figures(before), figures(after)];
  const change = ({ before: was, after: is }: FunctionRow) => (was && is ? Math.abs(Math.log(Math.max(NOISE_US, is.p50) / Math.max(NOISE_US, was.p50))) : -1);
  return [...new Set([...b.keys(), ...a.keys()])]
    .map((name): FunctionRow => {
      const [was, is] = [a.get(name) ?? null, b.get(name) ?? null];
      return { name, before: was, after: is, ratio: was && is ? Math.max(1, is.p50) / Math.max(1, was.p50) : null };
    })
    .sort((x, y) => change(y) - change(x) || (x.name < y.name ? -1 : 1));
}

const cut = (text: string): string => (text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text);
const listed = (names: Iterable<string>): string => cut([...new Set(names)].filter(Boolean).sort().join(', '));
const json = (value: unknown): string => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));
const us = ({ from, to, us: exact }: ReturnType<typeof ran>): number => exact ?? Math.max(0, to - from) * 1000;
const argsOf = (c: ClosureView): string => c.args_text ?? json(c.args);

// Returns the hash of each function, by name. A function with several hashes has all of them.
function hashes(calls: readonly ClosureView[]): Map<string, string> {
  const found = new Map<string, Set<string>>();
  for (const c of calls) if (c.callable) found.set(nameOf(c), (found.get(nameOf(c)) ?? new Set()).add(c.callable.slice(0, 12)));
  return new Map([...found].map(([name, all]) => [name, [...all].sort().join(', ')]));
}

function byName(title: string, a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): Row[] {
  return [...new Set([...a.keys(), ...b.keys()])].sort().map((name) => row(`${title} ${name}`, a.get(name) ?? '', b.get(name) ?? ''));
}

const metadata = (of: Record<string, unknown> | undefined): Map<string, string> => new Map(Object.entries(of ?? {}).map(([name, value]) => [name, cut(json(value))]));

// Finds the first call, in the order of submission, whose function, arguments, state or duration differs.
export function firstCall(before: readonly ClosureView[], after: readonly ClosureView[]): Divergence | null {
  const old = new Map(before.map((c) => [c.index, c]));
  for (const c of [...after].sort((x, y) => x.index - y.index)) {
    const was = old.get(c.index);
    const call = { call: c.id };
    const named = `Call #${count(c.index)} (${nameOf(c)})`;
    if (!was) continue;
    if (nameOf(was) !== nameOf(c)) return { ...call, text: `Call #${count(c.index)} calls ${nameOf(c)}, and called ${nameOf(was)} before.` };
    const [old_args, args] = [argsOf(was), argsOf(c)];
    if (old_args && args && old_args !== args) return { ...call, text: `${named} has other arguments: ${cut(args)}, before: ${cut(old_args)}.` };
    if (!hasEnded(was) || !hasEnded(c)) continue;
    if (was.state !== c.state) return { ...call, text: `${named} ${c.state.toLowerCase()}, and ${was.state.toLowerCase()} before.` };
    const [then, now] = [us(ran(was)), us(ran(c))];
    if (differs(then, now)) return { ...call, text: `${named} took ${duration(now)}, and ${duration(then)} before.` };
  }
  return null;
}

const changed = (rows: readonly Row[]): Pick<Comparison, 'submission' | 'same'> => {
  const submission = rows.filter((r) => r.changed);
  return { submission, same: rows.length - submission.length };
};

export function compareJobs(before: JobSide, after: JobSide, now: number): Comparison {
  const took_ = ({ job }: JobSide) => age((job.finished_ms || now) - job.created_ms);
  const failed = ({ job }: JobSide) => `${count(job.counts.failed)} of ${count(job.counts.total)}`;
  const workers = (s: JobSide) => listed(s.durations?.workers.map(({ name }) => name) ?? s.calls.map(whereOf));
  const hosts = (s: JobSide) => listed(s.calls.flatMap((c) => c.attempts.map(({ host }) => host)));
  const functions = functionRows(before.durations, after.durations);
  const both = (name: string, of: (job: JobView) => string) => row(name, of(before.job), of(after.job));
  const each = Math.max(before.calls.length, after.calls.length);
  const total = Math.max(before.job.counts.total, after.job.counts.total);
  return {
    facts: [
      both('State', (job) => job.state.toLowerCase()),
      row('Duration', took_(before), took_(after)),
      row('Failed calls', failed(before), failed(after)),
      both('Retries', (job) => count(job.retried)),
      row('Workers', workers(before), workers(after)),
      row('Hosts', hosts(before), hosts(after)),
    ],
    functions: functions.slice(0, SHOWN_MAX),
    functionsLeftOut: Math.max(0, functions.length - SHOWN_MAX),
    ...changed([
      ...byName('code hash of', hashes(before.calls), hashes(after.calls)),
      ...byName('metadata', metadata(before.job.metadata), metadata(after.job.metadata)),
      both('calls', (job) => count(job.counts.total)),
      both('cluster', (job) => job.cluster),
      both('user', (job) => job.submitted_by ?? ''),
      both('client', (job) => job.client ?? ''),
      both('on error', (job) => job.on_error),
      both('weight', (job) => json(job.weight)),
    ]),
    divergence: firstCall(before.calls, after.calls),
    compared: each < total ? `the first ${plural(each, 'call')} of ${count(total)}` : plural(each, 'call'),
  };
}

interface StepFigures {
  step: number;
  longest: number; // ms
}

// Returns the longest duration of each step over all ranks. Buckets of several steps are left out.
function stepsOf(cells: readonly StepCell[]): Map<number, StepFigures> {
  const all = new Map<number, StepFigures>();
  for (const { step, longest } of cells) if (step >= 0 && longest > (all.get(step)?.longest ?? -1)) all.set(step, { step, longest });
  return all;
}

const median = (cells: readonly StepCell[]): number | null => {
  const all = cells.map((c) => c.median).sort((a, b) => a - b);
  return all[all.length >> 1] ?? null;
};

export function firstStep(before: readonly StepCell[], after: readonly StepCell[]): Divergence | null {
  const [a, b] = [stepsOf(before), stepsOf(after)];
  for (const step of [...b.keys()].sort((x, y) => x - y)) {
    const [was, is] = [a.get(step), b.get(step)!];
    if (was && differs(was.longest * 1000, is.longest * 1000)) return { text: `Step ${count(step)} took ${took(is.longest)}, and ${took(was.longest)} before.` };
  }
  return null;
}

function firstRank({ p: was }: ProgramSide, { p }: ProgramSide): Divergence | null {
  if (was.state === p.state) return null;
  const why = p.cause?.text ?? p.hang?.text;
  return { text: `The program ${p.state.toLowerCase()}, and ${was.state.toLowerCase()} before${why ? `: ${why}` : ''}.` };
}

export function comparePrograms(before: ProgramSide, after: ProgramSide, now: number): Comparison {
  const both = (name: string, of: (p: ProgramView) => string) => row(name, of(before.p), of(after.p));
  const sides = (name: string, of: (s: ProgramSide) => string) => row(name, of(before), of(after));
  const wanted = (p: ProgramView) =>
    Object.entries(p.tasks).map(([type, t]): [string, string] => [
      type,
      `${t.min === t.max ? count(t.min) : `${count(t.min)} to ${count(t.max)}`} ${t.resources ? resourcesOf(t.resources) : ''} ${pairs(t.labels)}`.trim(),
    ]);
  const commands = (p: ProgramView) => new Map(Object.entries(p.tasks).flatMap(([type, t]): [string, string][] => (t.command ? [[type, cut(commandLine(t.command))]] : [])));
  const steps = Math.max(stepsOf(before.cells).size, stepsOf(after.cells).size);
  const divergence = firstStep(before.cells, after.cells) ?? firstRank(before, after);
  return {
    facts: [
      both('State', (p) => p.state.toLowerCase()),
      both('Duration', (p) => age((p.finished_ms || now) - p.created_ms)),
      sides('Attempts', ({ attempts }) => count(attempts.length)),
      both('Cause', (p) => p.cause?.text ?? ''),
      sides('Ranks', ({ p }) => count(p.ranks)),
      sides('Workers', ({ ranks }) => listed(ranks.map(({ worker }) => worker))),
      sides('Hosts', ({ ranks }) => listed(ranks.map(({ host }) => host))),
      both('Last step', (p) => (p.steps ? `${count(p.steps.least)} to ${count(p.steps.most)}` : '')),
      sides('Median step', ({ cells }) => (median(cells) === null ? '' : took(median(cells)!))),
    ],
    functions: [],
    functionsLeftOut: 0,
    ...changed([
      both('command', (p) => cut(commandLine(p.command))),
      ...byName('command of', commands(before.p), commands(after.p)),
      ...byName('ranks of', new Map(wanted(before.p)), new Map(wanted(after.p))),
      both('environment (names only)', (p) => listed(p.env ?? [])),
      both('upload', (p) => (p.upload ?? '').slice(0, 12)),
      both('preloaded modules', (p) => listed(p.preload ?? [])),
      both('working directory', (p) => p.working_dir ?? ''),
      ...byName('metadata', metadata(before.p.metadata), metadata(after.p.metadata)),
      both('cluster', (p) => p.cluster),
      both('user', (p) => p.submitted_by ?? ''),
      both('restarts allowed', (p) => count(p.max_restarts)),
      both('on a hang', (p) => p.on_hang),
      both('hang after', (p) => span(p.hang_after_ms)),
      both('deadline', (p) => (p.deadline_ms ? age(p.deadline_ms) : '')),
      both('ranks per worker', (p) => json(p.per_worker)),
      both('priority', (p) => json(p.priority)),
      both('step pattern', (p) => p.step_pattern ?? ''),
    ]),
    divergence,
    compared: steps > 0 ? plural(steps, 'step') : 'states and causes',
  };
}
