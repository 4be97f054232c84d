// One time series chart. The only file that knows uPlot, and loaded when the first chart is drawn: it is larger than all
// that the page needs before.

import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { clock, tick, TIME_STEPS, timeTick } from '../model/format';
import { color, repaint } from '../theme';

export const HEIGHT = 196;
// Closures are whole, and so are the steps of the axis: 1, 2, 5, 10…
const STEPS = Array.from({ length: 30 }, (_, n) => [1, 2, 5][n % 3]! * 10 ** Math.floor(n / 3));

export interface Line {
  token: string;
  filled: boolean;
  dashed?: boolean;
}

export interface ChartProps {
  lines: readonly Line[]; // the same ones for the life of the chart
  data: uPlot.AlignedData;
  end: number; // seconds
  span: number;
  times?: boolean; // the values are ms; for the life of the chart
  onCursor(at: number | null): void;
}

function translucent(ink: string): string {
  return ink.replace('rgb(', 'rgba(').replace(')', ', 0.13)');
}

function options(lines: readonly Line[], width: number, window: { current: [number, number] }, times: boolean, onCursor: (at: number | null) => void): uPlot.Options {
  const axis = { stroke: () => color('text2'), font: '11px Inter, system-ui, sans-serif', ticks: { show: false } };
  const grid = { stroke: () => color('line'), width: 1 };
  return {
    width,
    height: HEIGHT,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true, range: () => window.current },
      y: { range: (_, __, max) => [0, Math.max(1, (max || 0) * 1.12)] },
    },
    axes: [
      { ...axis, grid, space: 70, size: 26, values: (_, splits) => splits.map((s) => clock(s * 1000).slice(0, 5)), incrs: [60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600] },
      { ...axis, grid, space: 36, size: times ? 50 : 44, values: (_, splits) => splits.map(times ? timeTick : tick), incrs: times ? [...TIME_STEPS] : STEPS },
    ],
    series: [
      {},
      ...lines.map((line): uPlot.Series => ({
        stroke: () => color(line.token),
        width: 1.5,
        points: { show: false },
        ...(line.filled ? { fill: () => translucent(color(line.token)) } : {}),
        ...(line.dashed ? { dash: [4, 3] } : {}),
      })),
    ],
    hooks: { setCursor: [(chart) => onCursor(chart.cursor.idx ?? null)] },
  };
}

export function Chart({ lines, data, end, span, times = false, onCursor }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const window = useRef<[number, number]>([end - span, end]);
  window.current = [end - span, end];

  useEffect(() => {
    const element = box.current!;
    const plot = new uPlot(options(lines, element.clientWidth || 300, window, times, onCursor), data, element);
    chart.current = plot;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth > 0) plot.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      chart.current = null;
    };
  }, []);

  useEffect(() => chart.current?.setData(data), [data, end, span]);
  useSignalEffect(() => {
    repaint.value;
    chart.current?.redraw();
  });
  return <div ref={box} />;
}
