// Times are Unix ms; 0 means that the event has not happened.

import type { ClosureView, JobPage, RemoteValuePage, ValueHolders } from 'muster-rest';

export type { BlobCounts, ClosureView, Counts, Failure, JobView, ObjectView, PerWorkerView, WorkerView } from 'muster-rest';

export type ClosureState = ClosureView['state'];
export type Attempt = ClosureView['attempts'][number];
export type ValueRow = RemoteValuePage['remote_values'][number];
export type Holder = ValueHolders['holders'][number];
// Counts that do not depend on filters.
export type JobCounts = JobPage['counts'];
export type StateCounts = JobCounts['jobs'];

export const closureOf = (value: string): string => value.replace(/^rv_/, 'cl_');
