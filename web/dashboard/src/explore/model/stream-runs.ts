// Assigns colours to the pixels of a lane. Bars narrower than a pixel are merged; a failure among thousands of bars
// stays visible.

import { CANCELLED, FAILED, LOST, SUCCEEDED } from './stream-protocol';
import type { Lane, Stream } from './stream';
import type { View } from '../../shared/model/time-view';

export const HUE_COUNT = 6;
// 0 means that there is no bar; other codes are kinds of bars. Kinds at or above BAD take precedence if bars share a pixel.
const WHOLE = 1;
const SUM = WHOLE + HUE_COUNT;
const RUNS = SUM + HUE_COUNT;
export const BAD_CANCELLED = RUNS + HUE_COUNT;
export const BAD_LOST = BAD_CANCELLED + 1;
export const BAD_FAILED = BAD_CANCELLED + 2;
export const CODES = BAD_FAILED + 1;

export type Kind = 'bar' | 'sum' | 'running' | 'cancelled' | 'lost' | 'failed';

export function kindOf(code: number): Kind {
  if (code >= BAD_CANCELLED) return code === BAD_FAILED ? 'failed' : code === BAD_LOST ? 'lost' : 'cancelled';
  return code >= RUNS ? 'running' : code >= SUM ? 'sum' : 'bar';
}
export const hueOf = (code: number): number => (code >= BAD_CANCELLED ? -1 : (code - WHOLE) % HUE_COUNT);

const badCode = (state: number): number => (state === FAILED ? BAD_FAILED : state === LOST ? BAD_LOST : state === CANCELLED ? BAD_CANCELLED : 0);

// `codes` has an entry for each pixel; `hues` is indexed by function number.
export function fillRow(stream: Stream, lane: Lane, row: number, view: View, now: number, hues: Uint8Array, codes: Uint8Array): void {
  codes.fill(0);
  const width = codes.length;
  const scale = width / (view.to - view.from);
  const { start, end, row: rows, state, count, function: of } = stream.at;
  for (const bar of lane.bars) {
    if (rows[bar] !== row) continue;
    const left = (start[bar]! - view.from) * scale;
    const right = (end[bar]! - view.from) * scale;
    if (right < 0 || left >= width) continue;
    const code = state[bar] === SUCCEEDED ? (count[bar]! > 1 ? SUM : WHOLE) + hues[of[bar]!]! : badCode(state[bar]!);
    put(codes, left, right, code);
  }
  for (const running of lane.running) {
    if (running.row !== row) continue;
    const left = (running.start - view.from) * scale;
    if (left < width && now >= view.from) put(codes, left, (now - view.from) * scale, RUNS + hues[running.function]!);
  }
}

function put(codes: Uint8Array, left: number, right: number, code: number): void {
  const first = Math.max(0, Math.floor(left));
  let last = Math.min(codes.length, Math.max(first + 1, Math.round(right)));
  if (code >= BAD_CANCELLED) {
    last = Math.min(codes.length, Math.max(first + 2, last)); // at least two pixels, to be visible
    for (let x = first; x < last; ++x) if (code >= codes[x]!) codes[x] = code;
    return;
  }
  if (last - first >= 4) --last; // a gap separates adjacent bars of the same function
  for (let x = first; x < last; ++x) if (codes[x]! < BAD_CANCELLED) codes[x] = code;
}

export function eachRun(codes: Uint8Array, emit: (code: number, from: number, to: number) => void): void {
  for (let x = 0; x < codes.length; ) {
    const code = codes[x]!;
    let to = x + 1;
    while (to < codes.length && codes[to] === code) ++to;
    if (code !== 0) emit(code, x, to);
    x = to;
  }
}
