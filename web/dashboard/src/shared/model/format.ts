export const NONE = '–';
const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export function count(n: number): string {
  return Number.isFinite(n) ? grouped.format(n) : NONE;
}

// Formats as "9,954", "12.4 k" or "2.42 M": at most five characters and the unit, so that the width hardly changes.
export function short(n: number): string {
  if (!Number.isFinite(n)) return NONE;
  if (n < 0) return `−${short(-n)}`;
  if (n < 10 && !Number.isInteger(n)) return n.toFixed(1);
  if (n < 9999.5) return grouped.format(n);
  // At these limits, rounding would show 1000.0 of the smaller unit.
  if (n < 999_950) return `${(n / 1e3).toFixed(1)} k`;
  if (n < 999_995_000) return `${(n / 1e6).toFixed(2)} M`;
  return `${(n / 1e9).toFixed(2)} G`;
}

// Formats as "12.4 k of 98.0 k"; shows exact numbers if rounding would make both look equal.
export function outOf(part: number, whole: number): string {
  const rounded = short(part) === short(whole) && part !== whole;
  return rounded ? `${count(part)} of ${count(whole)}` : `${short(part)} of ${short(whole)}`;
}

export function tick(n: number): string {
  const [unit, size] = n >= 1e9 ? ['G', 1e9] : n >= 1e6 ? ['M', 1e6] : n >= 1e3 ? ['k', 1e3] : ['', 1];
  return String(Math.round((n / (size as number)) * 100) / 100) + unit;
}

export function timeTick(ms: number): string {
  const [unit, size] = ms >= 3_600_000 ? ['h', 3_600_000] : ms >= 60_000 ? ['min', 60_000] : ms >= 1000 ? ['s', 1000] : ['ms', 1];
  return ms === 0 ? '0' : `${Math.round((ms / (size as number)) * 10) / 10} ${unit}`;
}

export const TIME_STEPS: readonly number[] = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 30].map((s) => s * 1000),
  ...[1, 2, 5, 10, 20, 30].map((min) => min * 60_000),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].map((h) => h * 3_600_000),
];

// Shows one decimal, rounded down, so that 100% means complete.
export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return NONE;
  return `${(Math.floor((part / whole) * 1000) / 10).toFixed(1)}%`;
}

const two = (n: number): string => String(n).padStart(2, '0');

// Formats the difference between two times in ms as "< 1 ms", "262 ms", "4.1 s", "43 s", "12m 05s", "3h 05m" or "1d 2h",
// rounded down.
export function age(ms: number): string {
  if (!Number.isFinite(ms)) return NONE;
  if (ms < 1) return '< 1 ms';
  const whole = Math.floor(ms);
  if (whole < 1000) return `${whole} ms`;
  if (whole < 10_000) return `${(Math.floor(whole / 100) / 10).toFixed(1)} s`;
  const s = Math.floor(whole / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${two(s % 60)}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${two(Math.floor(s / 60) % 60)}m`;
  return `${Math.floor(s / 86_400)}d ${Math.floor(s / 3600) % 24}h`;
}

// Formats a duration measured in µs as "< 1 µs", "35 µs", "1.2 ms", "12 ms" or "4.1 s", rounded down. The factor
// absorbs the error of a conversion from ms.
export function duration(measured: number): string {
  if (!Number.isFinite(measured)) return NONE;
  const us = measured * (1 + 1e-7);
  if (us < 1) return '< 1 µs';
  if (us < 1000) return `${Math.floor(us)} µs`;
  return us < 10_000 ? `${(Math.floor(us / 100) / 10).toFixed(1)} ms` : age(us / 1000);
}

// Formats a configured duration without false precision: "5 s", "12.5 s".
export function span(ms: number): string {
  return ms < 1000 ? `${ms} ms` : ms < 60_000 ? `${Math.round(ms / 100) / 10} s` : age(ms);
}

export function bytes(n: number): string {
  if (!Number.isFinite(n)) return NONE;
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; n >= 999.5 && unit < units.length - 1; ++unit) n /= 1000;
  return `${unit === 0 ? n : n.toFixed(n < 9.95 ? 1 : 0)} ${units[unit]}`;
}

// zone.ts sets this state.
export type Zone = 'local' | 'UTC';
let clockZone: Zone = 'local';
export function setClockZone(next: Zone): void {
  clockZone = next;
}

// The UTC fields of the Date contain the zone's local time; the offset from UTC is in minutes.
function wall(ms: number): [at: Date, offset: number] {
  const offset = clockZone === 'UTC' ? 0 : -new Date(ms).getTimezoneOffset();
  return [new Date(ms + offset * 60_000), offset];
}

export function clock(ms: number): string {
  const [at] = wall(ms);
  return `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
}

// Formats as "16:00" and "16:00:45.123".
export const minute = (ms: number): string => clock(ms).slice(0, 5);
export const preciseClock = (ms: number): string => `${clock(ms)}.${String(Math.floor(ms) % 1000).padStart(3, '0')}`;

// Returns the last moment before `now` at which the clock showed "12:34" or "12:34:56".
export function momentAt(text: string, now: number): number | null {
  const [, h, m, s = '0'] = /^(\d\d?):(\d\d)(?::(\d\d))?$/.exec(text) ?? [];
  if (h === undefined) return null;
  const [at, offset] = wall(now);
  const day = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate());
  const then = day + ((Number(h) * 60 + Number(m)) * 60 + Number(s)) * 1000 - offset * 60_000;
  return then <= now ? then : then - 86_400_000;
}

// Formats as "2026-11-24 16:00:45 +01:00", for `title` attributes.
export function moment(ms: number): string {
  const [at, offset] = wall(ms);
  return `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())} ${clock(ms)} ${named(offset)}`;
}

function named(offset: number): string {
  const away = Math.abs(offset);
  return offset === 0 ? 'UTC' : `${offset < 0 ? '−' : '+'}${two(Math.floor(away / 60))}:${two(away % 60)}`;
}

export const zoneOf = (ms: number): string => named(wall(ms)[1]);

// Shortens "job_0000000000000a0b" to "job …0a0b", for objects without a name.
export function shortId(id: string): string {
  const [, kind, digits] = /^([a-z]+)_([0-9a-f]{16})$/.exec(id) ?? [];
  return kind ? `${kind} …${digits!.slice(-4)}` : id;
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// Formats as "worker:1207, worker:1208, worker:1209 and 2 more".
export function some(names: readonly string[], shown = 3, total = names.length): string {
  const listed = names.slice(0, shown);
  const rest = total - listed.length;
  if (rest > 0) return `${listed.join(', ')} and ${count(rest)} more`;
  return listed.length > 1 ? `${listed.slice(0, -1).join(', ')} and ${listed.at(-1)}` : (listed[0] ?? '');
}

export const pairs = (of: Readonly<Record<string, string | number>> = {}): string =>
  Object.entries(of)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
