// A canvas of the visible lanes next to their names, with pointer and keyboard control.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Lane, Stream } from './model/stream';
import { hitAt } from './model/stream-look';
import { spanOf, ticks } from '../shared/model/time-view';
import { slow } from '../shared/page';
import { crosshair } from '../shared/range';
import { closureAddress, follow as followLink, go, workerAddress } from '../shared/route';
import { currentView, liveEnd, looking, pan, zoom } from './stream-state';
import { repaint } from '../shared/theme';
import { useSize } from '../shared/size';
import { streamKeys, type Pointed } from './stream-keys';
import { paintStream } from './stream-paint';
import { closureOf, jobOf, StreamTip } from './stream-tip';

const LANE = 24; // height of a lane with one row, in CSS pixels
const MOST_HIGH = 560;
const NEAR = 3; // distance in pixels at which the pointer still hits a bar
const NAMES = 132; // width of the lane names; the CSS contains the same number

interface Props {
  stream: Stream;
  version: number;
  lanes: readonly Lane[];
  hues: Uint8Array;
  job: string;
  sentence: string;
  most?: number;
  least?: number; // height of a lane with one row
  over?: ComponentChildren; // content above the lanes, positioned by fractions of their width
  select?(closure: string): void; // called instead of opening the page of the closure
}

export function StreamCanvas({ stream, version, lanes, hues, job, sentence, most = MOST_HIGH, least = LANE, over, select }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width: whole } = useSize(box);
  const top = useSignal(0);
  const focus = useSignal<Pointed | null>(null);
  const laneHeight = useMemo(() => least + 8 * (lanes.reduce((most, lane) => Math.max(most, lane.rows), 1) - 1), [lanes, version, least]);
  const names = whole > 500 ? NAMES : 84;
  const width = Math.max(0, whole - names);
  const height = Math.min(most, Math.max(1, lanes.length) * laneHeight);
  const latest = useRef({ stream, lanes, hues, laneHeight, width, height, job });
  latest.current = { stream, lanes, hues, laneHeight, width, height, job };
  const dirty = useRef(true);
  dirty.current = true;

  useFrames(canvas, latest, top, focus, dirty);
  useEffect(() => {
    focus.value = null; // because the old focus refers to a bar by position
  }, [stream.epoch]);

  const pointed = (event: { clientX: number; clientY: number }): Pointed | null => {
    const edge = canvas.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - edge.left, event.clientY - edge.top];
    const n = Math.floor((y + top.value) / laneHeight);
    const lane = lanes[n];
    if (!lane) return null;
    const view = currentView();
    const ms = spanOf(view) / width;
    const row = Math.max(0, Math.min(lane.rows - 1, Math.floor(((y + top.value - n * laneHeight - 3) / (laneHeight - 6)) * lane.rows)));
    return { lane, hit: hitAt(stream, lane, row, view.from + x * ms, NEAR * ms, liveEnd(stream)), x, y: n * laneHeight + laneHeight - top.value };
  };
  const open = (at: Pointed | null) => {
    const closure = closureOf(stream, at?.hit ?? null);
    if (closure && select) select(closure);
    else if (closure) go(closureAddress(closure, jobOf(stream, at?.hit ?? null) || job));
  };

  const drag = useRef<{ x: number; moved: boolean } | null>(null);
  const onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    drag.current = { x: event.clientX, moved: false };
    canvas.current!.setPointerCapture(event.pointerId);
  };
  const onMove = (event: PointerEvent) => {
    const held = drag.current;
    if (held && (held.moved || Math.abs(event.clientX - held.x) > 3)) {
      pan((held.x - event.clientX) / width);
      drag.current = { x: event.clientX, moved: true };
      focus.value = null;
    } else if (!held) focus.value = pointed(event);
    const edge = canvas.current!.getBoundingClientRect();
    const view = currentView();
    crosshair.value = view.from + ((event.clientX - edge.left) / width) * spanOf(view);
  };
  const onLeave = () => {
    if (drag.current) return;
    focus.value = null;
    crosshair.value = null;
  };
  const onUp = (event: PointerEvent) => {
    const held = drag.current;
    drag.current = null;
    if (held && !held.moved) open(pointed(event));
  };
  useWheel(canvas, width, () => (focus.value = null));
  const onKey = streamKeys({ stream, lanes, laneHeight, width, focus, box, open });

  const shown = visible(lanes, top.value, height, laneHeight);
  return (
    <div class="stream">
      <div class="stream-lanes" ref={box} style={{ height: `${height}px` }} onScroll={(event) => (top.value = event.currentTarget.scrollTop)}>
        <div class="stream-all" style={{ height: `${Math.max(1, lanes.length) * laneHeight}px` }}>
          {shown.map(([lane, n]) => (
            <a
              key={lane.number}
              class={`stream-name mono clip${focus.value?.lane === lane ? ' is-focus' : ''}`}
              data-testid="lane"
              data-task={lane.task}
              href={workerAddress(lane.task, lane.cluster)}
              title={lane.cluster ? `${lane.task} of ${lane.cluster}` : lane.task}
              style={{ transform: `translateY(${n * laneHeight}px)`, height: `${laneHeight}px`, lineHeight: `${laneHeight}px`, width: `${names - 8}px` }}
              onClick={followLink}
            >
              <bdi>{lane.task}</bdi>
            </a>
          ))}
          <canvas
            ref={canvas}
            data-testid="stream-canvas"
            role="img"
            tabIndex={0}
            aria-label={sentence}
            aria-describedby={focus.value?.hit ? 'stream-tip' : undefined}
            style={{ width: `${width}px`, height: `${height}px`, marginLeft: `${names}px` }}
            onPointerDown={onDown}
            onPointerMove={onMove}
            onPointerUp={onUp}
            onPointerLeave={onLeave}
            onBlur={() => (focus.value = null)}
            onKeyDown={onKey}
          />
        </div>
      </div>
      <div class="stream-over" style={{ marginLeft: `${names}px` }}>
        {over}
        <Cross />
      </div>
      <Axis width={width} left={names} />
      {focus.value?.hit && <StreamTip stream={stream} hit={focus.value.hit} x={names + focus.value.x} y={focus.value.y + 4} right={focus.value.x > width / 2} />}
    </div>
  );
}

