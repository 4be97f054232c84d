// A job and its closures over REST, on demand: the list of jobs has the newest only, and of closures there may be
// millions, so a page sees the first few.

import type { LogProgress } from './model/log-protocol';
import type { Job, JobState } from './model/protocol';

export interface Closure {
  id: string;
  index: number;
  function: string;
  state: 'BLOCKED' | 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  sent_to?: string; // queued there, behind what runs
  progress?: LogProgress;
  error?: { kind: string; message: string };
  attempts: { attempt: number; worker: string; started_ms: number; ended_ms: number }[];
}
export interface Closures {
  closures: Closure[];
  more: boolean;
}

const PAGE = 200;

// The server has no such job; the message says in its words whether there was one.
export class Gone extends Error {}

async function get<Body>(job: string, more = ''): Promise<Body> {
  const response = await fetch(`/api/v1/jobs/${encodeURIComponent(job)}${more}`, { headers: { Accept: 'application/json' } });
  const body = (await response.json().catch(() => null)) as (Body & { detail?: string }) | null;
  if (response.ok && body) return body;
  const why = body?.detail ?? `HTTP ${response.status}`;
  throw response.status === 404 ? new Gone(why) : new Error(why);
}

interface JobBody {
  id: string;
  name: string;
  state: JobState;
  counts: Record<'total' | 'blocked' | 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled', number>;
  created_ms: number;
  finished_ms: number;
  error?: { message: string };
}

// In the form in which the list has it.
export async function readJob(job: string): Promise<Job> {
  const { id, name, state, counts, created_ms, finished_ms, error } = await get<JobBody>(job);
  const { total, blocked, queued, running, succeeded, failed, cancelled } = counts;
  return { id, name, state, total, queued: queued + blocked, running, succeeded, failed, cancelled, created_ms, finished_ms, error: error?.message ?? '' };
}

export async function readClosures(job: string): Promise<Closures> {
  const body = await get<{ closures: Closure[]; next_page_token?: string }>(job, `/closures?limit=${PAGE}`);
  return { closures: body.closures, more: body.next_page_token !== undefined };
}
