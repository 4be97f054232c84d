// Response of GET /api/v1/stream: bars as parallel arrays of equal length. Times of bars are in microseconds after
// base_ms. A sum of short closures lasts from the first start to the last end; busy_us is their total time.

import type { Stream } from 'muster-rest';

export type StreamBody = Stream;

export const ROWS_MAX = 4; // maximum number of rows per lane; all further concurrent closures share the last row

export const STATES = ['succeeded', 'failed', 'cancelled', 'lost'] as const;
export const SUCCEEDED = 0;
export const FAILED = 1;
export const CANCELLED = 2;
export const LOST = 3;
