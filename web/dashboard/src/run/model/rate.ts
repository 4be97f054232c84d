import { endedOf } from '../../shared/model/counts';
import type { Counts } from '../../shared/model/views';
import { age, plural, short } from '../../shared/model/format';

export interface Sample {
  at: number;
  done: number;
}

const WINDOW_MS = 30_000;
const LEAST_MS = 3000; // minimum window in ms, because a shorter window would show bursts
const LEAST_DONE = 3;

// Keeps the samples of the last half minute.
export function sampled(samples: readonly Sample[], next: Sample): Sample[] {
  const last = samples.at(-1);
  if (last && (next.at <= last.at || next.done < last.done)) return next.done < (last?.done ?? 0) ? [next] : [...samples];
  return [...samples.filter((s) => s.at >= next.at - WINDOW_MS), next];
}

// Returns closures per second: recently, or since the start of the job if there are few samples. Returns null if unknown.
export function rateOf(samples: readonly Sample[], created: number): number | null {
  const first = samples[0];
  const last = samples.at(-1);
  if (!first || !last) return null;
  if (last.at - first.at >= LEAST_MS) return ((last.done - first.done) * 1000) / (last.at - first.at);
  return last.at - created >= LEAST_MS && last.done >= LEAST_DONE ? (last.done * 1000) / (last.at - created) : null;
}

// Formats as "1.2 k a second · about 4m 10s left".
export function pace(counts: Counts, rate: number | null): string {
  const left = counts.total - endedOf(counts);
  if (left <= 0 || rate === null) return '';
  if (rate === 0) return 'no closure has finished recently';
  const speed = rate >= 1 ? `${short(rate)} a second` : rate * 60 >= 1 ? `${short(rate * 60)} a minute` : `${short(rate * 3600)} an hour`;
  return `${speed} · about ${age((left / rate) * 1000)} left`;
}

export function cancelText({ blocked, queued, running }: Counts): string {
  const waits = blocked + queued;
  const said = [...(waits > 0 ? [`${plural(waits, 'waiting closure')} will never run`] : []), ...(running > 0 ? [`${plural(running, 'running closure')} will be asked to stop`] : [])];
  return said.length > 0 ? `${said.join('; ')}.` : 'It accepts no more closures.';
}
