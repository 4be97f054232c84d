// A job and its closures over REST, on demand: the list of jobs has the newest only, and of closures there may be
// millions, so a page sees the first few.

import type { LogProgress } from './model/log-protocol';
import type { Job, JobState } from './model/protocol';
import { get } from './rest';

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
export async function readJob(path: string): Promise<Job> {
  const { id, name, state, counts, created_ms, finished_ms, error } = await get<JobBody>(path);
  const { total, blocked, queued, running, succeeded, failed, cancelled } = counts;
  return { id, name, state, total, queued: queued + blocked, running, succeeded, failed, cancelled, created_ms, finished_ms, error: error?.message ?? '' };
}

export async function readClosures(path: string): Promise<Closures> {
  const body = await get<{ closures: Closure[]; next_page_token?: string }>(path);
  return { closures: body.closures, more: body.next_page_token !== undefined };
}
