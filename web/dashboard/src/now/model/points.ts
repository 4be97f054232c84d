// Chart data, either from the last five minutes of counters or from GET /api/v1/samples.

import type { Samples } from 'muster-rest';
import type { History } from '../../shared/model/history';

export const LEAST_MS = 0.1; // lower end of a logarithmic axis

export const SPANS = ['5m', '1h', '24h'] as const;
export type Span = (typeof SPANS)[number];
export const SPAN_S: Record<Span, number> = { '5m': 300, '1h': 3600, '24h': 86_400 };
export const SPAN_WORDS: Record<Span, string> = { '5m': '5 min', '1h': '1 h', '24h': '24 h' };

const COLUMNS = ['queued', 'running', 'finished', 'failed', 'wait_p50_ms', 'wait_p99_ms', 'run_p50_ms', 'run_p99_ms'] as const;
export type ColumnName = (typeof COLUMNS)[number];

export type SamplesBody = Samples;

export interface Points {
  seconds: number[];
  columns: Partial<Record<ColumnName, (number | null)[]>>;
}

export function spanOf(text: string): Span {
  return SPANS.find((span) => span === text) ?? '5m';
}

export function live(history: History): Points {
  const { queued, running, finished, failed } = history.series;
  return { seconds: history.seconds.slice(), columns: { queued: queued.slice(), running: running.slice(), finished: finished.slice(), failed: failed.slice() } };
}

// The line has a gap where samples are missing because the server was down.
export function fromSamples(body: SamplesBody): Points {
  const seconds: number[] = [];
  const columns: Points['columns'] = {};
  const present = COLUMNS.filter((name) => body[name]);
  for (const name of present) columns[name] = [];
  for (let n = 0; n < body.t.length; ++n) {
    const last = seconds.at(-1);
    const at = body.t[n]! / 1000;
    if (last !== undefined && at - last > (2.5 * body.step_ms) / 1000) {
      seconds.push(last + body.step_ms / 1000);
      for (const name of present) columns[name]!.push(null);
    }
    seconds.push(at);
    for (const name of present) columns[name]!.push(body[name]![n] ?? null);
  }
  return { seconds, columns };
}

// Prepends points that were recorded before the page was opened or before the server was restarted.
export function joined(before: Points | null, recent: Points): Points {
  const first = recent.seconds[0] ?? Infinity;
  const n = before?.seconds.findIndex((at) => at >= first) ?? 0;
  const past = n < 0 ? before!.seconds.length : n;
  if (!before || past === 0) return recent;
  const gap = first !== Infinity && first - before.seconds[past - 1]! > 2.5;
  const columns: Points['columns'] = {};
  for (const name of Object.keys(recent.columns) as ColumnName[]) columns[name] = [...(before.columns[name] ?? []).slice(0, past), ...(gap ? [null] : []), ...recent.columns[name]!];
  return { seconds: [...before.seconds.slice(0, past), ...(gap ? [before.seconds[past - 1]! + 1] : []), ...recent.seconds], columns };
}

export function extremes(values: readonly (number | null)[]): { last: number | null; most: number } {
  let most = 0;
  for (const value of values) if (value !== null && value > most) most = value;
  return { last: values.at(-1) ?? null, most };
}

// Hides failures below one percent of the throughput: a red line along the axis would cause needless alarm.
export function notable(failed: readonly (number | null)[], finished: readonly (number | null)[]): (number | null)[] {
  const most = extremes(failed).most;
  return most > 0 && most * 100 >= extremes(finished).most ? [...failed] : failed.map(() => null);
}
