export interface Look<T> {
  of: string; // path of the current request; empty if there is none
  value: T | null; // last value; kept if a later request fails
  stale: boolean; // true if the value answers an earlier request
  problem: string;
  gone: boolean;
  failures: number;
}

export function nothing<T>(of = ''): Look<T> {
  return { of, value: null, stale: false, problem: '', gone: false, failures: 0 };
}

// When a list's filter changes, the old rows are kept until the new rows arrive.
export function asked<T>(held: Look<T>, of: string, keep: boolean): Look<T> {
  if (held.of === of) return held;
  return keep && of !== '' && held.value !== null ? { ...nothing<T>(of), value: held.value, stale: true } : nothing(of);
}

export function answered<T>(held: Look<T>, value: T): Look<T> {
  return { ...nothing<T>(held.of), value };
}

export function failed<T>(held: Look<T>, problem: string, gone: boolean): Look<T> {
  const kept = gone || held.stale ? { value: null, stale: false } : {};
  return { ...held, ...kept, problem, gone, failures: held.failures + 1 };
}

const MOST_MS = 15_000;

// Returns null if the value is final.
export function nextLook<T>(held: Look<T>, every: number, over: (value: T) => boolean): number | null {
  if (held.of === '' || held.gone) return null;
  if (held.failures > 0) return Math.min(MOST_MS, every * 2 ** Math.min(held.failures - 1, 10));
  return held.value !== null && !held.stale && over(held.value) ? null : every;
}
