// The counters contain the last five minutes. Older data and latencies are read over REST.

import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { useLooked } from '../shared/looked';
import { clock, duration, NONE, short } from '../shared/model/format';
import { extremes, fromSamples, joined, LEAST_MS, live, notable, SPANS, SPAN_S, SPAN_WORDS, spanOf, type ColumnName, type Points, type SamplesBody, type Span } from './model/points';
import { slow, store } from '../shared/page';
import type { ChartProps, Marker } from '../shared/chart';
import { lazy } from '../shared/lazy';
import { Panel } from '../shared/panel';
import { Segments } from '../shared/segments';
import { api } from '../shared/rest';
import { choose, chosen } from '../shared/route';

interface Row {
  column: ColumnName;
  token: string;
  word: string;
  filled: boolean;
  dashed?: boolean;
}
interface Shown {
  id: string;
  title: string;
  unit: string;
  rows: readonly Row[];
  times?: boolean; // whether values are in ms and labels show their own units
  bands?: ChartProps['bands']; // shaded bands, for example between the median and the 99th percentile
  text(value: number): string;
}

const CHARTS: readonly Shown[] = [
  {
    id: 'throughput',
    title: 'Throughput',
    unit: 'closures/s',
    text: short,
    rows: [
      { column: 'finished', token: 'connected', word: 'ended', filled: true },
      { column: 'failed', token: 'error', word: 'failed', filled: false },
    ],
  },
  {
    id: 'queue',
    title: 'Queue',
    unit: 'closures',
    text: short,
    rows: [
      { column: 'queued', token: 'late', word: 'waiting', filled: true },
      { column: 'running', token: 'running', word: 'running', filled: false },
    ],
  },
  {
    id: 'latency',
    title: 'Latency',
    unit: '',
    text: (ms) => (ms === 0 ? NONE : duration(ms * 1000)),
    times: true,
    bands: [
      [1, 0],
      [3, 2],
    ],
    rows: [
      { column: 'wait_p50_ms', token: 'late', word: 'wait p50', filled: false },
      { column: 'wait_p99_ms', token: 'late', word: 'p99', filled: false, dashed: true },
      { column: 'run_p50_ms', token: 'running', word: 'run p50', filled: false },
      { column: 'run_p99_ms', token: 'running', word: 'p99', filled: false, dashed: true },
    ],
  },
];

const EVERY_MS: Record<Span, number> = { '5m': 5000, '1h': 10_000, '24h': 60_000 };

// The chart script is loaded late, because it is larger than all earlier scripts.
const Drawn = lazy<ChartProps>(
  async () => (await import('../shared/chart')).Chart,
  () => null,
);

export function Charts() {
  slow.value;
  const span = spanOf(chosen('span').value);
  const looked = useLooked<SamplesBody>(api('samples', { span }), { every: EVERY_MS[span], keep: true });
  const samples = useMemo(() => (looked.value ? fromSamples(looked.value) : null), [looked.value]);
  const { version } = store.history;
  const recent = useMemo(() => live(store.history), [version]);
  const zoom = rangeOf(chosen('zoom').value);
  const markers = useMarkers();
  return (
    <Panel
      id="charts"
      title="Trends"
      span={12}
      note={
        zoom ? (
          <button type="button" class="plain" data-testid="unzoom" onClick={() => zoomTo(0, 0)}>
            {clock(zoom[0] * 1000)} to {clock(zoom[1] * 1000)} ✕
          </button>
        ) : (
          'drag to zoom in'
        )
      }
      aside={<SpanChoice span={span} />}
    >
      <div class="charts">
        {CHARTS.map((chart) => {
          const points = chart.id === 'latency' || span !== '5m' ? samples : joined(samples, recent);
          return <One key={`${chart.id}${span}`} chart={chart} span={span} zoom={zoom} markers={markers} points={points} missing={looked.gone || looked.problem !== ''} />;
        })}
      </div>
      {markers.length > 0 && (
        <p class="readout marks" data-testid="chart-marks">
          {MARKS.filter(([token]) => markers.some((m) => m.token === token)).map(([token, word]) => (
            <span key={token}>
              <i class={`swatch part-${token}`} /> {word}
            </span>
          ))}
        </p>
      )}
    </Panel>
  );
}

