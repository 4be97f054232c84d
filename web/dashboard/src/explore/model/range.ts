// The time range of the pages under Explore, as the address contains it: `from` and `to` are Unix milliseconds, and `from` can
// be a length such as "15m", which means the last 15 minutes. All functions are pure.

import { clock, moment, momentAt } from '../../shared/model/format';

export interface Range {
  last: number; // length in ms of a range that ends now; 0 for another range
  from: number; // Unix ms; 0 if the range has no begin
  to: number; // Unix ms; 0 if the range has no end
}

export const PRESETS = [
  ['15m', '15 min'],
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['', 'all'],
] as const;

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const LAST_MAX = 366 * 86_400_000;

// Returns the length of "15m" in ms; 0 for another text.
export function lengthOf(text: string): number {
  const [, n, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return n === undefined ? 0 : Math.min(LAST_MAX, Number(n) * UNITS[unit!]!);
}

// Returns "15m" for the length of a preset, or an empty string.
export const presetOf = (ms: number): string => PRESETS.find(([text]) => text !== '' && lengthOf(text) === ms)?.[0] ?? '';

const time = (text: string): number => (/^\d{1,13}$/.test(text) ? Number(text) : 0);

// A begin after the end is dropped.
export function rangeOf(from: string, to: string): Range {
  const last = lengthOf(from);
  if (last > 0) return { last, from: 0, to: 0 };
  const [begin, end] = [time(from), time(to)];
  return { last: 0, from: end > 0 && begin > end ? 0 : begin, to: end };
}

export const isAll = ({ last, from, to }: Range): boolean => last === 0 && from === 0 && to === 0;

export function boundsOf({ last, from, to }: Range, now: number): { from: number; to: number } {
  return last > 0 ? { from: Math.floor(now - last), to: 0 } : { from, to };
}

// Returns query parameters for REST.
export function askedOf(range: Range, now: number): { from_ms: number | ''; to_ms: number | '' } {
  const { from, to } = boundsOf(range, now);
  return { from_ms: from || '', to_ms: to || '' };
}

export function isIn(ms: number, range: Range, now: number): boolean {
  const { from, to } = boundsOf(range, now);
  return ms >= from && (to === 0 || ms <= to);
}

// Returns the text of a field: the time of day, with the date if it is another day.
export function fieldOf(ms: number, now: number): string {
  if (ms <= 0) return '';
  const [day, today] = [moment(ms).slice(0, 10), moment(now).slice(0, 10)];
  return day === today ? clock(ms) : `${day} ${clock(ms)}`;
}

// Reads "17:05", "17:05:30" or "2026-11-30 17:05"; null for another text. A time without a date is in the last 24 hours.
export function timeOf(text: string, now: number): number | null {
  const [, date, of = ''] = /^(?:(\d{4}-\d\d-\d\d)[ T])?(\d\d?:\d\d(?::\d\d)?)$/.exec(text.trim()) ?? [];
  const at = momentAt(of, now);
  if (at === null || !date) return at;
  // momentAt returns the time on the day of `now` or on the day before; the difference of the dates moves it to the day.
  const days = Math.round((Date.parse(`${date}T00:00:00Z`) - Date.parse(`${moment(at).slice(0, 10)}T00:00:00Z`)) / 86_400_000);
  return Number.isFinite(days) ? at + days * 86_400_000 : null;
}
