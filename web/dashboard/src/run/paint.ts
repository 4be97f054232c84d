import { AXIS, STRIP, type Layout } from './model/layout';
import { gapOf } from './model/machines';
import type { RunSteps, StepCurve } from './model/steps';
import { MARKS, type Range, type RunTimeline } from './model/timeline';
import { ticks } from '../shared/model/time-view';
import { color } from '../shared/theme';
import { paintCurve, paintSteps } from './paint-steps';

// Returns null until the canvas has been laid out.
export function fresh(canvas: HTMLCanvasElement | null, height: number): [CanvasRenderingContext2D, number] | null {
  const pen = canvas?.getContext('2d');
  const width = canvas?.clientWidth ?? 0;
  if (!canvas || !pen || width === 0) return null;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  return [pen, width];
}

export function paintRun(pen: CanvasRenderingContext2D, width: number, t: RunTimeline, layout: Layout, view: Range, steps: RunSteps, curve: StepCurve | null): void {
  const { height, each, tops, strips, chart } = layout;
  const scale = width / (view.to - view.from);
  const at = (ms: number) => (ms - view.from) * scale;
  const inView = (s: Range) => s.to >= view.from && s.from <= view.to;
  const box = (s: Range, y: number, h: number) => pen.fillRect(at(s.from), y, Math.max(1, at(s.to) - at(s.from)), h);
  const lanes = height - AXIS;
  const thick = each > 3 ? each - 1 : each;
  pen.fillStyle = color('track');
  pen.fillRect(0, 0, width, lanes);
  pen.fillStyle = color('error-bg');
  for (const s of t.gaps) if (inView(s)) box(s, 0, lanes);
  const byColour = new Map<string, RunTimeline['spans'][number][]>();
  for (const s of t.spans) {
    if (!inView(s)) continue;
    const same = byColour.get(s.colour);
    if (same) same.push(s);
    else byColour.set(s.colour, [s]);
  }
  const loud = (token: string) => (token === 'error' ? 2 : token === 'late' ? 1 : 0);
  for (const [token, spans] of [...byColour].sort(([a], [b]) => loud(a) - loud(b))) {
    pen.fillStyle = color(token);
    // Many lanes share a row of pixels, and most of their spans are equal.
    let drawn = '';
    for (const s of spans) {
      const y = Math.floor(tops[s.lane] ?? 0);
      const place = each < 1 ? `${y} ${Math.floor(at(s.from))} ${Math.ceil(at(s.to))}` : '';
      if (!place || place !== drawn) box(s, y, Math.max(1, thick));
      drawn = place;
    }
  }
  const waiting = t.waits.length > 0 ? hatched(pen) : '';
  for (const w of t.waits) {
    if (!inView(w)) continue;
    pen.fillStyle = w.awaited ? color('error') : waiting;
    box(w, Math.floor(tops[w.lane] ?? 0), Math.max(1, thick));
  }
  paintSteps(pen, { width, height: lanes, steps, layout, laneOf: new Map(t.lanes.map((l, n) => [l.rank, n])), view });
  pen.fillStyle = color('surface');
  for (const { top } of strips) pen.fillRect(0, top, width, STRIP);
  for (const { top, machine } of strips) paintStrip(pen, width, top, machine, at);
  if (chart >= 0 && curve) paintCurve(pen, width, curve, chart);
  for (const late of [false, true])
    for (const b of t.barriers) {
      if (b.late !== late || !inView(b)) continue;
      pen.fillStyle = color(late ? 'error' : 'surface');
      pen.globalAlpha = late ? 1 : 0.55;
      pen.fillRect(Math.round(at(b.to)), 0, 1, lanes);
      if (late && b.lane >= 0) box(b, tops[b.lane]!, Math.max(2, thick));
      pen.globalAlpha = 1;
    }
  for (const m of t.marks) {
    if (m.at < view.from || m.at > view.to) continue;
    const x = at(m.at);
    const y = m.lane < 0 ? 0 : tops[m.lane]!;
    const high = m.lane < 0 ? lanes : Math.max(4, thick);
    const [token, , look] = MARKS[m.kind];
    pen.fillStyle = color('surface');
    pen.fillRect(x - 3.5, y, 7, high);
    pen.fillStyle = color(token);
    pen.fillRect(x - 2.5, y, 5, high);
    if (!look) continue;
    pen.fillStyle = color('surface');
    pen.fillRect(x - 1, y + 1.5, 2, high - 3);
  }
  pen.font = '11px Inter, system-ui, sans-serif';
  pen.textBaseline = 'bottom';
  for (const { at: moment, label } of ticks(view, width)) {
    const x = at(moment);
    const half = pen.measureText(label).width / 2;
    pen.fillStyle = color('control');
    pen.fillRect(x, lanes, 1, 4);
    pen.fillStyle = color('text2');
    if (x >= half && x + half <= width) pen.fillText(label, x - half, height);
  }
}

// The CSS draws the same stripes in the legend.
function hatched(pen: CanvasRenderingContext2D): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const on = tile.getContext('2d');
  if (!on) return color('waiting');
  on.fillStyle = color('track');
  on.fillRect(0, 0, 6, 6);
  on.strokeStyle = color('running');
  on.lineWidth = 2;
  for (const x of [-6, 0, 6]) {
    on.moveTo(x, 6);
    on.lineTo(x + 6, 0);
  }
  on.stroke();
  return pen.createPattern(tile, 'repeat') ?? color('waiting');
}

// Draws core load as an area and memory as a line above it, each relative to its limit.
function paintStrip(pen: CanvasRenderingContext2D, width: number, top: number, { machine, samples }: Layout['strips'][number]['machine'], at: (ms: number) => number): void {
  if (!samples) return;
  const { seconds, cpu, memory_bytes } = samples;
  const gap = gapOf(seconds);
  const y = (share: number) => top + STRIP - 1 - (STRIP - 3) * Math.min(1, share);
  const path = (values: readonly (number | null)[], most: number, filled: boolean) => {
    pen.beginPath();
    let before = -1;
    for (let n = 0; n < seconds.length; ++n) {
      const value = values[n];
      const x = at(seconds[n]! * 1000);
      if (value === null || value === undefined || (n + 1 < seconds.length && at(seconds[n + 1]! * 1000) < 0)) continue;
      const joined = before >= 0 && seconds[n]! - seconds[before]! <= gap;
      if (filled) pen.rect(joined ? at(seconds[before]! * 1000) : x, y(value / most), joined ? x - at(seconds[before]! * 1000) : 1, top + STRIP - y(value / most));
      else if (joined) pen.lineTo(x, y(value / most));
      else pen.moveTo(x, y(value / most));
      before = n;
      if (x > width) break;
    }
  };
  pen.save();
  pen.beginPath();
  pen.rect(0, top, width, STRIP);
  pen.clip();
  path(cpu, machine?.cpus || Math.max(1, ...cpu.map((v) => v ?? 0)), true);
  pen.fillStyle = color('heat0');
  pen.fill();
  if (machine?.memory_total_bytes) {
    path(memory_bytes, machine.memory_total_bytes, false);
    pen.strokeStyle = color('k2');
    pen.lineWidth = 1.25;
    pen.stroke();
  }
  pen.restore();
}
