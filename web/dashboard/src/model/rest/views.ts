// What REST answers about jobs, closures, values and workers, as far as the page reads it. Times are Unix ms, 0: it has
// not happened. A member with a question mark may be missing: it does not apply, or the server is of an older version.

import type { Counts } from '../counters-protocol';
import type { LogProgress } from '../log-protocol';
import type { JobState } from '../protocol';

export type ClosureState = 'BLOCKED' | 'QUEUED' | 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
export type ValueStatus = 'NOT_READY' | 'READY' | 'ABORTED';

export interface Failure {
  kind: string;
  type?: string;
  message: string;
  traceback?: string;
  worker?: string;
  attempt?: number;
  dependencies?: string[];
}

export type { Counts };

// All jobs and sessions of a cluster by state, whatever a list is filtered by.
export type StateCounts = Record<'running' | 'succeeded' | 'failed' | 'cancelled', number> & { queued?: number };
export interface JobCounts {
  jobs: StateCounts;
  sessions: StateCounts;
}

export interface JobView {
  id: string;
  cluster?: string;
  name: string;
  state: JobState;
  open?: boolean;
  stopping?: boolean;
  streaming?: boolean;
  generation?: number;
  holding?: { attached: boolean; detached: boolean; kept_until_ms?: number; values: number; value_bytes: number };
  on_error?: 'fail_fast' | 'continue';
  counts: Counts;
  not_kept?: number; // of a session: closures from before a restart that its client had released; not in counts
  put_back?: number;
  retried?: number;
  deadline_ms?: number;
  created_ms: number;
  finished_ms: number;
  error?: Failure;
  metadata?: Record<string, unknown>;
  retry_of?: string;
  durable?: boolean;
  retryable?: boolean;
  values?: number;
  value_bytes?: number;
  client?: string;
}

export interface Attempt {
  attempt: number;
  worker: string;
  host?: string;
  started_ms: number;
  ended_ms: number;
  took_us?: number; // of an attempt that has ended; older servers do not send it
  outcome?: string;
}

export interface ClosureView {
  id: string;
  job: string;
  index: number;
  function: string;
  display_name?: string; // of what the function calls
  callable?: string; // its SHA-256
  state: ClosureState;
  history?: boolean; // only a row is kept of it: no arguments, no value
  cancel_requested?: boolean;
  alone?: boolean;
  sent_to?: string; // queued there, behind what runs
  remote_value?: string;
  value_status?: ValueStatus;
  value_bytes?: number;
  value_spilled?: boolean;
  value_released?: string;
  args?: unknown;
  args_text?: string; // of a pickled call, as its client describes them
  priority?: number;
  max_retries?: number;
  retries?: number;
  start_ms?: number;
  deadline_ms?: number;
  task?: string;
  gang?: string;
  labels?: Record<string, string>;
  resources?: Record<string, number>;
  per_worker?: string[];
  inputs_missing?: number;
  inputs?: string[];
  dependents?: string[];
  dependents_more?: number;
  created_ms: number;
  finished_ms: number;
  error?: Failure;
  progress?: LogProgress;
  attempts: Attempt[];
}

export interface WorkerView {
  kind: 'worker';
  job: string;
  index: number;
  state: 'CONNECTED' | 'LATE' | 'ERROR' | 'DISCONNECTED';
  since_ms: number;
  last_seen_ms: number;
  heartbeat_age_ms: number;
  incarnation: string;
  host: string;
  pid: number;
  version: string;
  slots: number;
  credits: number;
  running: number;
  sent_ahead: number;
  finished: number;
  failed: number;
  restarts: number;
  reconnects: number;
  draining: boolean;
  away: boolean;
  cordoned?: boolean;
  functions: string[];
  labels: Record<string, string>;
  resources: Record<string, { total: number; free?: number }>;
  error: string;
}

export interface ValueRow {
  id: string;
  closure: string;
  job: string;
  function: string;
  display_name?: string;
  index: number;
  status: ValueStatus;
  error?: boolean; // fetching it raises an error
  place: 'memory' | 'disk' | 'released' | 'none';
  bytes: number;
  created_ms: number;
  finished_ms: number;
  released?: string;
}

export interface BlobCounts {
  blobs: number;
  bytes: number;
  held: number;
  held_bytes: number;
  bytes_max: number;
}

export interface Holder {
  job: string;
  name: string;
  streaming: boolean;
  state: JobState;
  values: number;
  value_bytes: number;
  spilled_bytes: number;
  blob_bytes?: number; // of the blobs that its values name
}

export interface PerWorkerView {
  id: string;
  cluster?: string;
  name: string;
  function: string;
  args?: unknown;
  job?: string;
  created_ms: number;
  released: boolean;
  users: number;
  components: { task: string; status: ValueStatus; since_ms: number; error?: Failure; queued_behind?: string }[];
}

export interface ObjectView {
  id: string;
  name?: string;
  class: string;
  task: string;
  state: 'PENDING' | 'STARTING' | 'READY' | 'FAILED' | 'LOST';
  reason?: string;
  error?: string; // why it is FAILED or LOST
  incarnation?: string; // of the process that has it; none: that is away
  detached: boolean;
  concurrency: number;
  session: string;
  submitted_by?: string;
  calls: { waiting: number; executing: number; answered: number };
  last_error?: string; // of a call
  created_ms: number;
  since_ms: number; // of the state
}

export const ENDED: readonly string[] = ['SUCCEEDED', 'FAILED', 'CANCELLED'];
export const closureOf = (value: string): string => value.replace(/^rv_/, 'cl_');