const MARKS = [
  ['restarting', 'server start'],
  ['error', 'a job failed'],
] as const;
const MARKS_MOST = 50;

function useMarkers(): readonly Marker[] {
  const began = store.counters ? Math.round((store.serverNow - store.counters.uptime_ms) / 1000) : 0;
  const failed = store.jobs().flatMap((job) => (job.state === 'FAILED' && job.finished_ms > 0 ? [Math.round(job.finished_ms / 1000)] : []));
  const key = [began, ...failed.slice(-MARKS_MOST)].join();
  return useMemo(
    () =>
      key
        .split(',')
        .map(Number)
        .flatMap((at, n) => (at > 0 ? [{ at, token: n === 0 ? 'restarting' : 'error' }] : [])),
    [key],
  );
}

// Parses a range in seconds, for example "1795764980-1795765000".
function rangeOf(text: string): [number, number] | null {
  const [from, to] = text.split('-').map(Number);
  return from && to && from < to ? [from, to] : null;
}

function zoomTo(from: number, to: number): void {
  choose({ zoom: to - from >= 1 ? `${Math.floor(from)}-${Math.ceil(to)}` : '' });
}

function SpanChoice({ span }: { span: Span }) {
  const options = SPANS.map((each) => [each, SPAN_WORDS[each]] as const);
  return <Segments label="Time span of the charts" options={options} now={span} testid="span" choose={(each) => choose({ span: each === '5m' ? '' : each, zoom: '' })} />;
}

interface OneProps {
  chart: Shown;
  span: Span;
  zoom: [number, number] | null;
  markers: readonly Marker[];
  points: Points | null;
  missing: boolean;
}

function One({ chart, span, zoom, markers, points, missing }: OneProps) {
  const at = useSignal<number | null>(null);
  const values = chart.rows.map(({ column }) => points?.columns[column] ?? []);
  const complete = points !== null && values.every((column) => column.length === points.seconds.length);
  const data = useMemo(() => {
    if (!points || !complete) return null;
    const drawn = chart.rows.map(({ column }, n) =>
      column === 'failed'
        ? notable(values[n]!, points.columns.finished ?? [])
        : chart.times
          ? values[n]!.map((v) => (v ? Math.max(LEAST_MS, v) : null))
          : // 0 means no measurement
            values[n]!,
    );
    return [points.seconds, ...drawn] as ChartProps['data'];
  }, [points]);
  const last = points?.seconds.at(-1) ?? (store.serverNow || Date.now()) / 1000;
  const [from, end] = zoom ?? [last - SPAN_S[span], last];
  return (
    <div id={chart.id}>
      <h3>
        {chart.title} {chart.unit && <span class="note">{chart.unit}</span>}
      </h3>
      <Readout chart={chart} points={points} at={at.value} />
      <div class="chart" role="img" aria-label={sentence(chart, span, values)} data-testid={`chart-${chart.id}`}>
        {data && <Drawn lines={chart.rows} data={data} from={from} end={end} times={chart.times} bands={chart.bands} markers={markers} onZoom={zoomTo} onCursor={(n) => (at.value = n)} />}
        {missing && !points && <p class="calm">The server stores no samples for this chart.</p>}
      </div>
    </div>
  );
}

function Readout({ chart, points, at }: { chart: Shown; points: Points | null; at: number | null }) {
  const second = at === null ? undefined : points?.seconds[at];
  return (
    <p class="readout">
      {second !== undefined && <span class="note">{clock(second * 1000)}</span>}
      {chart.rows.map(({ column, token, word, dashed }) => {
        const value = second === undefined ? undefined : points?.columns[column]?.[at!];
        return (
          <span key={column}>
            <i class={`swatch part-${token}${dashed ? ' is-dashed' : ''}`} /> {value === undefined || value === null ? word : `${chart.text(value)} ${word}`}
          </span>
        );
      })}
    </p>
  );
}

function sentence(chart: Shown, span: Span, values: readonly (readonly (number | null)[])[]): string {
  const facts = chart.rows.map(({ word }, n) => {
    const { last, most } = extremes(values[n]!);
    return `${word} ${last === null ? 'unknown' : chart.text(last)} now, at most ${chart.text(most)}`;
  });
  return `${chart.title} over ${SPAN_WORDS[span]}${chart.unit && ` in ${chart.unit}`}: ${facts.join('; ')}.`;
}
