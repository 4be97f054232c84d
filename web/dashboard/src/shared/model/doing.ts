// On the server, a job is RUNNING from the time when a worker gets its first closure. For users, a job is running only
// while one of its closures is running.

import { unfinished, type JobState } from './protocol';

export type Doing = 'Stopping' | 'Queued' | 'Running' | 'Waiting' | 'Idle' | 'Succeeded' | 'Failed' | 'Cancelled';

const ENDS: Partial<Record<JobState, Doing>> = { SUCCEEDED: 'Succeeded', FAILED: 'Failed', CANCELLED: 'Cancelled' };

// `waiting` counts the closures that are not running on any worker. A session without closures is idle: its client may
// submit more.
export function doing(job: { state: JobState; stopping?: boolean | undefined }, running: number, waiting: number): Doing {
  if (!unfinished(job.state)) return ENDS[job.state] ?? 'Idle';
  if (job.stopping) return 'Stopping';
  if (job.state === 'QUEUED' && waiting > 0) return 'Queued';
  return running > 0 ? 'Running' : waiting > 0 ? 'Waiting' : 'Idle';
}
