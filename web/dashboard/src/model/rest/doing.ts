// What a job does, in a word. The server's state of one that has not ended is RUNNING whatever it does; for people it
// runs only while something of it does. Pure.

import type { JobState } from '../protocol';

export type Doing = 'Stopping' | 'Running' | 'Waiting' | 'Idle' | 'Succeeded' | 'Failed' | 'Cancelled';

const ENDS: Record<Exclude<JobState, 'RUNNING'>, Doing> = { SUCCEEDED: 'Succeeded', FAILED: 'Failed', CANCELLED: 'Cancelled' };

// `waiting`: closures of it that no worker works on. A session without any is idle: its client may send more.
export function doing(job: { state: JobState; stopping?: boolean | undefined }, running: number, waiting: number): Doing {
  if (job.state !== 'RUNNING') return ENDS[job.state] ?? 'Idle';
  if (job.stopping) return 'Stopping';
  return running > 0 ? 'Running' : waiting > 0 ? 'Waiting' : 'Idle';
}
