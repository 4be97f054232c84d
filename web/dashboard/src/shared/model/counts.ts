// The one definition of each number that several pages show. format.ts turns numbers into text.

import type { Counts, Holder } from './views';

type Results = Pick<Counts, 'succeeded' | 'failed' | 'cancelled'>;

// Ended: has a result, or was cancelled before it had one. Cancelled closures never count as failed.
export const endedOf = (of: Results): number => of.succeeded + of.failed + of.cancelled;

// Executed: succeeded or failed, so that a duration is known.
export const executedOf = (of: Pick<Results, 'succeeded' | 'failed'>): number => of.succeeded + of.failed;

// Waiting: neither ended nor running, so queued or without all inputs.
export const waitingOf = (total: number, ended: number, running: number): number => Math.max(0, total - ended - running);

// What Retry submits again.
export const retryableOf = (of: Pick<Results, 'failed' | 'cancelled'>): number => of.failed + of.cancelled;

export const ENDED: readonly string[] = ['SUCCEEDED', 'FAILED', 'CANCELLED'];
export const isOver = ({ state }: { state: string }): boolean => ENDED.includes(state);

// The size of values: bytes in memory, on disk and in blobs.
export const valueBytes = (of: Pick<Holder, 'value_bytes' | 'spilled_bytes' | 'blob_bytes'>): number => of.value_bytes + of.spilled_bytes + of.blob_bytes;

export const hostsOf = (of: readonly { host: string }[]): number => new Set(of.map(({ host }) => host)).size;

export const sumOf = (values: readonly number[]): number => values.reduce((sum, n) => sum + n, 0);
