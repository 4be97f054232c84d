// Reads both runs of a comparison. Each answer is read once; the newer run is read again while it runs.

import type { AttemptList, JobDurations, RankList } from 'muster-rest';
import { useLooked, type Looked } from '../shared/looked';
import type { ProgramView } from '../shared/model/programs';
import { isOver } from '../shared/model/counts';
import type { ClosureView, JobView } from '../shared/model/views';
import { viewNow } from '../shared/page';
import { api, get, Gone } from '../shared/rest';
import { CALLS_MAX, compareJobs, comparePrograms, type Comparison, type JobSide, type ProgramSide } from './model/compare';
import { joinedSteps, NO_STEPS, type TimelineBody } from './model/steps';

const EVERY = 10_000; // ms
const STEP_RANKS = 64; // ranks whose steps are compared
const ONE_BY_ONE = 300; // buckets that are asked for; short runs are answered with single steps

async function orNothing<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Gone) return null;
    throw error;
  }
}

async function jobSide(id: string): Promise<JobSide> {
  const path = `jobs/${encodeURIComponent(id)}`;
  const [job, durations, page] = await Promise.all([
    get<JobView>(api(path)),
    orNothing(get<JobDurations>(api(`${path}/durations`))),
    get<{ closures: ClosureView[] }>(api(`${path}/closures`, { limit: CALLS_MAX })),
  ]);
  return { job, durations, calls: page.closures };
}

async function programSide(id: string): Promise<ProgramSide> {
  const path = `programs/${encodeURIComponent(id)}`;
  const [p, list, ranks, steps] = await Promise.all([
    get<ProgramView>(api(path)),
    get<AttemptList>(api(`${path}/attempts`)),
    get<RankList>(api(`${path}/ranks`)),
    orNothing(get<TimelineBody>(api(`${path}/timeline`, { ranks: STEP_RANKS, buckets: ONE_BY_ONE }))),
  ]);
  return { p, attempts: list.attempts, ranks: ranks.ranks, cells: steps ? joinedSteps(NO_STEPS, steps).cells : [] };
}

export interface Compared {
  before: { id: string; name: string; created: number };
  after: { id: string; name: string; created: number };
  comparison: Comparison;
  over: boolean; // whether both runs have ended
}

const sideOf = ({ id, name, created_ms }: { id: string; name: string; created_ms: number }) => ({ id, name, created: created_ms });

async function compared(id: string, other: string): Promise<Compared> {
  if (id.startsWith('prog_')) {
    const [after, before] = await Promise.all([programSide(id), programSide(other)]);
    return { before: sideOf(before.p), after: sideOf(after.p), comparison: comparePrograms(before, after, viewNow()), over: [before.p, after.p].every(isOver) };
  }
  const [after, before] = await Promise.all([jobSide(id), jobSide(other)]);
  return { before: sideOf(before.job), after: sideOf(after.job), comparison: compareJobs(before, after, viewNow()), over: [before.job, after.job].every(isOver) };
}

export const useCompared = (id: string, other: string): Looked<Compared> => useLooked<Compared>(`${id} ${other}`, { every: EVERY, over: (it) => it.over, read: () => compared(id, other) });

export interface Earlier {
  id: string;
  name: string;
  state: string;
  created_ms: number;
  finished_ms?: number;
}

const EARLIER_ASKED = 100;
export const EARLIER_SHOWN = 8;

// Returns earlier runs with exactly this name, newest first.
export async function earlierRuns(of: Earlier, cluster: string): Promise<Earlier[]> {
  const what = of.id.startsWith('prog_') ? 'programs' : 'jobs';
  const body = await get<Record<string, Earlier[]>>(api(what, { q: of.name, cluster, limit: EARLIER_ASKED }));
  return (body[what] ?? []).filter(({ id, name, created_ms }) => id !== of.id && name === of.name && created_ms <= of.created_ms).slice(0, EARLIER_SHOWN);
}
