// The activity of a job in a word. The server shows QUEUED until a worker gets the first closure, and RUNNING from then until the
// job ends. For users, a job runs only while one of its closures does. Pure.

import { unfinished, type JobState } from '../protocol';

export type Doing = 'Stopping' | 'Queued' | 'Running' | 'Waiting' | 'Idle' | 'Succeeded' | 'Failed' | 'Cancelled';

const ENDS: Partial<Record<JobState, Doing>> = { SUCCEEDED: 'Succeeded', FAILED: 'Failed', CANCELLED: 'Cancelled' };

// `waiting`: its closures that no worker runs. A session without any is idle: its client may send more.
export function doing(job: { state: JobState; stopping?: boolean | undefined }, running: number, waiting: number): Doing {
  if (!unfinished(job.state)) return ENDS[job.state] ?? 'Idle';
  if (job.stopping) return 'Stopping';
  if (job.state === 'QUEUED' && waiting > 0) return 'Queued';
  return running > 0 ? 'Running' : waiting > 0 ? 'Waiting' : 'Idle';
}
