// Draws the task stream: lanes from top to bottom, time from left to right. Bars are written as pixels (model/stream-pixels.ts),
// so the cost of a frame depends only on the size of the canvas.
//
// Each state has a shape as well as a colour. Failed bars are taller than the lane and crossed, lost bars are hollow, cancelled
// bars are thin, and sums of short closures are lighter. Running closures have a head at their right end.

import { short } from '../shared/model/format';
import { HUES } from '../shared/model/function-hue';
import type { Lane } from './model/stream';
import type { Hit } from './model/stream-look';
import { emptyPalette, fillPixels, lanesInSight, packed, rowHeight, type Bad, type Palette, type PixelPicture } from './model/stream-pixels';
import { BAD_CANCELLED, BAD_FAILED, BAD_LOST, hueOf, kindOf } from './model/stream-runs';
import { ticks } from '../shared/model/time-view';
import { color, repaint } from '../shared/theme';

export interface StreamPicture extends PixelPicture {
  focus: { lane: Lane; hit: Hit | null } | null;
}

const SUM_ALPHA = 0.5;
const MINUTE_ALPHA = 0.38;
const HUE_TOKENS = HUES.map((hue) => (hue === 'other' ? 'waiting' : hue));

let palette: { of: number; colours: Palette } | null = null;
let image: ImageData | null = null;

function colours(): Palette {
  if (palette?.of === repaint.peek()) return palette.colours;
  const next = emptyPalette();
  for (let code = 1; code < BAD_CANCELLED; ++code) next.bars[code] = packed(color(HUE_TOKENS[hueOf(code)]!), kindOf(code) === 'sum' ? SUM_ALPHA : 1);
  next.line = packed(color('line'));
  palette = { of: repaint.peek(), colours: next };
  return next;
}

export function paintStream(pen: CanvasRenderingContext2D, picture: StreamPicture): number {
  const { stream, lanes, view, width, height, laneHeight, top, scale } = picture;
  if (image?.width !== width || image.height !== height) image = pen.createImageData(width, height);
  const x = (at: number) => Math.round(((at - view.from) / (view.to - view.from)) * width);
  const marks = ticks(view, width / scale).map(({ at }) => x(at));
  const { bad, runs } = fillPixels(new Uint32Array(image.data.buffer), picture, marks, colours());
  pen.putImageData(image, 0, 0);

  const { first, last, air } = lanesInSight(picture);
  const readable = (100 * width) / (view.to - view.from) > 34 * scale; // a sum covers 100 ms
  for (let n = first; n < last; ++n) {
    const lane = lanes[n]!;
    const y = top + n * laneHeight + air;
    const high = rowHeight(laneHeight, air, lane.rows);
    if (view.from < stream.since) minutes(pen, picture, lane, y, laneHeight - 2 * air);
    heads(pen, picture, lane, y, high);
    if (readable) counts(pen, picture, lane, y, high);
  }
  bad.sort((a, b) => a.code - b.code);
  for (const box of bad) shape(pen, box, scale);
  if (stream.since > view.from && stream.since < view.to) {
    pen.fillStyle = color('control');
    for (let y = 0; y < height; y += 8 * scale) pen.fillRect(x(stream.since), y, Math.max(1, scale), 4 * scale);
  }
  focusRing(pen, picture);
  return runs;
}

function shape(pen: CanvasRenderingContext2D, { code, x, y, w, h }: Bad, scale: number): void {
  switch (code) {
    case BAD_FAILED:
      failed(pen, x, y, w, h, scale);
      break;
    case BAD_LOST: {
      const line = Math.max(1, 1.5 * scale);
      pen.fillStyle = pen.strokeStyle = color('disconnected');
      pen.lineWidth = line;
      if (w < 5 * scale) pen.fillRect(x, y + h / 2, w, h / 2);
      else pen.strokeRect(x + line / 2, y + line / 2, w - line, h - line);
      break;
    }
    default:
      pen.fillStyle = color('waiting');
      pen.fillRect(x, y + Math.round(h / 3), w, Math.max(1, Math.round(h / 3)));
  }
}

