import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { nodeAt, nodeBeside, type GraphLayout } from './model/graph-layout';
import { repaint } from '../shared/theme';
import { centre, fitting, MOST_ZOOM, paintGraph, type Camera, type Node, type Pitch } from './graph-paint';
import { useSize } from '../shared/size';

const MOST_HIGH = 620;

interface Props {
  graph: GraphLayout;
  nodes: readonly Node[];
  edges: readonly (readonly number[])[];
  chosen: number;
  choose(node: number): void;
  open(node: number): void;
  sentence: string;
}

// Text is drawn only in small graphs, because there is no room in large graphs.
const pitchOf = ({ columns, places }: GraphLayout): Pitch => (columns <= 9 && places.length <= 60 ? { x: 200, y: 50, box: 172 } : { x: 40, y: 26, box: 0 });

export function GraphCanvas({ graph, nodes, edges, chosen, choose, open, sentence }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(box);
  const pitch = pitchOf(graph);
  const height = Math.round(Math.min(MOST_HIGH, Math.max(160, graph.rows * pitch.y * Math.min(MOST_ZOOM, width / (graph.columns * pitch.x)) + 40)));
  const camera = useSignal<Camera | null>(null);
  const latest = useSignal({ graph, nodes, edges, chosen, width, height });
  useEffect(() => {
    latest.value = { graph, nodes, edges, chosen, width, height };
  }, [graph, nodes, edges, chosen, width, height]);
  useEffect(() => {
    if (width > 0) camera.value = fitting(graph, pitch, width, height);
  }, [graph, width, height]);

  useSignalEffect(() => {
    repaint.value;
    const now = latest.value;
    const element = canvas.current;
    if (!element || !camera.value || now.width === 0) return;
    const scale = devicePixelRatio;
    const [w, h] = [Math.round(now.width * scale), Math.round(now.height * scale)];
    if (element.width !== w || element.height !== h) {
      element.width = w;
      element.height = h;
    }
    paintGraph(element.getContext('2d')!, { ...now, camera: camera.value, scale, pitch });
  });

  const under = (event: { clientX: number; clientY: number }): number => {
    const edge = canvas.current!.getBoundingClientRect();
    const at = camera.value;
    if (!at) return -1; // not painted yet
    return nodeAt(graph, (event.clientX - edge.left - at.x) / at.zoom / pitch.x, (event.clientY - edge.top - at.y) / at.zoom / pitch.y);
  };
  const move = (x: number, y: number) => {
    const at = camera.value;
    if (at) camera.value = { ...at, x: at.x + x, y: at.y + y };
  };
  const zoom = (factor: number, x = width / 2, y = height / 2) => {
    const at = camera.value;
    if (!at) return;
    const next = Math.min(4, Math.max(0.02, at.zoom * factor));
    camera.value = { zoom: next, x: x - ((x - at.x) * next) / at.zoom, y: y - ((y - at.y) * next) / at.zoom };
  };
  const reveal = (node: number) => {
    const at = camera.value;
    if (!at) return;
    const [x, y] = centre({ graph, pitch }, node).map((n, k) => n * at.zoom + (k === 0 ? at.x : at.y)) as [number, number];
    move(x < 40 ? 40 - x : x > width - 40 ? width - 40 - x : 0, y < 30 ? 30 - y : y > height - 30 ? height - 30 - y : 0);
  };

  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const onMove = (event: PointerEvent) => {
    const held = drag.current;
    if (!held || (!held.moved && Math.hypot(event.clientX - held.x, event.clientY - held.y) < 4)) return;
    move(event.clientX - held.x, event.clientY - held.y);
    drag.current = { x: event.clientX, y: event.clientY, moved: true };
  };
  const onUp = (event: PointerEvent) => {
    const held = drag.current;
    drag.current = null;
    if (!held || held.moved) return;
    const node = under(event);
    if (node >= 0 && node === chosen) open(node);
    else choose(node);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || graph.places.length === 0) return;
    if (event.key === '+' || event.key === '=') zoom(1.4);
    else if (event.key === '-') zoom(1 / 1.4);
    else if (event.key === '0') camera.value = fitting(graph, pitch, width, height);
    else if (event.key === 'Escape') choose(-1);
    else if (event.key === 'Enter' && chosen >= 0) open(chosen);
    else if (event.key.startsWith('Arrow') && event.shiftKey)
      move(event.key === 'ArrowLeft' ? 60 : event.key === 'ArrowRight' ? -60 : 0, event.key === 'ArrowUp' ? 60 : event.key === 'ArrowDown' ? -60 : 0);
    else if (event.key.startsWith('Arrow')) {
      const next = chosen < 0 ? (graph.order[0]?.[0] ?? 0) : nodeBeside(graph, chosen, event.key);
      choose(next);
      reveal(next);
    } else return;
    event.preventDefault();
  };
  const zoomed = useRef(zoom);
  zoomed.current = zoom;
  useEffect(() => {
    const element = canvas.current!;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const edge = element.getBoundingClientRect();
      zoomed.current(Math.exp(-event.deltaY / 300), event.clientX - edge.left, event.clientY - edge.top);
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, []);

  return (
    <div class="graph">
      <div class="toolbar">
        <div class="segments" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom in" onClick={() => zoom(1.4)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.4)}>
            −
          </button>
          <button type="button" onClick={() => (camera.value = fitting(graph, pitch, width, height))}>
            all
          </button>
        </div>
        <span class="soft">drag to move, Ctrl and mouse wheel to zoom; arrow keys select, Enter opens</span>
      </div>
      <div ref={box}>
        <canvas
          ref={canvas}
          role="img"
          tabIndex={0}
          aria-label={sentence}
          data-testid="graph"
          style={{ width: `${width}px`, height: `${height}px` }}
          onPointerDown={(event) => {
            drag.current = { x: event.clientX, y: event.clientY, moved: false };
            canvas.current!.setPointerCapture(event.pointerId);
          }}
          onPointerMove={onMove}
          onPointerUp={onUp}
          onKeyDown={onKey}
        />
      </div>
    </div>
  );
}
