// Time series of the last five minutes. The only file that knows uPlot.

import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { clock, short, tick } from '../model/format';
import { History, type Series } from '../model/history';
import { slow, store } from '../page';
import { Panel } from './panel';
import { color, repaint } from '../theme';

const WINDOW_S = 300;
const HEIGHT = 196;
// Closures are whole, and so are the steps of the axis: 1, 2, 5, 10…
const STEPS = Array.from({ length: 30 }, (_, n) => [1, 2, 5][n % 3]! * 10 ** Math.floor(n / 3));

interface Line {
  series: Series;
  token: string;
  word: string;
  filled: boolean;
}

interface Props {
  id: string;
  title: string;
  unit: string;
  lines: Line[];
  legend: boolean;
}

export function Throughput() {
  return (
    <Chart
      id="throughput"
      title="Throughput"
      unit="closures/s"
      legend={false}
      lines={[
        { series: 'finished', token: 'k0', word: 'finished', filled: true },
        { series: 'failed', token: 'error', word: 'failed', filled: false },
      ]}
    />
  );
}

export function Queue() {
  return (
    <Chart
      id="queue"
      title="Queue"
      unit="closures"
      legend={true}
      lines={[
        { series: 'queued', token: 'k4', word: 'waiting', filled: true },
        { series: 'running', token: 'k1', word: 'running', filled: false },
      ]}
    />
  );
}

function translucent(ink: string): string {
  return ink.replace('rgb(', 'rgba(').replace(')', ', 0.13)');
}

function options({ lines }: Props, width: number, onCursor: (at: number | null) => void): uPlot.Options {
  const axis = { stroke: () => color('text2'), font: '11px Inter, system-ui, sans-serif', ticks: { show: false } };
  const grid = { stroke: () => color('line'), width: 1 };
  return {
    width,
    height: HEIGHT,
    padding: [8, 16, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true, range: (_, __, max) => windowUpTo(max) },
      y: { range: (_, __, max) => [0, Math.max(1, (max || 0) * 1.12)] },
    },
    axes: [
      { ...axis, grid, space: 70, size: 26, values: (_, splits) => splits.map((s) => clock(s * 1000).slice(0, 5)), incrs: [60, 120, 300] },
      { ...axis, grid, space: 36, size: 44, values: (_, splits) => splits.map(tick), incrs: STEPS },
    ],
    series: [
      {},
      ...lines.map((line): uPlot.Series => ({
        stroke: () => color(line.token),
        width: 1.5,
        points: { show: false },
        ...(line.filled ? { fill: () => translucent(color(line.token)) } : {}),
      })),
    ],
    hooks: { setCursor: [(chart) => onCursor(chart.cursor.idx ?? null)] },
  };
}

function windowUpTo(max: number | null): [number, number] {
  const end = max ?? (store.serverNow || Date.now()) / 1000;
  return [end - WINDOW_S, end];
}

// A red line along the axis would alarm without telling anything: failures are drawn from one in a hundred on.
function notableFailures(): (number | null)[] {
  const { failed, finished } = store.history.series;
  const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), 0);
  return most(failed) > 0 && most(failed) * 100 >= most(finished) ? failed.slice() : failed.map(() => null);
}

// uPlot keeps what it is given, so it gets copies; the arrays are short.
function data(lines: Line[]): uPlot.AlignedData {
  const { seconds, series } = store.history;
  return [seconds.slice(), ...lines.map(({ series: name }) => (name === 'failed' ? notableFailures() : series[name].slice()))];
}

function Chart(props: Props) {
  const { id, title, unit, lines, legend } = props;
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const at = useSignal<number | null>(null);

  useEffect(() => {
    const element = box.current!;
    const plot = new uPlot(options(props, element.clientWidth || 300, (idx) => (at.value = idx)), data(lines), element);
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

  const drawn = useRef({ version: -1, paint: -1 });
  useSignalEffect(() => {
    slow.value;
    const paint = repaint.value;
    const { version } = store.history;
    if (!chart.current) return;
    if (paint !== drawn.current.paint) chart.current.redraw();
    if (version !== drawn.current.version) chart.current.setData(data(lines));
    drawn.current = { version, paint };
  });

  return (
    <Panel id={id} title={title} note={legend ? undefined : `${unit}, 5 min`} span={4} aside={<Readout lines={lines} at={at.value} legend={legend} />}>
      <div class="chart" ref={box} role="img" aria-label={sentence(title, unit, lines)} />
    </Panel>
  );
}

// Under the cursor the values there, else the legend.
function Readout({ lines, at, legend }: { lines: Line[]; at: number | null; legend: boolean }) {
  slow.value;
  const { seconds, series } = store.history;
  const second = at === null ? undefined : seconds[at];
  return (
    <span class="readout">
      {second !== undefined && <span class="note">{clock(second * 1000)}</span>}
      {(legend || second !== undefined) &&
        lines.map((line) => (
          <span key={line.series}>
            <i class={`swatch part-${line.token}`} /> {second === undefined ? line.word : `${short(series[line.series][at!]!)} ${line.word}`}
          </span>
        ))}
    </span>
  );
}

function sentence(title: string, unit: string, lines: Line[]): string {
  slow.value;
  const facts = lines.map(({ series, word }) => {
    const values = store.history.series[series].slice(-History.capacity);
    const last = values.at(-1) ?? 0;
    return `${short(last)} ${word} now, at most ${short(values.reduce((a, b) => Math.max(a, b), 0))}`;
  });
  return `${title} of the last five minutes in ${unit}: ${facts.join('; ')}.`;
}
