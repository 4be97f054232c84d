// Draws steps in the lanes of a timeline, and the chart of step times below the lanes. Steps and chart share the canvas,
// crosshair and range of the lanes.
//
// Cells are pixels of an image that is drawn over the lanes. Drawing tens of thousands of cells as shapes took ten times as long.

import { boxesIn, pixelOf } from './model/boxes';
import { CHART, type Layout } from './model/layout';
import { took, type RunSteps, type StepCurve } from './model/steps';
import type { Range } from './model/timeline';
import { color } from '../shared/theme';

const EDGE_PX = 4; // steps that are wider than this have an edge
const LATE = 1.25; // steps longer than the usual duration times this factor are shaded
const WAIT_PX = 2; // minimum width of a wait that is drawn

export interface Sheet {
  width: number; // CSS pixels
  height: number;
  steps: RunSteps;
  layout: Layout;
  laneOf: ReadonlyMap<number, number>; // lane of each rank
  view: Range;
}

// Steps are drawn under barriers and marks.
export function paintSteps(pen: CanvasRenderingContext2D, { width, height, steps, layout: { each, tops }, laneOf, view }: Sheet): void {
  if (steps.cells.length === 0) return;
  const ratio = devicePixelRatio || 1;
  const sheet = document.createElement('canvas');
  sheet.width = Math.round(width * ratio);
  sheet.height = Math.round(height * ratio);
  const other = sheet.getContext('2d');
  if (!other || sheet.width === 0 || sheet.height === 0) return;
  const image = other.createImageData(sheet.width, sheet.height);
  const box = boxesIn(new Uint32Array(image.data.buffer), sheet.width, sheet.height, view, ratio);
  const [shade, slow, edge, wait] = [pixelOf(color('late'), 0.45), pixelOf(color('late'), 1), pixelOf(color('surface'), 0.7), pixelOf(color('text'), 0.55)];
  const thick = each > 3 ? each - 1 : each;
  const px = (view.to - view.from) / width; // ms
  // Slow steps are drawn over faster steps that share their pixels.
  for (const loud of [false, true])
    for (const c of steps.cells) {
      const late = steps.usual > 0 && c.median > LATE * steps.usual;
      const lane = c.slow === loud && (loud || late) ? laneOf.get(c.rank) : undefined;
      if (lane !== undefined) box(c.from, c.to, tops[lane]!, thick, loud ? slow : shade);
    }
  if (each > 3) {
    for (const c of steps.cells) {
      const lane = c.n === 1 && c.to - c.from > EDGE_PX * px ? laneOf.get(c.rank) : undefined;
      if (lane !== undefined) box(c.to - px, c.to, tops[lane]!, thick, edge);
    }
    for (const { began_ms, ended_ms, ranks, came_us } of steps.met) {
      if (ended_ms - began_ms < WAIT_PX * px) continue;
      ranks.forEach((rank, n) => {
        const lane = laneOf.get(rank);
        const came = began_ms + came_us[n]! / 1000;
        if (lane !== undefined && ended_ms > came) box(came, ended_ms, tops[lane]! + thick - 3, 2, wait);
      });
    }
  }
  other.putImageData(image, 0, 0);
  pen.drawImage(sheet, 0, 0, width, height);
}

export const POINT_PX = 3;

// Draws the median as an area, and the longest step of any rank as a line.
export function paintCurve(pen: CanvasRenderingContext2D, width: number, { median, longest, top: most }: StepCurve, top: number): void {
  const each = width / Math.max(1, median.length);
  const y = (ms: number) => top + CHART - 1 - (CHART - 12) * Math.min(1, ms / most);
  const x = (n: number) => (n + 0.5) * each;
  pen.fillStyle = color('surface');
  pen.fillRect(0, top, width, CHART);
  pen.fillStyle = color('k0');
  pen.globalAlpha = 0.45;
  median.forEach((ms, n) => {
    if (ms !== null) pen.fillRect(n * each, y(ms), each, top + CHART - y(ms));
  });
  pen.globalAlpha = 1;
  pen.beginPath();
  let joined = false;
  longest.forEach((ms, n) => {
    if (ms === null) return;
    if (joined) pen.lineTo(x(n), y(ms));
    else pen.moveTo(x(n), y(ms));
    joined = true;
  });
  pen.strokeStyle = color('late');
  pen.lineWidth = 1.25;
  pen.stroke();
  pen.font = '10px Inter, system-ui, sans-serif';
  pen.textBaseline = 'top';
  pen.fillStyle = color('text2');
  pen.fillText(took(most), 2, top + 1);
}
