// What GET /api/v1/stream answers: bars in columns of equal length. Times of bars are microseconds after base_ms. A sum of
// short ones lasts from the first start to the last end; busy_us is what they took together.

import type { Stream } from 'muster-rest';

export type StreamBody = Stream;

export const ROWS_MAX = 4; // of a lane; what runs beside more than three others shares the last

export const STATES = ['succeeded', 'failed', 'cancelled', 'lost'] as const;
export const SUCCEEDED = 0;
export const FAILED = 1;
export const CANCELLED = 2;
export const LOST = 3;
