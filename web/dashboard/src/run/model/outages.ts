// Times in which the server did not run. Ranks and calls go on meanwhile, and the server records nothing.

import type { Events } from 'muster-rest';
import { age } from '../../shared/model/format';

export interface Outage {
  from: number;
  to: number;
  text: string;
}

const UNITS: Record<string, number> = { s: 1000, min: 60_000, h: 3_600_000 };

// The event of a start says how long before the previous process wrote its history. Without history, only the start is known.
export function outagesOf(events: Events['events']): Outage[] {
  return events.flatMap(({ kind, time_ms, text }): Outage[] => {
    if (kind !== 'server_started') return [];
    const [, n, unit = ''] = /(\d+) (s|min|h) ago/.exec(text) ?? [];
    const away = Number(n ?? 0) * (UNITS[unit] ?? 0);
    return [{ from: time_ms - away, to: time_ms, text: away > 0 ? `server restart: nothing was recorded for ${age(away)}` : 'server restart' }];
  });
}

// Returns the part of each outage within the range, as fractions of its width.
export function outagesIn(all: readonly Outage[], view: Omit<Outage, 'text'>): { left: number; width: number; text: string }[] {
  const length = view.to - view.from;
  return all.flatMap(({ from, to, text }) => {
    if (to < view.from || from > view.to || length <= 0) return [];
    const left = Math.max(0, (from - view.from) / length);
    return [{ left, width: Math.min(1, (to - view.from) / length) - left, text }];
  });
}
