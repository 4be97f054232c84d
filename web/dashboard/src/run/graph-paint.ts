import { cut } from '../shell/model/letters';
import { color } from '../shared/theme';
import type { GraphLayout } from './model/graph-layout';

export interface Node {
  title: string;
  more: string; // "#12", or the number of finished closures
  state: string;
}
export interface Camera {
  x: number; // CSS pixels: the upper left corner
  y: number;
  zoom: number;
}
export interface GraphPicture {
  graph: GraphLayout;
  nodes: readonly Node[];
  edges: readonly (readonly number[])[];
  camera: Camera;
  width: number; // CSS pixels
  height: number;
  scale: number;
  chosen: number; // -1 if none
  pitch: Pitch;
}
export interface Pitch {
  x: number;
  y: number;
  box: number; // width of a node's box; 0 if only the shape is drawn
}

const RADIUS = 8;
export const TOKENS: Record<string, string> = { BLOCKED: 'waiting', QUEUED: 'waiting', RUNNING: 'running', SUCCEEDED: 'connected', FAILED: 'error', CANCELLED: 'disconnected' };

export const centre = ({ graph, pitch }: Pick<GraphPicture, 'graph' | 'pitch'>, node: number): [number, number] => {
  const { x, y } = graph.places[node]!;
  return [(x + 0.5) * pitch.x, (y + 0.5) * pitch.y];
};

export function paintGraph(pen: CanvasRenderingContext2D, picture: GraphPicture): void {
  const { graph, nodes, camera, width, height, scale, chosen, pitch } = picture;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.setTransform(scale * camera.zoom, 0, 0, scale * camera.zoom, scale * camera.x, scale * camera.y);
  edges(pen, picture);
  const [left, right] = [-camera.x / camera.zoom - pitch.x, (width - camera.x) / camera.zoom + pitch.x];
  const [top, bottom] = [-camera.y / camera.zoom - pitch.y, (height - camera.y) / camera.zoom + pitch.y];
  for (let n = 0; n < graph.places.length; ++n) {
    const [x, y] = centre(picture, n);
    if (x < left || x > right || y < top || y > bottom) continue;
    node(pen, x, y, nodes[n]!, pitch, n === chosen);
  }
}

function edges(pen: CanvasRenderingContext2D, picture: GraphPicture): void {
  const { chosen, pitch } = picture;
  const reach = pitch.box > 0 ? pitch.box / 2 : RADIUS;
  const draw = (mine: boolean) => {
    pen.beginPath();
    for (const [from, to] of picture.edges) {
      if ((from === chosen || to === chosen) !== mine) continue;
      if (!picture.graph.places[from!] || !picture.graph.places[to!]) continue;
      const [ax, ay] = centre(picture, from!);
      const [bx, by] = centre(picture, to!);
      pen.moveTo(ax + reach, ay);
      if (bx - ax > 2.5 * pitch.x) {
        // Edges between other nodes run between two rows, and turn next to the columns.
        const gap = (picture.graph.places[from!]!.y + (by >= ay ? 1 : 0)) * pitch.y;
        const d = Math.max(12, pitch.x - 2 * reach) / 2;
        pen.bezierCurveTo(ax + reach + d, ay, ax + reach + d, gap, ax + reach + 2 * d, gap);
        pen.lineTo(bx - reach - 2 * d, gap);
        pen.bezierCurveTo(bx - reach - d, gap, bx - reach - d, by, bx - reach, by);
        continue;
      }
      const bend = Math.max(12, (bx - ax) / 2);
      pen.bezierCurveTo(ax + reach + bend * 0.6, ay, bx - reach - bend * 0.6, by, bx - reach, by);
    }
    pen.stroke();
  };
  pen.strokeStyle = color('control');
  pen.globalAlpha = picture.edges.length > 400 ? 0.3 : 0.65;
  pen.lineWidth = 1;
  draw(false);
  pen.globalAlpha = 1;
  if (chosen < 0) return;
  pen.strokeStyle = color('accent');
  pen.lineWidth = 2;
  draw(true);
}

function node(pen: CanvasRenderingContext2D, x: number, y: number, { title, more, state }: Node, pitch: Pitch, chosen: boolean): void {
  if (pitch.box > 0) {
    const [w, h] = [pitch.box, pitch.y - 12];
    pen.fillStyle = color('surface');
    pen.strokeStyle = color(chosen ? 'accent' : 'control');
    pen.lineWidth = chosen ? 2.5 : 1;
    pen.beginPath();
    pen.roundRect(x - w / 2, y - h / 2, w, h, 5);
    pen.fill();
    pen.stroke();
    mark(pen, x - w / 2 + 14, y, state);
    pen.save();
    pen.beginPath();
    pen.rect(x - w / 2, y - h / 2, w - 4, h);
    pen.clip();
    pen.textBaseline = 'middle';
    pen.font = '600 11px Inter, system-ui, sans-serif';
    pen.fillStyle = color('text');
    pen.fillText(cut(title, Math.floor((w - 32) / 6.4)), x - w / 2 + 28, y - 7);
    pen.font = '11px Inter, system-ui, sans-serif';
    pen.fillStyle = color('text2');
    pen.fillText(more, x - w / 2 + 28, y + 8);
    pen.restore();
    return;
  }
  mark(pen, x, y, state);
  if (!chosen) return;
  pen.strokeStyle = color('accent');
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.arc(x, y, RADIUS + 3, 0, 7);
  pen.stroke();
}

// Each state has its own shape, because some users cannot distinguish colours.
function mark(pen: CanvasRenderingContext2D, x: number, y: number, state: string): void {
  pen.fillStyle = pen.strokeStyle = color(TOKENS[state] ?? 'waiting');
  pen.lineWidth = 2;
  pen.beginPath();
  switch (state) {
    case 'FAILED':
      pen.rect(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS);
      pen.fill();
      pen.strokeStyle = color('surface');
      pen.beginPath();
      pen.moveTo(x - 4, y - 4);
      pen.lineTo(x + 4, y + 4);
      pen.moveTo(x + 4, y - 4);
      pen.lineTo(x - 4, y + 4);
      pen.stroke();
      break;
    case 'RUNNING':
      pen.moveTo(x - RADIUS + 2, y - RADIUS);
      pen.lineTo(x + RADIUS, y);
      pen.lineTo(x - RADIUS + 2, y + RADIUS);
      pen.closePath();
      pen.fill();
      break;
    case 'CANCELLED':
      pen.arc(x, y, RADIUS - 1, 0, 7);
      pen.moveTo(x - 5, y + 5);
      pen.lineTo(x + 5, y - 5);
      pen.stroke();
      break;
    case 'BLOCKED':
      pen.arc(x, y, RADIUS - 2, 0, 7);
      pen.stroke();
      break;
    case 'QUEUED':
      pen.arc(x, y, RADIUS - 3, 0, 7);
      pen.fill();
      break;
    default:
      pen.arc(x, y, RADIUS, 0, 7);
      pen.fill();
  }
}

export const MOST_ZOOM = 1.2;
export function fitting(graph: GraphLayout, pitch: Pitch, width: number, height: number): Camera {
  const [w, h] = [graph.columns * pitch.x, graph.rows * pitch.y];
  const zoom = Math.min(MOST_ZOOM, (width - 24) / w, (height - 24) / h);
  return { zoom, x: (width - w * zoom) / 2, y: (height - h * zoom) / 2 };
}