function failed(pen: CanvasRenderingContext2D, x: number, y: number, w: number, h: number, scale: number): void {
  const over = Math.round(2 * scale);
  pen.fillStyle = color('error');
  pen.fillRect(x, y - over, w, h + 2 * over);
  if (w < 9 * scale || h < 7 * scale) return;
  const arm = Math.min(w, h) * 0.28;
  const [cx, cy] = [x + w / 2, y + h / 2];
  pen.strokeStyle = color('surface');
  pen.lineWidth = 1.8 * scale;
  pen.beginPath();
  pen.moveTo(cx - arm, cy - arm);
  pen.lineTo(cx + arm, cy + arm);
  pen.moveTo(cx + arm, cy - arm);
  pen.lineTo(cx - arm, cy + arm);
  pen.stroke();
}

// Draws the right ends of running closures, at the current time.
function heads(pen: CanvasRenderingContext2D, { view, now, width, scale }: StreamPicture, lane: Lane, y: number, high: number): void {
  if (lane.running.length === 0 || now < view.from || now > view.to) return;
  const right = ((now - view.from) / (view.to - view.from)) * width;
  pen.fillStyle = color('text');
  for (const { row } of lane.running) pen.fillRect(Math.round(right - 2 * scale), y + row * high, 2 * scale, high - (lane.rows > 1 ? scale : 0));
}

// Draws a block for each minute for which there are no bars. The block's height shows how busy the worker was.
function minutes(pen: CanvasRenderingContext2D, picture: StreamPicture, lane: Lane, y: number, h: number): void {
  const { view, width, stream, hues } = picture;
  const pixels = width / (view.to - view.from);
  for (const minute of lane.minutes) {
    const left = Math.round((minute.start - view.from) * pixels);
    const right = Math.round((Math.min(minute.start + 60_000, stream.since) - view.from) * pixels);
    if (right < 0 || left > width || right <= left) continue;
    const high = Math.max(2, Math.round(h * Math.min(1, minute.busy / 60_000 / lane.rows)));
    pen.globalAlpha = MINUTE_ALPHA;
    pen.fillStyle = color(HUE_TOKENS[hues[minute.function]!]!);
    pen.fillRect(left, y + h - high, Math.max(1, right - left - 1), high);
    pen.globalAlpha = 1;
    if (minute.failed === 0) continue;
    pen.fillStyle = color('error');
    pen.fillRect(left, y, Math.max(2, Math.min(6, right - left)), h);
  }
}

function counts(pen: CanvasRenderingContext2D, picture: StreamPicture, lane: Lane, y: number, high: number): void {
  const { stream, view, width, scale } = picture;
  if (high < 10 * scale) return;
  const { start, end, count, row } = stream.at;
  const pixels = width / (view.to - view.from);
  pen.font = `${Math.round(10.5 * scale)}px Inter, system-ui, sans-serif`;
  pen.textBaseline = 'middle';
  pen.fillStyle = color('text');
  for (const bar of lane.bars) {
    if (count[bar]! < 2 || end[bar]! < view.from || start[bar]! > view.to) continue;
    const text = `×${short(count[bar]!)}`;
    const left = Math.max(0, (start[bar]! - view.from) * pixels);
    const room = Math.min(width, (end[bar]! - view.from) * pixels) - left;
    if (room > (text.length * 6.5 + 6) * scale) pen.fillText(text, left + 3 * scale, y + row[bar]! * high + high / 2);
  }
}

function focusRing(pen: CanvasRenderingContext2D, { focus, lanes, view, width, laneHeight, top, scale, stream }: StreamPicture): void {
  const n = focus ? lanes.indexOf(focus.lane) : -1;
  if (n < 0) return;
  pen.strokeStyle = color('accent');
  pen.lineWidth = 2 * scale;
  const y = top + n * laneHeight;
  const { hit } = focus!;
  if (!hit) {
    pen.strokeRect(scale, y + scale, width - 2 * scale, laneHeight - 2 * scale);
    return;
  }
  const pixels = width / (view.to - view.from);
  const left = Math.max(0, (hit.start - view.from) * pixels);
  const right = Math.min(width, (hit.end - view.from) * pixels);
  const row = hit.kind === 'bar' ? stream.at.row[hit.bar]! : hit.kind === 'running' ? (hit.lane.running[hit.n]?.row ?? 0) : 0;
  const high = (laneHeight - 6 * scale) / (hit.kind === 'minute' ? 1 : hit.lane.rows);
  pen.strokeRect(left - 2 * scale, y + 3 * scale + row * high - 2 * scale, Math.max(3 * scale, right - left) + 4 * scale, high + 4 * scale);
}
