// What GET /api/v1/stream answers: bars in columns of equal length. Times of bars are microseconds after base_ms. A sum of
// short ones lasts from the first start to the last end; busy_us is what they took together.

export interface StreamBody {
  now_ms: number;
  base_ms: number;
  since_ms: number; // bars are complete since then; before that there are minutes only
  next: number; // ask again with ?after=
  more: boolean;
  lanes: { lane: number; task: string; cluster: string; slots?: number }[];
  functions: string[];
  jobs?: string[]; // whose closures they are; empty: a sum's, or the server's own
  bars: { lane: number[]; start_us: number[]; duration_us: number[]; function: number[]; state: number[]; count: number[]; closure: string[]; busy_us?: number[]; failed?: number[]; job?: number[] };
  running: { lane: number[]; start_us: number[]; function: number[]; closure: string[]; job?: number[] };
  minutes?: { lane: number[]; start_ms: number[]; count: number[]; failed: number[]; busy_ms: number[]; function: number[] };
}

export const STATES = ['succeeded', 'failed', 'cancelled', 'lost'] as const;
export const SUCCEEDED = 0;
export const FAILED = 1;
export const CANCELLED = 2;
export const LOST = 3;
