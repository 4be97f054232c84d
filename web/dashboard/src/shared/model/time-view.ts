import { clock, minute, preciseClock } from './format';

export interface View {
  from: number;
  to: number;
}

export const MIN_SPAN = 20; // ms
export const MAX_SPAN = 86_400_000;
const EDGE = 0.02; // fraction of the length

export const spanOf = (view: View): number => view.to - view.from;

// Adds margins. If the clock that measured the end is slightly behind the clock that measured the begin, the length is 0.
export function around(began: number, ended: number): View {
  const length = Math.max(0, ended - began);
  const room = Math.max(MIN_SPAN / 2, length * EDGE);
  return { from: began - room, to: began + length + room };
}

// The range is never completely in the future.
export function clamped({ from, to }: View, now: number): View {
  const span = Math.min(MAX_SPAN, Math.max(MIN_SPAN, to - from));
  const start = Math.min(from, now - span * 0.1);
  return { from: start, to: start + span };
}

// A factor below 1 zooms in. The time `at` stays in place.
export function zoomed(view: View, factor: number, at: number, now: number): View {
  const span = spanOf(view);
  const next = Math.min(MAX_SPAN, Math.max(MIN_SPAN, span * factor));
  const share = (at - view.from) / span;
  const from = at - share * next;
  return clamped({ from, to: from + next }, now);
}

export function panned(view: View, by: number, now: number): View {
  return clamped({ from: view.from + by, to: view.to + by }, now);
}

export interface Tick {
  at: number;
  label: string;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000];

// Returns ticks at whole steps of local time, as many as fit with `room` pixels each.
export function ticks(view: View, width: number, room = 90): Tick[] {
  const most = Math.max(1, Math.floor(width / room));
  const step = STEPS.find((s) => spanOf(view) / s <= most) ?? STEPS.at(-1)!;
  const zone = new Date(view.from).getTimezoneOffset() * 60_000;
  const marks: Tick[] = [];
  for (let at = Math.ceil((view.from - zone) / step) * step + zone; at <= view.to; at += step) marks.push({ at, label: label(at, step) });
  return marks;
}

function label(at: number, step: number): string {
  return step >= 60_000 ? minute(at) : step >= 1000 ? clock(at) : preciseClock(at);
}
