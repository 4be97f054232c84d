// The only file that uses uPlot. It is loaded with the first chart, because it is larger than all earlier scripts.

import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { clock, tick, TIME_STEPS, timeTick } from './model/format';
import { LEAST_MS } from '../now/model/points';
import { color, repaint } from './theme';

const HEIGHT = 196;
export const RIGHT = 16; // px right of the plot
// Counts are whole numbers, so the axis has whole steps.
const STEPS = Array.from({ length: 30 }, (_, n) => [1, 2, 5][n % 3]! * 10 ** Math.floor(n / 3));

export interface Line {
  token: string;
  filled: boolean;
  dashed?: boolean;
}

export interface Marker {
  at: number; // seconds
  token: string;
}

export interface ChartProps {
  lines: readonly Line[]; // constant for the chart's lifetime
  data: uPlot.AlignedData;
  from: number; // seconds
  end: number;
  height?: number; // px; constant
  axis?: number; // width of the vertical axis in px; constant
  times?: boolean; // whether values are in ms on a logarithmic axis; constant
  bands?: readonly (readonly [upper: number, lower: number])[]; // pairs of lines with shading between the two lines; constant
  markers: readonly Marker[];
  onZoom(from: number, to: number): void; // seconds; equal values select the whole range
  onCursor(at: number | null): void;
}

function translucent(ink: string): string {
  return ink.replace('rgb(', 'rgba(').replace(')', ', 0.13)');
}

interface Live {
  window: [number, number];
  markers: readonly Marker[];
}

const LEAST_DRAG = 8; // px; a shorter drag counts as a click

function options(
  lines: readonly Line[],
  width: number,
  live: { current: Live },
  times: boolean,
  { bands = [], height = HEIGHT, axis: wide = times ? 50 : 44, onCursor, onZoom }: Pick<ChartProps, 'bands' | 'height' | 'axis' | 'onCursor' | 'onZoom'>,
): uPlot.Options {
  const axis = { stroke: () => color('text2'), font: '13px Inter, system-ui, sans-serif', ticks: { show: false } };
  const grid = { stroke: () => color('line'), width: 1 };
  return {
    width,
    height,
    padding: [8, RIGHT, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false, setScale: false, dist: LEAST_DRAG }, points: { size: 6 }, sync: { key: 'trends', setSeries: false } },
    scales: {
      x: { time: true, range: () => live.current.window },
      y: times ? { distr: 3, range: (_, min, max) => (max === null ? [1, 1000] : decades(min, max)) } : { range: (_, __, max) => [0, Math.max(1, (max || 0) * 1.12)] },
    },
    axes: [
      {
        ...axis,
        grid,
        space: 70,
        size: 26,
        values: (_, splits, __, ___, step) => splits.map((s) => clock(s * 1000).slice(0, step < 60 ? 8 : 5)),
        incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600],
      },
      {
        ...axis,
        grid,
        space: 36,
        size: wide,
        values: (_, splits) => splits.map(times ? timeTick : tick),
        ...(times ? { splits: timeSplits, filter: (_: uPlot, splits: number[]) => splits } : { incrs: STEPS }),
      },
    ],
    series: [
      {},
      ...lines.map(
        (line): uPlot.Series => ({
          stroke: () => color(line.token),
          width: 1.5,
          points: times ? { size: 6, show: true, fill: () => color(line.token), filter: (chart, n) => alone(chart.data[n]!) } : { show: false },
          ...(line.filled ? { fill: () => translucent(color(line.token)) } : {}),
          ...(line.dashed ? { dash: [4, 3] } : {}),
        }),
      ),
    ],
    bands: bands.map(([upper, lower]) => ({ series: [upper + 1, lower + 1], fill: () => translucent(color(lines[lower]!.token)) })),
    hooks: {
      setCursor: [(chart) => onCursor(chart.cursor.idx ?? null)],
      setSelect: [
        (chart) => {
          const { left, width: wide } = chart.select;
          if (wide < LEAST_DRAG) return;
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          onZoom(chart.posToVal(left, 'x'), chart.posToVal(left + wide, 'x'));
        },
      ],
      draw: [(chart) => mark(chart, live.current)],
    },
  };
}

function decades(min: number, max: number): [number, number] {
  const low = 10 ** Math.floor(Math.log10(Math.max(LEAST_MS, min)));
  return [low, Math.max(low * 10, 10 ** Math.ceil(Math.log10(Math.max(LEAST_MS, max))))];
}

function timeSplits(chart: uPlot): number[] {
  const { min = 1, max = 1000 } = chart.scales.y!;
  const within = [LEAST_MS, ...TIME_STEPS].filter((ms) => ms >= min! && ms <= max!);
  const every = Math.ceil(within.length / 6);
  return within.filter((_, n) => n % every === 0);
}

function alone(values: ArrayLike<number | null | undefined>): number[] {
  const found: number[] = [];
  for (let n = 0; n < values.length; ++n) if (values[n] != null && values[n - 1] == null && values[n + 1] == null) found.push(n);
  return found;
}

function mark(chart: uPlot, { markers, window: [from, to] }: Live): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const { at, token } of markers) {
    if (at < from || at > to) continue;
    const x = Math.round(chart.valToPos(at, 'x', true));
    ctx.strokeStyle = color(token);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

export function Chart({ lines, data, from, end, times = false, height = HEIGHT, axis, bands, markers, onCursor, onZoom }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const live = useRef<Live>({ window: [from, end], markers });
  live.current = { window: [from, end], markers };

  useEffect(() => {
    const element = box.current!;
    const plot = new uPlot(options(lines, element.clientWidth || 300, live, times, { bands, height, axis, onCursor, onZoom }), data, element);
    chart.current = plot;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      chart.current = null;
    };
  }, []);

  useEffect(() => chart.current?.setData(data), [data, from, end, markers]);
  useSignalEffect(() => {
    repaint.value;
    chart.current?.redraw();
  });
  return <div ref={box} onDblClick={() => onZoom(0, 0)} />;
}