function visible(lanes: readonly Lane[], top: number, height: number, laneHeight: number): [Lane, number][] {
  const first = Math.max(0, Math.floor(top / laneHeight) - 2);
  const last = Math.min(lanes.length, Math.ceil((top + height) / laneHeight) + 2);
  return lanes.slice(first, last).map((lane, n) => [lane, first + n]);
}

type Latest = { stream: Stream; lanes: readonly Lane[]; hues: Uint8Array; laneHeight: number; width: number; height: number };

// Draws again when the data changes or time advances by a pixel.
function useFrames(
  canvas: { current: HTMLCanvasElement | null },
  latest: { current: Latest },
  top: { value: number; peek(): number },
  focus: { peek(): Pointed | null },
  dirty: { current: boolean },
): void {
  useEffect(() => {
    let frame = 0;
    const drawn = { from: 0, to: 0, top: -1, focus: null as Pointed | null, paint: -1, at: 0 };
    const calm = matchMedia('(prefers-reduced-motion: reduce)');
    const draw = () => {
      frame = requestAnimationFrame(draw);
      const element = canvas.current;
      const { stream, lanes, hues, laneHeight, width, height } = latest.current;
      if (!element || width <= 0) return;
      const view = currentView();
      const still = looking.peek().follow
        ? Math.abs(view.to - drawn.to) < (calm.matches ? 1000 : spanOf(view) / width) && spanOf(view) === drawn.to - drawn.from
        : view.from === drawn.from && view.to === drawn.to;
      if (still && !dirty.current && top.peek() === drawn.top && focus.peek() === drawn.focus && repaint.peek() === drawn.paint) return;
      Object.assign(drawn, { from: view.from, to: view.to, top: top.peek(), focus: focus.peek(), paint: repaint.peek() });
      dirty.current = false;
      const scale = devicePixelRatio;
      const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
      if (element.width !== w || element.height !== h) {
        element.width = w;
        element.height = h;
      }
      const began = performance.now();
      const runs = paintStream(element.getContext('2d')!, {
        stream,
        lanes,
        hues,
        view,
        scale,
        width: w,
        height: h,
        now: liveEnd(stream),
        laneHeight: Math.round(laneHeight * scale),
        top: -Math.round(top.peek() * scale),
        focus: focus.peek(),
      });
      element.dataset.runs = String(runs);
      element.dataset.ms = (performance.now() - began).toFixed(1);
    };
    draw();
    return () => cancelAnimationFrame(frame);
  }, []);
}

// The listener is not passive: with ctrl, the wheel zooms the stream instead of the page.
function useWheel(canvas: { current: HTMLCanvasElement | null }, width: number, moved: () => void): void {
  useEffect(() => {
    const element = canvas.current!;
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.metaKey) {
        const view = currentView();
        const x = event.clientX - element.getBoundingClientRect().left;
        zoom(Math.exp(event.deltaY / 300), view.from + (x / width) * spanOf(view));
      } else if (event.shiftKey && event.deltaY !== 0) pan(event.deltaY / width);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / width);
      else return;
      event.preventDefault();
      moved();
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [width]);
}

// The time at which this stream or another panel of the page has its crosshair.
function Cross() {
  const at = crosshair.value;
  const view = looking.value.follow ? currentView() : looking.value.view;
  if (at === null || at < view.from || at > view.to) return null;
  return <i class="stream-cross" data-testid="stream-cross" style={{ left: `${(100 * (at - view.from)) / spanOf(view)}%` }} />;
}

const LETTER = 6.5; // width of a digit in px

function Axis({ width, left }: { width: number; left: number }) {
  slow.value;
  const view = looking.value.follow ? currentView() : looking.value.view;
  return (
    <div class="stream-axis" aria-hidden="true" style={{ marginLeft: `${left}px` }}>
      {ticks(view, width).map(({ at, label }) => {
        const share = (at - view.from) / spanOf(view);
        const half = (label.length * LETTER) / 2;
        if (share * width < half || (1 - share) * width < half) return null; // because the label would be cut off
        return (
          <span key={at} style={{ left: `${share * 100}%` }}>
            {label}
          </span>
        );
      })}
    </div>
  );
}
