// What is known of a thing that is asked for again and again, and when to ask next. Pure; looked.ts has the clock.

export interface Look<T> {
  of: string; // what was asked; empty: nothing
  value: T | null; // the newest answer, also when asking again failed
  stale: boolean; // the value is the answer to another question, shown until this one is answered
  problem: string; // why the last question failed
  gone: boolean; // there is no such thing
  failures: number; // in a row
}

export function nothing<T>(of = ''): Look<T> {
  return { of, value: null, stale: false, problem: '', gone: false, failures: 0 };
}

// Another question. A list whose filter changed keeps its rows until the new ones come.
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

// How long to wait before asking again; null: never, what is known is final.
export function nextLook<T>(held: Look<T>, every: number, over: (value: T) => boolean): number | null {
  if (held.of === '' || held.gone) return null;
  if (held.failures > 0) return Math.min(MOST_MS, every * 2 ** Math.min(held.failures - 1, 10));
  return held.value !== null && !held.stale && over(held.value) ? null : every;
}
