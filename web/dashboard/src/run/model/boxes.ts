// Draws boxes as image pixels, because there can be too many boxes to draw as shapes in one frame.

import type { Range } from './timeline';

export function pixelOf(ink: string, alpha: number): number {
  const [r = 0, g = 0, b = 0] = (ink.match(/[\d.]+/g) ?? []).map(Number);
  return ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

type Box = (from: number, to: number, top: number, high: number, pixel: number) => void;

// Begin and end times are clipped to the view.
export function boxesIn(image: Uint32Array, columns: number, rows: number, view: Range, scale: number): Box {
  const each = columns / (view.to - view.from);
  return (from, to, top, high, pixel) => {
    if (to < view.from || from > view.to) return;
    const left = Math.max(0, Math.round((from - view.from) * each));
    const right = Math.min(columns, Math.max(left + 1, Math.round((to - view.from) * each)));
    const first = Math.floor(top * scale);
    const last = Math.min(rows, Math.max(first + 1, Math.floor((top + high) * scale)));
    for (let row = first; row < last; ++row) image.fill(pixel, row * columns + left, row * columns + right);
  };
}
