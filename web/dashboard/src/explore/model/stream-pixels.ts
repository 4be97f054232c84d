// The bars of the task stream as pixels: a line of a lane is computed once and repeated over its height. The cost
// therefore does not depend on the number of bars.

import type { Lane, Stream } from './stream';
import { BAD_CANCELLED, CODES, eachRun, fillRow } from './stream-runs';
import type { View } from '../../shared/model/time-view';

export interface PixelPicture {
  stream: Stream;
  lanes: readonly Lane[];
  hues: Uint8Array; // indexed by function number
  view: View;
  now: number;
  width: number; // width in device pixels, like all sizes in this type
  height: number;
  laneHeight: number;
  top: number; // top of the first lane; negative if it is scrolled out of view
  scale: number; // device pixels per CSS pixel
}

export interface Palette {
  bars: Uint32Array; // indexed by code
  line: number; // colour of the line between lanes and of the axis marks
}

// Failed, cancelled and lost bars are drawn as shapes over the pixels.
export interface Bad {
  code: number;
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface LaneBox {
  first: number;
  last: number; // index after the last visible lane
  air: number; // space above and below the bars of a lane
}

export function lanesInSight({ lanes, laneHeight, top, height, scale }: PixelPicture): LaneBox {
  return { first: Math.max(0, Math.floor(-top / laneHeight)), last: Math.min(lanes.length, Math.ceil((height - top) / laneHeight)), air: Math.round(3 * scale) };
}

export const rowHeight = (laneHeight: number, air: number, rows: number): number => Math.max(2, Math.floor((laneHeight - 2 * air) / rows));

export function fillPixels(pixels: Uint32Array, picture: PixelPicture, marks: readonly number[], palette: Palette): { bad: Bad[]; runs: number } {
  const { stream, lanes, width, height, laneHeight, top, scale, view } = picture;
  const { first, last, air } = lanesInSight(picture);
  const thin = Math.max(1, Math.round(scale));
  const base = new Uint32Array(width);
  for (const x of marks) base.fill(palette.line, Math.max(0, x), Math.max(0, x + thin));
  for (let y = 0; y < height; ++y) pixels.set(base, y * width);
  const codes = new Uint8Array(width);
  const line = new Uint32Array(width);
  const bad: Bad[] = [];
  let runs = 0;
  for (let n = first; n < last; ++n) {
    const lane = lanes[n]!;
    const high = rowHeight(laneHeight, air, lane.rows);
    const bar = Math.max(2, high - (lane.rows > 1 ? thin : 0));
    for (let row = 0; row < lane.rows; ++row) {
      const y = top + n * laneHeight + air + row * high;
      fillRow(stream, lane, row, view, picture.now, picture.hues, codes);
      line.set(base);
      eachRun(codes, (code, from, to) => {
        ++runs;
        if (code < BAD_CANCELLED) line.fill(palette.bars[code]!, from, to);
        else bad.push({ code, x: from, y, w: to - from, h: bar });
      });
      for (let at = Math.max(0, y); at < Math.min(height, y + bar); ++at) pixels.set(line, at * width);
    }
    const edge = top + (n + 1) * laneHeight - thin;
    for (let at = Math.max(0, edge); at < Math.min(height, edge + thin); ++at) pixels.fill(palette.line, at * width, (at + 1) * width);
  }
  return { bad, runs };
}

export function packed(rgb: string, alpha = 1): number {
  const [r = 0, g = 0, b = 0] = (rgb.match(/[\d.]+/g) ?? []).map(Number);
  return ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export const emptyPalette = (): Palette => ({ bars: new Uint32Array(CODES), line: 0 });
