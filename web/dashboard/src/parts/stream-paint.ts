// Draws the task stream: lanes from top to bottom, time from left to right, in device pixels. Bars become runs of pixels
// first (model/stream-runs.ts), so a frame costs what the canvas has room for and not what the cluster does.
//
// A state has a shape beside its colour: failed is taller than its lane and crossed, lost is hollow, cancelled is thin,
// a sum of short closures is lighter, and what runs has a head at its right end.

import { HUES } from '../model/function-hue';
import type { Lane, Stream } from '../model/stream';
import type { Hit } from '../model/stream-look';
import { BAD_CANCELLED, BAD_FAILED, BAD_LOST, CODES, eachRun, fillRow, hueOf, kindOf } from '../model/stream-runs';
import { ticks, type View } from '../model/time-view';
import { short } from '../model/format';
import { color } from '../theme';

export interface StreamPicture {
  stream: Stream;
  lanes: readonly Lane[];
  hues: Uint8Array; // by function number
  view: View;
  now: number;
  width: number;
  height: number;
  laneHeight: number;
  top: number; // of the first lane; negative when it is scrolled away
  scale: number; // device pixels per CSS pixel
  focus: { lane: Lane; hit: Hit | null } | null;
}

const SUM_ALPHA = 0.5;
const MINUTE_ALPHA = 0.38;
const HUE_TOKENS = HUES.map((hue) => (hue === 'other' ? 'waiting' : hue));

interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

// Returns how many rectangles the bars became.
export function paintStream(pen: CanvasRenderingContext2D, picture: StreamPicture): number {
  const { stream, lanes, view, width, height, laneHeight, top, scale } = picture;
  pen.clearRect(0, 0, width, height);
  furniture(pen, picture);
  const boxes: Box[][] = Array.from({ length: CODES }, () => []);
  const codes = new Uint8Array(width);
  const air = Math.round(3 * scale);
  let drawn = 0;
  const first = Math.max(0, Math.floor(-top / laneHeight));
  const last = Math.min(lanes.length, Math.ceil((height - top) / laneHeight));
  for (let n = first; n < last; ++n) {
    const lane = lanes[n]!;
    const y = top + n * laneHeight + air;
    const rowHeight = Math.max(2, Math.floor((laneHeight - 2 * air) / lane.rows));
    if (view.from < stream.since) minutes(pen, picture, lane, y, laneHeight - 2 * air);
    for (let row = 0; row < lane.rows; ++row) {
      fillRow(stream, lane, row, view, picture.now, picture.hues, codes);
      const h = Math.max(2, rowHeight - (lane.rows > 1 ? Math.round(scale) : 0));
      eachRun(codes, (code, from, to) => {
        boxes[code]!.push({ x: from, y: y + row * rowHeight, w: to - from, h });
        ++drawn;
      });
    }
  }
  for (let code = 1; code < CODES; ++code) if (boxes[code]!.length > 0) fill(pen, code, boxes[code]!, scale);
  const readable = (100 * width) / (view.to - view.from) > 34 * scale; // a sum is of 100 ms
  for (let n = first; n < last && readable; ++n) counts(pen, picture, lanes[n]!, top + n * laneHeight + air, Math.floor((laneHeight - 2 * air) / lanes[n]!.rows));
  focusRing(pen, picture);
  return drawn;
}

function fill(pen: CanvasRenderingContext2D, code: number, boxes: readonly Box[], scale: number): void {
  const hue = hueOf(code);
  const kind = kindOf(code);
  pen.fillStyle = pen.strokeStyle = color(hue >= 0 ? HUE_TOKENS[hue]! : code === BAD_FAILED ? 'error' : code === BAD_LOST ? 'disconnected' : 'waiting');
  if (kind === 'sum') pen.globalAlpha = SUM_ALPHA;
  switch (code) {
    case BAD_FAILED:
      for (const box of boxes) failed(pen, box, scale);
      break;
    case BAD_LOST:
      pen.lineWidth = Math.max(1, 1.5 * scale);
      for (const { x, y, w, h } of boxes) {
        if (w < 5 * scale) pen.fillRect(x, y + h / 2, w, h / 2);
        else pen.strokeRect(x + pen.lineWidth / 2, y + pen.lineWidth / 2, w - pen.lineWidth, h - pen.lineWidth);
      }
      break;
    case BAD_CANCELLED:
      for (const { x, y, w, h } of boxes) pen.fillRect(x, y + Math.round(h / 3), w, Math.max(1, Math.round(h / 3)));
      break;
    default:
      for (const { x, y, w, h } of boxes) pen.fillRect(x, y, w, h);
  }
  pen.globalAlpha = 1;
  if (kind !== 'running') return;
  pen.fillStyle = color('text');
  for (const { x, y, w, h } of boxes) pen.fillRect(x + w - Math.min(w, 2 * scale), y, Math.min(w, 2 * scale), h);
}

function failed(pen: CanvasRenderingContext2D, { x, y, w, h }: Box, scale: number): void {
  const over = Math.round(2 * scale);
  pen.fillRect(x, y - over, w, h + 2 * over);
  if (w < 9 * scale || h < 7 * scale) return;
  const arm = Math.min(w, h) * 0.28;
  const [cx, cy] = [x + w / 2, y + h / 2];
  pen.save();
  pen.strokeStyle = color('surface');
  pen.lineWidth = 1.8 * scale;
  pen.beginPath();
  pen.moveTo(cx - arm, cy - arm);
  pen.lineTo(cx + arm, cy + arm);
  pen.moveTo(cx + arm, cy - arm);
  pen.lineTo(cx - arm, cy + arm);
  pen.stroke();
  pen.restore();
}

// Lines under the bars: the marks of the axis, between lanes, and where bars begin to be complete.
function furniture(pen: CanvasRenderingContext2D, { view, width, height, lanes, laneHeight, top, scale, stream }: StreamPicture): void {
  const x = (at: number) => Math.round(((at - view.from) / (view.to - view.from)) * width);
  pen.fillStyle = color('line');
  const line = Math.max(1, Math.round(scale));
  for (const { at } of ticks(view, width / scale)) pen.fillRect(x(at), 0, line, height);
  const last = Math.min(lanes.length, Math.ceil((height - top) / laneHeight));
  for (let n = Math.max(0, Math.floor(-top / laneHeight)); n < last; ++n) pen.fillRect(0, top + (n + 1) * laneHeight - line, width, line);
  if (stream.since <= view.from || stream.since >= view.to) return;
  pen.fillStyle = color('control');
  for (let y = 0; y < height; y += 8 * scale) pen.fillRect(x(stream.since), y, line, 4 * scale);
}

// Older times: a block a minute, as high as the worker was busy.
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

// On sums that are wide enough to read: of how many closures.
function counts(pen: CanvasRenderingContext2D, picture: StreamPicture, lane: Lane, y: number, rowHeight: number): void {
  const { stream, view, width, scale } = picture;
  if (rowHeight < 10 * scale) return;
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
    if (room > (text.length * 6.5 + 6) * scale) pen.fillText(text, left + 3 * scale, y + row[bar]! * rowHeight + rowHeight / 2);
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
  const row = hit.kind === 'bar' ? stream.at.row[hit.bar]! : hit.kind === 'running' ? hit.lane.running[hit.n]!.row : 0;
  const high = (laneHeight - 6 * scale) / (hit.kind === 'minute' ? 1 : hit.lane.rows);
  pen.strokeRect(left - 2 * scale, y + 3 * scale + row * high - 2 * scale, Math.max(3 * scale, right - left) + 4 * scale, high + 4 * scale);
}
